package extractor

import (
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/filemeta"
	"github.com/pbs-like/pbs-like/pxar"
)

// isDone looks at what is in the place of an entry: nothing, something that will be replaced, the same, or what is in the way, which is an error.
func (r *run) isDone(j job) (bool, error) {
	d, e := j.d, j.e
	var st unix.Stat_t
	err := again(func() error { return unix.Fstatat(d.fd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) })
	switch {
	case err == unix.ENOENT:
		return false, nil
	case err != nil:
		return false, &fs.PathError{Op: "stat", Path: e.Path, Err: err}
	case r.opts.Continue && !j.late && r.isSame(d, e, &st):
		r.change(func(s *Stats) { s.Unchanged++ })
		return true, nil
	case st.Mode&unix.S_IFMT == unix.S_IFDIR || !r.replaces(j):
		return false, exists(j)
	}
	return false, nil
}

// isSame tells whether an entry is there, content and metadata. What lacks only metadata gets it.
func (r *run) isSame(d *directory, e *pxar.Entry, st *unix.Stat_t) bool {
	if !looksSame(d.fd, e, st) {
		return false
	}
	flags := unix.O_PATH
	if e.Kind == pxar.File {
		flags = unix.O_RDONLY | unix.O_NONBLOCK
	}
	fd, err := unix.Openat(d.fd, e.Name(), flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.EACCES {
		fd, err = unix.Openat(d.fd, e.Name(), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var now unix.Stat_t
	if unix.Fstat(fd, &now) != nil || now.Ino != st.Ino || now.Dev != st.Dev {
		return false
	}
	opts := r.apply
	if st.Nlink > 1 { // It is not changed, for who knows whose its other names are; and it lacks nothing that can be seen.
		opts.IgnoreXattrs, opts.IgnoreACLs, opts.IgnoreFlags = true, true, true
		opts.IgnoreOwner = opts.IgnoreOwner || !r.root
		return r.hasMetadata(fd, e, opts)
	}
	if r.hasMetadata(fd, e, opts) {
		return true
	}
	r.metadataFailed(e.Path, filemeta.Apply(fd, &e.Metadata, r.applyTo(d.dev)))
	return true
}

// looksSame compares what a content can't be equal without.
func looksSame(dir int, e *pxar.Entry, st *unix.Stat_t) bool {
	kind := uint32(st.Mode & unix.S_IFMT)
	switch e.Kind {
	case pxar.File:
		return kind == unix.S_IFREG && uint64(st.Size) == e.Size && int64(st.Mtim.Sec) == e.Seconds && uint32(st.Mtim.Nsec) == e.Nanoseconds //nolint:unconvert // 32 bits
	case pxar.Symlink:
		target := make([]byte, len(e.Target)+1)
		n, err := unix.Readlinkat(dir, e.Name(), target)
		return kind == unix.S_IFLNK && err == nil && string(target[:n]) == e.Target
	case pxar.FIFO:
		return kind == unix.S_IFIFO
	case pxar.Socket:
		return kind == unix.S_IFSOCK
	case pxar.Device:
		return kind == uint32(e.Mode&unix.S_IFMT) && uint64(unix.Major(uint64(st.Rdev))) == e.Major && uint64(unix.Minor(uint64(st.Rdev))) == e.Minor //nolint:unconvert // 32 bits
	case pxar.Directory, pxar.Hardlink:
	}
	return false
}

func (r *run) hasMetadata(fd int, e *pxar.Entry, opts filemeta.ApplyOptions) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	has, err := filemeta.Read(fd, &st, filemeta.ReadOptions{})
	if kind := st.Mode & unix.S_IFMT; kind == unix.S_IFLNK {
		opts.IgnoreMode = true
	}
	return err == nil && filemeta.Equal(&has, &e.Metadata, opts)
}

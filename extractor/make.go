package extractor

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/filemeta"
	"github.com/pbs-like/pbs-like/pxar"
)

// make makes an entry, gives it its metadata, and then its name.
func (r *run) make(j job) (err error) {
	name := j.temporary
	fd, err := r.begin(j, name)
	if err != nil {
		return &fs.PathError{Op: "make", Path: j.e.Path, Err: err}
	}
	defer unix.Close(fd)
	var holes uint64
	if j.content != nil {
		holes, err = r.fill(fd, j)
	}
	if err == nil {
		opts := r.applyTo(j.d.dev)
		opts.IgnoreFlags = true
		r.metadataFailed(j.e.Path, filemeta.Apply(fd, &j.e.Metadata, opts))
		err = publish(j, name, r.replaces(j))
	}
	if err != nil {
		return errors.Join(err, unlink(j.d.fd, name))
	}
	if j.e.Kind == pxar.File && j.e.Flags != 0 {
		r.metadataFailed(j.e.Path, filemeta.ApplyFlags(fd, &j.e.Metadata, r.applyTo(j.d.dev).FileSystem))
	}
	r.made(j, holes)
	return nil
}

// begin makes the thing, for nobody else yet, and opens it. What has its name is left from a run that was killed: there is no other run in the target.
func (r *run) begin(j job, name string) (fd int, err error) {
	err = r.thing(j, name, &fd)
	if err == unix.EEXIST {
		if err = unlink(j.d.fd, name); err == nil {
			err = r.thing(j, name, &fd)
		}
	}
	return fd, err
}

func (r *run) thing(j job, name string, fd *int) error {
	err := again(func() (err error) {
		switch j.e.Kind {
		case pxar.File:
			*fd, err = unix.Openat(j.d.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
			return err
		case pxar.Symlink:
			return unix.Symlinkat(j.e.Target, j.d.fd, name)
		case pxar.FIFO:
			return unix.Mknodat(j.d.fd, name, unix.S_IFIFO|0o600, 0)
		case pxar.Socket:
			return unix.Mknodat(j.d.fd, name, unix.S_IFSOCK|0o600, 0)
		case pxar.Device:
			return device(j.d.fd, name, j.e)
		case pxar.Directory, pxar.Hardlink:
		}
		return fmt.Errorf("a %v can't be made", j.e.Kind)
	})
	if err != nil || j.e.Kind == pxar.File {
		return err
	}
	*fd, err = unix.Openat(j.d.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return errors.Join(err, unlink(j.d.fd, name))
	}
	return nil
}

// The numbers that Linux has for devices; a larger one would become another device.
const (
	maxMajor = 0xfff
	maxMinor = 0xfffff
)

func device(dir int, name string, e *pxar.Entry) error {
	mode := uint32(e.Mode & unix.S_IFMT)
	if e.Major > maxMajor || e.Minor > maxMinor || mode != unix.S_IFCHR && mode != unix.S_IFBLK {
		return fmt.Errorf("%w: device %d:%d of mode %#o", filemeta.ErrValue, e.Major, e.Minor, e.Mode)
	}
	return unix.Mknodat(dir, name, mode|0o600, int(unix.Mkdev(uint32(e.Major), uint32(e.Minor))))
}

// made counts.
func (r *run) made(j job, holes uint64) {
	r.change(func(s *Stats) {
		switch j.e.Kind {
		case pxar.File:
			s.Files++
			s.Bytes += j.e.Size
			s.Holes += holes
			if j.copied {
				s.LinksCopied++
			}
		case pxar.Symlink:
			s.Symlinks++
		case pxar.Device:
			s.Devices++
		case pxar.FIFO:
			s.FIFOs++
		case pxar.Socket:
			s.Sockets++
		case pxar.Directory, pxar.Hardlink:
		}
	})
}

// unlink removes a name that is ours, if it is there.
func unlink(dir int, name string) error {
	err := again(func() error { return unix.Unlinkat(dir, name, 0) })
	if err != nil && err != unix.ENOENT {
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	return nil
}

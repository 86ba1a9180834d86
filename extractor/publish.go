package extractor

import (
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/pxar"
)

// replaces tells whether an entry takes the place of what is there.
func (r *run) replaces(j job) bool {
	if j.late { // that may be the first one of the same name
		return false
	}
	switch j.e.Kind {
	case pxar.File:
		return r.opts.Overwrite.Files || j.copied && r.opts.Overwrite.Hardlinks
	case pxar.Symlink:
		return r.opts.Overwrite.Symlinks
	case pxar.Hardlink:
		return r.opts.Overwrite.Hardlinks
	case pxar.Device, pxar.FIFO, pxar.Socket:
		return r.opts.Overwrite.Others
	case pxar.Directory:
	}
	return false
}

// publish gives an entry its name.
func publish(j job, temporary string, replace bool) error {
	err := j.d.rename(temporary, j.e.Name(), replace)
	switch err {
	case nil:
		return nil
	case unix.EEXIST, unix.EISDIR, unix.ENOTEMPTY:
		return exists(j)
	}
	return &fs.PathError{Op: "rename", Path: j.e.Path, Err: err}
}

func (d *directory) rename(from, to string, replace bool) error {
	if replace {
		return again(func() error { return unix.Renameat(d.fd, from, d.fd, to) })
	}
	err := again(func() error { return unix.Renameat2(d.fd, from, d.fd, to, unix.RENAME_NOREPLACE) })
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	// A file system that knows no such rename: a link never replaces anything either.
	if err = again(func() error { return unix.Linkat(d.fd, from, d.fd, to, 0) }); err != nil {
		return err
	}
	return unlink(d.fd, from)
}

// exists says what is in the place of an entry.
func exists(j job) error {
	e := j.e
	var st unix.Stat_t
	if err := unix.Fstatat(j.d.fd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "stat", Path: e.Path, Err: err}
	}
	if j.late {
		return fmt.Errorf("%w, or comes twice in the archive: a %s in the place of a %v", ErrExists, beneath.TypeName(st.Mode), e.Kind)
	}
	return fmt.Errorf("%w: a %s in the place of a %v", ErrExists, beneath.TypeName(st.Mode), e.Kind)
}

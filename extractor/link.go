package extractor

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/filemeta"
	"github.com/pbs-like/pbs-like/pxar"
)

// link restores a hard link to a file that this run has restored. If there is none, or the link can't be made,
// it becomes a file of its own: the content counts more than how often it is stored.
func (r *run) link(d *directory, e *pxar.Entry) error {
	if e.LinkOffset > e.Position() {
		return fmt.Errorf("%w: it points %d bytes back, and stands at %d", ErrLink, e.LinkOffset, e.Position())
	}
	position := e.Position() - e.LinkOffset
	first, misnamed := r.files.find(position, "/"+e.Target)
	if misnamed {
		return fmt.Errorf("%w: the file that it leads to is not the one that it names, %q", ErrLink, e.Target)
	}
	if first == "" {
		return r.copy(d, e)
	}
	err := r.linkTo(d, e, first)
	if err == nil || errors.Is(err, ErrExists) || isFatal(err) {
		return err
	}
	failed := r.copy(d, e)
	if failed == nil || errors.Is(failed, ErrExists) {
		return failed
	}
	return errors.Join(err, failed)
}

// copy restores the file that a link leads to in the place of the link.
func (r *run) copy(d *directory, e *pxar.Entry) error {
	file, err := r.archive.Resolve(e)
	if err != nil {
		return err
	}
	j := d.job(file)
	j.copied = true
	if !d.fresh {
		if done, err := r.isDone(j); done || err != nil {
			return err
		}
	}
	r.files.copy(file.Position(), e.Path)
	return r.content(j)
}

func (r *run) linkTo(d *directory, e *pxar.Entry, first string) error {
	file, err := beneath.Open(r.target, strings.TrimPrefix(first, "/"), unix.O_PATH, 0) // never through a link
	if err != nil {
		return err
	}
	defer file.Close()
	fd := int(file.Fd())
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fmt.Errorf("%q: %w", first, beneath.ErrNotRegular)
	}
	err = linkat(fd, d.fd, e.Name())
	if err == unix.EPERM {
		err = r.linkLoosened(d, e, fd)
	}
	if err == unix.EEXIST {
		return r.replaceByLink(d, e, fd, &st)
	}
	if err != nil {
		return &fs.PathError{Op: "link", Path: e.Path, Err: err}
	}
	r.change(func(s *Stats) { s.Hardlinks++ })
	return nil
}

// linkat gives what a pinned descriptor is of one more name.
func linkat(fd, dir int, name string) error {
	err := again(func() error { return unix.Linkat(fd, "", dir, name, unix.AT_EMPTY_PATH) })
	if err == unix.ENOENT { // without the right to do that
		err = again(func() error {
			return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), dir, name, unix.AT_SYMLINK_FOLLOW)
		})
	}
	return err
}

// linkLoosened takes the flags away for a moment that keep a file from getting another name.
func (r *run) linkLoosened(d *directory, e *pxar.Entry, pin int) error {
	file, err := r.archive.Resolve(e)
	if err != nil || file.Flags == 0 {
		return unix.EPERM
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", pin), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := filemeta.Loosen(fd); err != nil {
		return err
	}
	err = linkat(pin, d.fd, e.Name())
	r.metadataFailed(e.Path, filemeta.ApplyFlags(fd, &file.Metadata, r.applyTo(d.dev).FileSystem))
	return err
}

// replaceByLink is for a name that is there.
func (r *run) replaceByLink(d *directory, e *pxar.Entry, fd int, first *unix.Stat_t) error {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if r.opts.Continue && st.Dev == first.Dev && st.Ino == first.Ino {
		r.change(func(s *Stats) { s.Unchanged++ })
		return nil
	}
	replaces := r.replaces(d.job(e)) && st.Mode&unix.S_IFMT != unix.S_IFDIR
	if !replaces && !r.opts.Continue {
		return exists(d.job(e))
	}
	name := d.temporary(e)
	err := linkTemporarily(fd, d.fd, name)
	if err != nil { // so it is a file of its own, which an earlier run may have made
		return err
	}
	if !replaces {
		return errors.Join(exists(d.job(e)), unlink(d.fd, name))
	}
	err = publish(d.job(e), name, true)
	err = errors.Join(err, unlink(d.fd, name)) // it is still there if both were the same file
	if err == nil {
		r.change(func(s *Stats) { s.Hardlinks++ })
	}
	return err
}

func linkTemporarily(fd, dir int, name string) error {
	err := linkat(fd, dir, name)
	if err == unix.EEXIST {
		if err = unlink(dir, name); err == nil {
			err = linkat(fd, dir, name)
		}
	}
	return err
}

package fsop

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Mkdir makes the directory name in dir, with exactly the permissions of mode
// and the owner of the Disk. A set-group-id bit that it inherits from dir
// stays, since that is how an administrator says which group is meant to own
// the tree.
//
// What is there already is left alone and reported as [fs.ErrExist]. After any
// other error there is no new directory.
func (d *Disk) Mkdir(dir *os.File, name string, mode fs.FileMode) error {
	c, err := at(OpMkdir, dir, name)
	if err != nil {
		return err
	}
	made := false
	err = d.do(c, func() error {
		err := withFD(dir, func(fd int) error { return unix.Mkdirat(fd, name, uint32(mode.Perm())) })
		made = err == nil
		return err
	})
	if err == nil {
		err = d.settleDir(dir, name, mode)
	}
	if err == nil || !made {
		return err
	}
	// Only what we made ourselves is removed: an error of mkdir alone doesn't
	// say that the directory with that name is ours.
	return withCleanup(err, d.Rmdir(dir, name))
}

// settleDir gives a directory that we just made its owner and permissions.
func (d *Disk) settleDir(dir *os.File, name string, mode fs.FileMode) error {
	// O_PATH needs no permission on the directory itself: a umask of 0777
	// takes even the right to open it for reading.
	f, err := openAt(dir, name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return d.settle(f, mode)
}

// settle gives a new file or directory its owner and permissions, as far as it
// hasn't got them already.
func (d *Disk) settle(f *os.File, mode fs.FileMode) error {
	st, err := fstat(f)
	if err != nil {
		return err
	}
	// Owner first: chown clears set-id bits, and the group's permissions must
	// not be opened for a group that isn't the final one.
	if o := d.owner(); o != nil && !o.owns(&st) {
		if err := d.chown(f, *o); err != nil {
			return err
		}
	}
	// The umask takes permissions away, or a default ACL replaces it and takes
	// others: only looking tells.
	inherited := st.Mode & unix.S_ISGID
	want := uint32(mode.Perm()) | inherited
	if st.Mode&0o7777 == want {
		return nil
	}
	return d.chmod(f, want)
}

func (o Owner) owns(st *unix.Stat_t) bool {
	return (o.UID == -1 || uint32(o.UID) == st.Uid) && (o.GID == -1 || uint32(o.GID) == st.Gid)
}

func (d *Disk) chown(f *os.File, o Owner) error {
	return d.do(Change{Op: OpChown, Path: f.Name()}, func() error {
		return withFD(f, func(fd int) error {
			// fchown(2) refuses an O_PATH descriptor, this doesn't.
			return unix.Fchownat(fd, "", o.UID, o.GID, unix.AT_EMPTY_PATH)
		})
	})
}

func (d *Disk) chmod(f *os.File, mode uint32) error {
	return d.do(Change{Op: OpChmod, Path: f.Name()}, func() error {
		return withFD(f, func(fd int) error { return chmodFD(fd, mode) })
	})
}

// chmodFD is fchmod(2) that also takes O_PATH descriptors, for which that
// answers EBADF.
func chmodFD(fd int, mode uint32) error {
	err := unix.Fchmod(fd, mode)
	if !errors.Is(err, unix.EBADF) {
		return err
	}
	// The magic link leads to the very file, not to its name. fchmodat2(2)
	// would do without /proc, but is in Linux 6.6 and newer only.
	return unix.Chmod(procPath(fd), mode)
}

package fsop

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// mount identifies where a file is mounted.
type mount struct {
	id           uint64
	major, minor uint32
}

// SameMount tells whether two directories are in the same mount. Of a directory and
// the one above it: false means that something is mounted there. Before Linux 5.8 it
// does not see the bind mount of a directory in the same file system.
func SameMount(a, b *os.File) (bool, error) {
	first, err := mountOf(a)
	if err != nil {
		return false, err
	}
	second, err := mountOf(b)
	return err == nil && first == second, err
}

// mountOf asks for the mount's number, which also tells a bind mount of the
// same file system from a plain directory, and does not mistake a btrfs
// subvolume (a device number of its own, but no mount) for one. Linux before
// 5.8 doesn't tell it; there the device number has to do.
func mountOf(f *os.File) (mount, error) {
	var stx unix.Statx_t
	err := again(func() error {
		return withFD(f, func(fd int) error {
			return unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &stx)
		})
	})
	if err != nil {
		return mount{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: bare(err)}
	}
	if stx.Mask&unix.STATX_MNT_ID != 0 {
		return mount{id: stx.Mnt_id}, nil
	}
	return mount{major: stx.Dev_major, minor: stx.Dev_minor}, nil
}

package filemeta

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// A FileSystem is the number that statfs(2) has for a kind of file system. The zero value stands for one that was not looked at.
type FileSystem uint32

// zfs has no name in package unix.
const zfs FileSystem = 0x2fc12fc1

// FileSystemOf asks what a descriptor is on. It is the same for all files with the same device number.
func FileSystemOf(fd int) (FileSystem, error) {
	var st unix.Statfs_t
	if err := again(func() error { return unix.Fstatfs(fd, &st) }); err != nil {
		return 0, err
	}
	return FileSystem(uint32(st.Type)), nil //nolint:unconvert // the type differs between architectures
}

// known is f, or what fd is on if f was not looked at.
func (f FileSystem) known(fd int) (FileSystem, error) {
	if f != 0 {
		return f, nil
	}
	return FileSystemOf(fd)
}

func (f FileSystem) hasXattrs() bool { return f != unix.TMPFS_MAGIC && f != unix.MSDOS_SUPER_MAGIC }

// hasLists tells of access lists and capabilities.
func (f FileSystem) hasLists() bool { return f.hasXattrs() && f != unix.FUSE_SUPER_MAGIC }

func (f FileSystem) hasProjects() bool {
	return f == unix.EXT4_SUPER_MAGIC || f == unix.XFS_SUPER_MAGIC || f == zfs
}

func (f FileSystem) hasFATAttributes() bool {
	return f == unix.MSDOS_SUPER_MAGIC || f == unix.FUSE_SUPER_MAGIC
}

// again repeats a call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// procPath is a name for what a descriptor is of, also one that was opened with O_PATH, also a symbolic link itself.
func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// byDescriptor makes a call for fd, and with a path where fd was opened with O_PATH, which many calls refuse.
func byDescriptor(fd int, call func(fd int) error, byPath func(path string) error) error {
	err := again(func() error { return call(fd) })
	if err == unix.EBADF {
		return again(func() error { return byPath(procPath(fd)) })
	}
	return err
}

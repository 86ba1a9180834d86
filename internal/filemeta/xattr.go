package filemeta

import (
	"strings"

	"golang.org/x/sys/unix"
)

// Names of attributes that are values of their own in an archive.
const (
	xattrAccess  = "system.posix_acl_access"
	xattrDefault = "system.posix_acl_default"
	xattrFCaps   = "security.capability"
)

const (
	maxXattrName = 255
	firstBuffer  = 512
	// maxBuffer is the kernel's own limit for a list and for a value.
	maxBuffer = 64 << 10
)

// isStored tells whether an attribute is kept under its own name.
func isStored(name string) bool {
	return strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "trusted.") || name == "security.NTACL"
}

// listXattrs gives the names, in the order of the file system.
func listXattrs(fd int) ([]string, error) {
	b, err := grow(func(b []byte) (n int, err error) {
		err = byDescriptor(fd, func(fd int) (err error) {
			n, err = unix.Flistxattr(fd, b)
			return err
		}, func(path string) (err error) {
			n, err = unix.Listxattr(path, b)
			return err
		})
		return n, err
	})
	if err != nil || len(b) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00"), nil
}

func getXattr(fd int, name string) ([]byte, error) {
	return grow(func(b []byte) (n int, err error) {
		err = byDescriptor(fd, func(fd int) (err error) {
			n, err = unix.Fgetxattr(fd, name, b)
			return err
		}, func(path string) (err error) {
			n, err = unix.Getxattr(path, name, b)
			return err
		})
		return n, err
	})
}

// grow calls read with buffers until one is large enough.
func grow(read func([]byte) (int, error)) ([]byte, error) {
	for size := firstBuffer; ; size = maxBuffer {
		b := make([]byte, size)
		n, err := read(b)
		switch {
		case err == nil:
			return b[:n:n], nil
		case err != unix.ERANGE:
			return nil, err
		case size == maxBuffer:
			return nil, unix.E2BIG
		}
	}
}

func setXattr(fd int, name string, value []byte) error {
	return byDescriptor(fd,
		func(fd int) error { return unix.Fsetxattr(fd, name, value, 0) },
		func(path string) error { return unix.Setxattr(path, name, value, 0) })
}

// removeXattr is done where there is none.
func removeXattr(fd int, name string) error {
	err := byDescriptor(fd,
		func(fd int) error { return unix.Fremovexattr(fd, name) },
		func(path string) error { return unix.Removexattr(path, name) })
	switch err {
	case unix.ENODATA, unix.EOPNOTSUPP, unix.ENOSYS:
		return nil
	}
	return err
}

package filemeta

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// extended is the kernel's struct fsxattr.
type extended struct {
	flags, extentSize, extents, project, copyExtentSize uint32

	_ [8]byte
}

const (
	extendedGet = unix.FS_IOC_GETFLAGS&directionBits | uint(unsafe.Sizeof(extended{}))<<16 | 'X'<<8 | 31
	extendedSet = unix.FS_IOC_SETFLAGS&directionBits | uint(unsafe.Sizeof(extended{}))<<16 | 'X'<<8 | 32
)

func (x *extended) call(fd int, request uint) error {
	return again(func() error {
		_, _, number := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(x)))
		if number != 0 {
			return number
		}
		return nil
	})
}

// readProject gives the quota project, nil if it is the zeroth, which everything belongs to.
func readProject(fd int) (*uint64, error) {
	var x extended
	err := x.call(fd, extendedGet)
	if isUnsupported(err) || err == nil && x.project == 0 {
		return nil, nil
	}
	project := uint64(x.project)
	return &project, err
}

func setProject(fd int, project uint64) error {
	if project > uint64(^uint32(0)) {
		return unix.EINVAL
	}
	var x extended
	if err := x.call(fd, extendedGet); err != nil {
		return err
	}
	if x.project == uint32(project) {
		return nil
	}
	x.project = uint32(project)
	return x.call(fd, extendedSet)
}

package mount

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/pxar"
)

// typeOf is the type of an entry as the kernel knows it. What an entry is, is decided by its items and not by its mode.
func typeOf(e *pxar.Entry) uint32 {
	switch e.Kind {
	case pxar.Directory:
		return syscall.S_IFDIR
	case pxar.Symlink:
		return syscall.S_IFLNK
	case pxar.FIFO:
		return syscall.S_IFIFO
	case pxar.Socket:
		return syscall.S_IFSOCK
	case pxar.Device:
		if e.IsBlock() {
			return syscall.S_IFBLK
		}
		return syscall.S_IFCHR
	case pxar.File, pxar.Hardlink:
	}
	return syscall.S_IFREG
}

func (n *entry) attr() fuse.Attr {
	e := n.e
	attr := fuse.Attr{
		Mode: typeOf(e) | uint32(e.Mode)&0o7777, Nlink: 1,
		Owner: fuse.Owner{Uid: e.UID, Gid: e.GID},
	}
	setSize(&attr, 0)
	setTimes(&attr, e.Seconds, e.Nanoseconds)
	switch e.Kind {
	case pxar.File:
		setSize(&attr, e.Size)
		attr.Nlink = n.tree.links.of(n.tree, e.Position())
	case pxar.Symlink:
		attr.Size = uint64(len(e.Target)) // which takes no blocks
	case pxar.Device:
		attr.Rdev = uint32(unix.Mkdev(uint32(e.Major), uint32(e.Minor)))
	case pxar.Directory, pxar.Hardlink, pxar.FIFO, pxar.Socket:
	}
	return attr
}

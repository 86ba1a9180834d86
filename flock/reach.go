package flock

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// FS is what kind of file system a file is on.
type FS struct {
	Type uint32 // the magic number of statfs(2)
	Name string // such as "ext4"; the number for one that is not known

	// Local: a flock(2) on a directory is known to exclude everybody who can
	// reach the file: all processes of this kernel, and on a CephFS those of
	// other hosts too. Where it is false such a lock usually succeeds as well,
	// and excludes nobody on another host.
	Local bool
}

// Reach tells whom a lock on f excludes. The error is that of fstatfs(2).
func Reach(f *os.File) (FS, error) {
	var st unix.Statfs_t
	err := withFD(f, func(fd int) error {
		return again(func() error { return unix.Fstatfs(fd, &st) })
	})
	if err != nil {
		return FS{}, pathError("fstatfs", f.Name(), err)
	}
	return fileSystem(uint32(st.Type)), nil
}

// fileSystem is the table. Magic numbers are from linux/magic.h, and from the
// sources of the file system where the kernel does not have it.
func fileSystem(magic uint32) FS {
	local := func(name string) FS { return FS{magic, name, true} }
	remote := func(name string) FS { return FS{magic, name, false} }
	switch magic {
	case unix.EXT4_SUPER_MAGIC:
		return local("ext4") // ext2 and ext3 have the same number
	case unix.XFS_SUPER_MAGIC:
		return local("xfs")
	case unix.BTRFS_SUPER_MAGIC:
		return local("btrfs")
	case 0x2fc12fc1:
		return local("zfs")
	case unix.TMPFS_MAGIC:
		return local("tmpfs")
	case 0xca451a4e:
		return local("bcachefs")
	case unix.F2FS_SUPER_MAGIC:
		return local("f2fs")
	case 0x3153464a:
		return local("jfs")
	case unix.REISERFS_SUPER_MAGIC:
		return local("reiserfs")
	case unix.NILFS_SUPER_MAGIC:
		return local("nilfs2")
	case unix.RAMFS_MAGIC:
		return local("ramfs")
	case unix.CEPH_SUPER_MAGIC:
		return local("cephfs")

	case unix.NFS_SUPER_MAGIC:
		return remote("nfs")
	case unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return remote("cifs")
	case unix.FUSE_SUPER_MAGIC:
		return remote("fuse") // virtiofs too
	case unix.V9FS_MAGIC:
		return remote("9p")
	case unix.OVERLAYFS_SUPER_MAGIC:
		return remote("overlay") // its layers may be locked past it
	case 0x47504653:
		return remote("gpfs")
	case 0x0bd00bd0:
		return remote("lustre")
	case unix.AFS_FS_MAGIC, unix.AFS_SUPER_MAGIC:
		return remote("afs")
	case unix.CODA_SUPER_MAGIC:
		return remote("coda")
	case unix.OCFS2_SUPER_MAGIC:
		return remote("ocfs2")
	case 0x01161970:
		return remote("gfs2")
	case 0x19830326:
		return remote("beegfs")
	case unix.ECRYPTFS_SUPER_MAGIC:
		return remote("ecryptfs") // what lies below may be anything
	default:
		return remote(fmt.Sprintf("unknown (0x%08x)", magic))
	}
}

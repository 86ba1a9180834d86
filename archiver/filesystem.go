package archiver

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/filemeta"
)

// autofs is a directory that becomes a mount when somebody enters it.
const autofs = 0x0187

// isPseudo tells of file systems whose files are made up by the kernel.
func isPseudo(system filemeta.FileSystem) bool {
	const (
		fuseControl = 0x65735543
		mqueue      = 0x19800202
		nfsd        = 0x6e667364
		rpcAuth     = 0x67596969
		configFS    = 0x62656570
	)
	return slices.Contains([]filemeta.FileSystem{
		unix.BINFMTFS_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.CGROUP_SUPER_MAGIC, configFS, unix.DEBUGFS_MAGIC, unix.DEVPTS_SUPER_MAGIC,
		unix.EFIVARFS_MAGIC, fuseControl, unix.HUGETLBFS_MAGIC, mqueue, nfsd, unix.PROC_SUPER_MAGIC, unix.PSTOREFS_MAGIC, rpcAuth,
		unix.SECURITYFS_MAGIC, unix.SELINUX_MAGIC, unix.SMACK_MAGIC, unix.SYSFS_MAGIC,
	}, system)
}

// fileSystems remembers what each device number is.
type fileSystems struct {
	mu    sync.Mutex
	known map[uint64]filemeta.FileSystem
}

// of tells what fd is on, whose device number the caller has.
func (s *fileSystems) of(fd int, dev uint64) (filemeta.FileSystem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if system, ok := s.known[dev]; ok {
		return system, nil
	}
	system, err := filemeta.FileSystemOf(fd)
	if err != nil {
		return 0, err
	}
	if s.known == nil {
		s.known = map[uint64]filemeta.FileSystem{}
	}
	s.known[dev] = system
	return system, nil
}

// mayEnter tells whether the contents of a directory on another file system than its parent are wanted.
func (a *Archiver) mayEnter(dev uint64, system filemeta.FileSystem) bool {
	switch {
	case isPseudo(system) || system == autofs:
		return false
	case a.opts.AllFileSystems:
		return true
	}
	return dev == a.device || slices.Contains(a.opts.Devices, dev)
}

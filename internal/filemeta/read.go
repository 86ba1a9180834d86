package filemeta

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/pxar"
)

// ReadOptions are how metadata is read.
type ReadOptions struct {
	// FileSystem is what the file is on; zero asks for it, which is a system call.
	FileSystem FileSystem
}

// Read reads the metadata of a descriptor, whose stat the caller has. What the file system does not
// have is not there; any other error is one. One that is unix.E2BIG comes together
// with metadata that is good, and lacks the extended attributes, access lists and capabilities from the one on that is too big.
func Read(fd int, st *unix.Stat_t, opts ReadOptions) (pxar.Metadata, error) {
	m := pxar.Metadata{Stat: pxar.Stat{
		Mode: uint64(st.Mode), UID: st.Uid, GID: st.Gid,
		Seconds: int64(st.Mtim.Sec), Nanoseconds: uint32(st.Mtim.Nsec), //nolint:unconvert // 32 bits on some architectures
	}}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return m, nil
	}
	system, err := opts.FileSystem.known(fd)
	if err != nil {
		return m, fmt.Errorf("file system: %w", err)
	}
	if m.Flags, err = readFlags(fd, system); err != nil {
		return m, fmt.Errorf("flags: %w", err)
	}
	if system.hasProjects() {
		if m.QuotaProject, err = readProject(fd); err != nil {
			return m, fmt.Errorf("quota project: %w", err)
		}
	}
	if system.hasXattrs() {
		err = readXattrs(fd, &m, system.hasLists())
	}
	return m, err
}

func readXattrs(fd int, m *pxar.Metadata, lists bool) error {
	names, err := listXattrs(fd)
	if err != nil {
		return unlessMissing("extended attributes", err)
	}
	for _, name := range names {
		if len(name) > maxXattrName || !isStored(name) && (!lists || !isValue(name)) {
			continue
		}
		value, err := getXattr(fd, name)
		if err == nil {
			err = keep(m, name, value)
		}
		if err := unlessMissing(fmt.Sprintf("extended attribute %q", name), err); err != nil {
			return err
		}
	}
	return nil
}

// isValue tells of attributes that are kept as something else.
func isValue(name string) bool {
	return name == xattrAccess || name == xattrDefault || name == xattrFCaps
}

// unlessMissing is nil for what vanished or is not known here.
func unlessMissing(what string, err error) error {
	switch err {
	case nil, unix.ENODATA, unix.EOPNOTSUPP, unix.EBADF, unix.ENOSYS:
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func keep(m *pxar.Metadata, name string, value []byte) error {
	switch name {
	case xattrFCaps:
		m.FCaps = value
		return nil
	case xattrAccess, xattrDefault:
		l, err := parseACL(value)
		if err != nil {
			return err
		}
		if name == xattrAccess {
			addAccess(&m.ACL, l)
		} else {
			addDefault(&m.ACL, l)
		}
		return nil
	}
	m.Xattrs = append(m.Xattrs, pxar.Xattr{Name: name, Value: value})
	return nil
}

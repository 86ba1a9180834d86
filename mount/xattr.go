package mount

import (
	"context"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"

	"github.com/pbs-like/pbs-like/internal/filemeta"
	"github.com/pbs-like/pbs-like/pxar"
)

var (
	_ fs.NodeGetxattrer  = (*entry)(nil)
	_ fs.NodeListxattrer = (*entry)(nil)
)

// The attributes that an archive keeps in a form of its own.
const (
	attrCapability = "security.capability"
	attrAccess     = "system.posix_acl_access"
	attrDefault    = "system.posix_acl_default"
)

// Getxattr gives one attribute.
func (n *entry) Getxattr(ctx context.Context, name string, dest []byte) (uint32, syscall.Errno) {
	var value []byte
	var there bool
	errno := n.withAttributes(ctx, func(e *pxar.Entry) {
		value, there = attribute(e, name)
	})
	if errno == 0 && !there {
		errno = syscall.ENODATA
	}
	if errno != 0 {
		return 0, errno
	}
	return fill(dest, value)
}

// Listxattr gives the names of all.
func (n *entry) Listxattr(ctx context.Context, dest []byte) (uint32, syscall.Errno) {
	var list []byte
	errno := n.withAttributes(ctx, func(e *pxar.Entry) {
		for _, name := range attributeNames(e) {
			list = append(append(list, name...), 0)
		}
	})
	if errno != 0 {
		return 0, errno
	}
	return fill(dest, list)
}

// fill answers as the system call does: without room for anything, with the size.
func fill(dest, value []byte) (uint32, syscall.Errno) {
	if len(value) > len(dest) {
		return uint32(len(value)), syscall.ERANGE
	}
	return uint32(copy(dest, value)), 0
}

// withAttributes reads the entry once more where the node does not keep them.
func (n *entry) withAttributes(ctx context.Context, do func(*pxar.Entry)) syscall.Errno {
	err := n.tree.use(ctx, func(*lease) error {
		e := n.e
		if n.slim {
			var err error
			if e, err = n.tree.pxar.Lookup(n.e.Path); err == nil {
				e, err = n.tree.pxar.Resolve(e)
			}
			if err != nil {
				return err
			}
		}
		do(e)
		return nil
	})
	if err != nil {
		return n.fsys.gone(n.path(), err)
	}
	return 0
}

func attribute(e *pxar.Entry, name string) (value []byte, there bool) {
	switch name {
	case attrCapability:
		return e.FCaps, e.FCaps != nil
	case attrAccess:
		value = filemeta.AccessACL(&e.Metadata)
		return value, value != nil
	case attrDefault:
		value = filemeta.DefaultACL(&e.Metadata)
		return value, value != nil
	}
	for _, x := range e.Xattrs {
		if x.Name == name { // the first, where a hostile archive has several
			return x.Value, true
		}
	}
	return nil, false
}

func attributeNames(e *pxar.Entry) (names []string) {
	for _, x := range e.Xattrs {
		if x.Name != "" && !slices.Contains(names, x.Name) {
			names = append(names, x.Name)
		}
	}
	for _, name := range []string{attrCapability, attrAccess, attrDefault} {
		if _, there := attribute(e, name); there && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

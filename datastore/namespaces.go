package datastore

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"

	"github.com/pbs-like/pbs-like/backupinfo"
)

// Namespaces lists a namespace and those below it: the parent first, then each
// child with its own children, in order. A depth of 0 is the parent alone, a
// negative one is all. A parent that does not exist is [ErrNotFound].
func (d *Datastore) Namespaces(ctx context.Context, parent backupinfo.Namespace, depth int) iter.Seq2[backupinfo.Namespace, error] {
	return func(yield func(backupinfo.Namespace, error) bool) {
		root, err := d.openRoot()
		if err != nil {
			yield(parent, err)
			return
		}
		defer root.Close()
		if err := checkNamespace(root, parent); err != nil {
			yield(parent, err)
			return
		}
		walkNamespaces(ctx, root, parent, depth, yield)
	}
}

// walkNamespaces reports whether the walk goes on. Its depth is bounded by the
// depth that a namespace may have.
func walkNamespaces(ctx context.Context, root *os.File, ns backupinfo.Namespace, depth int, yield func(backupinfo.Namespace, error) bool) bool {
	if err := ctx.Err(); err != nil {
		yield(ns, err)
		return false
	}
	if !yield(ns, nil) {
		return false
	}
	if depth == 0 {
		return true
	}
	below := path.Join(ns.Dir(), "ns")
	names, broken, err := readDirectory(root, below)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
		return yield(ns, &EntryError{Path: below, Err: err})
	}
	for _, entry := range broken {
		if !yield(ns, entry) {
			return false
		}
	}
	slices.Sort(names)
	for _, name := range names {
		child, err := ns.Child(name)
		if err != nil {
			if !yield(ns, &EntryError{Path: path.Join(below, name), Err: err}) {
				return false
			}
			continue
		}
		if !walkNamespaces(ctx, root, child, depth-1, yield) {
			return false
		}
	}
	return true
}

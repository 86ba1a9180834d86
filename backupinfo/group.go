package backupinfo

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Group is all the backups of one machine: a type and an id within a namespace.
// Values compare with ==.
type Group struct {
	Namespace Namespace
	Type      Type
	ID        string // [A-Za-z0-9_][A-Za-z0-9._-]*
}

// ParseGroup reads "vm/100" as a group of the given namespace.
func ParseGroup(ns Namespace, s string) (Group, error) {
	kind, id, found := strings.Cut(s, "/")
	if !found {
		return Group{}, fmt.Errorf("backup group %s: must have the form type/id, like vm/100", quote(s))
	}
	g := Group{ns, Type(kind), id}
	if err := g.Validate(); err != nil {
		return Group{}, fmt.Errorf("backup group %s: %w", quote(s), err)
	}
	return g, nil
}

// Validate reports what is wrong with a group that was put together by hand or
// from names found on disk. nil means that Dir is a safe relative path.
func (g Group) Validate() error {
	if err := g.Type.Validate(); err != nil {
		return err
	}
	return checkBackupID(g.ID)
}

func checkBackupID(id string) error {
	if err := checkID(id); err != nil {
		return fmt.Errorf("backup id %s %w", quote(id), err)
	}
	return nil
}

// String returns "vm/100", without the namespace.
func (g Group) String() string { return string(g.Type) + "/" + g.ID }

// Dir returns the path below the store's root directory: "ns/a/vm/100".
func (g Group) Dir() string { return joinDir(g.Namespace, g.String()) }

func joinDir(ns Namespace, path string) string {
	if ns.IsRoot() {
		return path
	}
	return ns.Dir() + "/" + path
}

// Compare orders groups by namespace, then type, then id. Two ids that are both
// unsigned 64-bit numbers order as numbers; a number comes before other text;
// else bytes decide. "7" and "007" compare equal and are still two groups: sort
// with a stable sort.
func (g Group) Compare(other Group) int {
	return cmp.Or(
		g.Namespace.Compare(other.Namespace),
		cmp.Compare(g.Type, other.Type),
		compareIDs(g.ID, other.ID),
	)
}

func compareIDs(a, b string) int {
	x, errA := strconv.ParseUint(a, 10, 64)
	y, errB := strconv.ParseUint(b, 10, 64)
	switch {
	case errA == nil && errB == nil:
		return cmp.Compare(x, y)
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

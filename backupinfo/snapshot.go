package backupinfo

import (
	"cmp"
	"fmt"
	"strings"
)

// Snapshot names one backup: a group and a time. Values compare with ==.
type Snapshot struct {
	Group Group
	Time  Time
}

// ParseSnapshot reads "vm/100/2026-01-15T03:00:00Z" as a snapshot of the given
// namespace. The time must be canonical, see [ParseTime].
func ParseSnapshot(ns Namespace, s string) (Snapshot, error) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 || strings.Count(s, "/") != 2 {
		return Snapshot{}, fmt.Errorf("backup snapshot %s: must have the form type/id/time, like vm/100/2026-01-15T03:00:00Z", quote(s))
	}
	g, err := ParseGroup(ns, s[:i])
	if err != nil {
		return Snapshot{}, err
	}
	t, err := ParseTime(s[i+1:])
	if err != nil {
		return Snapshot{}, fmt.Errorf("backup snapshot %s: %w", quote(s), err)
	}
	return Snapshot{g, t}, nil
}

// ParseSnapshotDir reads the path of a snapshot below the store's root,
// "ns/a/vm/100/2026-01-15T03:00:00Z". It is the inverse of Dir; one leading slash
// is accepted as the original accepts it.
func ParseSnapshotDir(path string) (Snapshot, error) {
	dir, snapshot := splitSnapshot(strings.TrimPrefix(path, "/"))
	ns, err := ParseNamespaceDir(dir)
	if err != nil {
		return Snapshot{}, fmt.Errorf("backup path %s: %w", quote(path), err)
	}
	return ParseSnapshot(ns, snapshot)
}

// splitSnapshot cuts before the last three components.
func splitSnapshot(path string) (dir, snapshot string) {
	i := len(path)
	for range 3 {
		if i = strings.LastIndexByte(path[:i], '/'); i < 0 {
			return "", path
		}
	}
	return path[:i], path[i+1:]
}

// Validate reports what is wrong with a snapshot that was put together by hand.
// nil means that Dir is a safe relative path which reads back as the same value.
func (s Snapshot) Validate() error {
	if err := s.Group.Validate(); err != nil {
		return err
	}
	_, err := ParseTime(s.Time.String())
	return err
}

// String returns "vm/100/2026-01-15T03:00:00Z", without the namespace.
func (s Snapshot) String() string { return s.Group.String() + "/" + s.Time.String() }

// Dir returns the path below the store's root directory:
// "ns/a/vm/100/2026-01-15T03:00:00Z".
func (s Snapshot) Dir() string { return joinDir(s.Group.Namespace, s.String()) }

// Compare orders by group, then by time, oldest first. Like [Group.Compare] it
// returns 0 for groups that differ only in leading zeros.
func (s Snapshot) Compare(other Snapshot) int {
	return cmp.Or(s.Group.Compare(other.Group), cmp.Compare(s.Time, other.Time))
}

// Object is what a user names on a command line: a group, or one snapshot of it.
type Object struct {
	Group      Group
	Time       Time // of the snapshot, 0 for a group
	IsSnapshot bool
}

// ParseObject reads "vm/100" or "vm/100/2026-01-15T03:00:00Z".
func ParseObject(ns Namespace, s string) (Object, error) {
	switch strings.Count(s, "/") {
	case 1:
		g, err := ParseGroup(ns, s)
		return Object{Group: g}, err
	case 2:
		snapshot, err := ParseSnapshot(ns, s)
		return Object{snapshot.Group, snapshot.Time, err == nil}, err
	}
	return Object{}, fmt.Errorf("backup object %s: must be a group, like vm/100, or a snapshot, like vm/100/2026-01-15T03:00:00Z", quote(s))
}

// Snapshot returns the snapshot, and false when the object is a group.
func (o Object) Snapshot() (Snapshot, bool) {
	if !o.IsSnapshot {
		return Snapshot{}, false
	}
	return Snapshot{o.Group, o.Time}, true
}

// String returns the text that ParseObject reads.
func (o Object) String() string {
	if s, ok := o.Snapshot(); ok {
		return s.String()
	}
	return o.Group.String()
}

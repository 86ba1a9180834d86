package treediff

import (
	"bytes"
	"slices"

	"github.com/pbs-like/pbs-like/pxar"
)

// Kind is what happened to a path.
type Kind int

// The kinds.
const (
	Added Kind = iota + 1
	Removed
	Modified
)

// String is "added", "removed" or "modified".
func (k Kind) String() string {
	switch k {
	case Added:
		return "added"
	case Removed:
		return "removed"
	case Modified:
		return "modified"
	}
	return "unknown"
}

// Field is something that may change.
type Field string

// The fields, in the order in which they are told.
const (
	Type         Field = "type"
	Link         Field = "hard-link" // whether it is one, and of what
	Mode         Field = "mode"
	Owner        Field = "owner"
	Size         Field = "size"
	ModTime      Field = "mtime"
	Flags        Field = "flags"
	Xattrs       Field = "xattrs"
	ACL          Field = "acl"
	Capabilities Field = "capabilities"
	QuotaProject Field = "quota-project"
	Target       Field = "target"
	Device       Field = "device"
	Content      Field = "content"
)

// Comparison is what is known about the contents of two files.
type Comparison int

// The comparisons. The zero value is that there are no two contents.
const (
	NoContent Comparison = iota
	SameContent
	OtherContent
	NotCompared
)

// String is "", "same", "different" or "not-compared".
func (c Comparison) String() string {
	switch c {
	case SameContent:
		return "same"
	case OtherContent:
		return "different"
	case NotCompared:
		return "not-compared"
	case NoContent:
	}
	return ""
}

// Change is a path that is not the same in both trees.
type Change struct {
	Kind Kind
	// Path begins with a slash. It may hold any bytes.
	Path string
	// Old and New are the entries, as they stand in the archives; one is nil for what was added or removed.
	Old, New *pxar.Entry
	// Fields is what changed, of what was modified. Of another type no more is compared.
	Fields []Field
	// Content is what is known about the contents, where both are files.
	Content Comparison
}

// metadataFields compares what every entry has.
func metadataFields(a, b *pxar.Metadata) (fields []Field) {
	add := func(f Field, changed bool) {
		if changed {
			fields = append(fields, f)
		}
	}
	const permissions = 0o7777
	add(Mode, a.Mode&permissions != b.Mode&permissions)
	add(Owner, a.UID != b.UID || a.GID != b.GID)
	add(ModTime, a.Seconds != b.Seconds || a.Nanoseconds != b.Nanoseconds)
	add(Flags, a.Flags != b.Flags)
	add(Xattrs, !sameXattrs(a.Xattrs, b.Xattrs))
	add(ACL, !sameACL(&a.ACL, &b.ACL))
	add(Capabilities, (a.FCaps == nil) != (b.FCaps == nil) || !bytes.Equal(a.FCaps, b.FCaps))
	add(QuotaProject, !samePointer(a.QuotaProject, b.QuotaProject))
	return fields
}

func samePointer[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// sameXattrs compares attributes whatever their order is, which the file system chooses.
func sameXattrs(a, b []pxar.Xattr) bool {
	byName := func(x, y pxar.Xattr) int {
		if x.Name != y.Name {
			return cmpStrings(x.Name, y.Name)
		}
		return bytes.Compare(x.Value, y.Value)
	}
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, byName)
	slices.SortFunc(b, byName)
	return slices.EqualFunc(a, b, func(x, y pxar.Xattr) bool { return x.Name == y.Name && bytes.Equal(x.Value, y.Value) })
}

func sameACL(a, b *pxar.ACL) bool {
	return slices.Equal(a.Users, b.Users) && slices.Equal(a.Groups, b.Groups) && samePointer(a.GroupObj, b.GroupObj) &&
		samePointer(a.Default, b.Default) && slices.Equal(a.DefaultUsers, b.DefaultUsers) && slices.Equal(a.DefaultGroups, b.DefaultGroups)
}

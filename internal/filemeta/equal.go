package filemeta

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pbs-like/pbs-like/pxar"
)

// Equal tells whether a file has what [Apply] would give it, as far as the options do not leave it out.
func Equal(has, want *pxar.Metadata, opts ApplyOptions) bool {
	switch {
	case has.Seconds != want.Seconds || has.Nanoseconds != want.Nanoseconds:
		return false
	case !opts.IgnoreOwner && (has.UID != want.UID || has.GID != want.GID):
		return false
	case !opts.IgnoreMode && (has.Mode^want.Mode)&permissionsMask != 0:
		return false
	case !opts.IgnoreXattrs && (!equalXattrs(has.Xattrs, want.Xattrs) || !bytes.Equal(has.FCaps, want.FCaps)):
		return false
	case !opts.IgnoreACLs && !opts.IgnoreMode && !equalLists(has, want):
		return false
	case !opts.IgnoreFlags && applicable(want.Flags)&^has.Flags != 0:
		return false
	}
	return want.QuotaProject == nil || has.QuotaProject != nil && *has.QuotaProject == *want.QuotaProject
}

func equalXattrs(a, b []pxar.Xattr) bool {
	byName := func(list []pxar.Xattr) []pxar.Xattr {
		list = slices.Clone(list)
		slices.SortFunc(list, func(a, b pxar.Xattr) int { return strings.Compare(a.Name, b.Name) })
		return list
	}
	return slices.EqualFunc(byName(a), byName(b), func(a, b pxar.Xattr) bool { return a.Name == b.Name && bytes.Equal(a.Value, b.Value) })
}

func equalLists(a, b *pxar.Metadata) bool {
	if a.ACL.IsZero() || b.ACL.IsZero() {
		return a.ACL.IsZero() == b.ACL.IsZero()
	}
	if (a.ACL.Default == nil) != (b.ACL.Default == nil) || !bytes.Equal(accessOf(a).value(), accessOf(b).value()) {
		return false
	}
	return a.ACL.Default == nil || bytes.Equal(defaultOf(&a.ACL).value(), defaultOf(&b.ACL).value())
}

// applicable are the flags that are ever set.
func applicable(flags uint64) (bits uint64) {
	for _, bit := range chattrBits {
		if bit.when != never {
			bits |= flags & bit.stored
		}
	}
	return bits
}

package reuse

import (
	"bytes"
	"slices"

	"github.com/pbs-like/pbs-like/pxar"
)

// Unchanged tells whether a file that has this metadata and size now is, as far as the
// previous archive's entry tells, the one that is in its payload.
func Unchanged(old *pxar.Entry, now *pxar.Metadata, size uint64) bool {
	return old.Kind == pxar.File && old.Split && old.Size == size &&
		old.Stat == now.Stat &&
		slices.EqualFunc(old.Xattrs, now.Xattrs, func(a, b pxar.Xattr) bool { return a.Name == b.Name }) &&
		sameACL(&old.ACL, &now.ACL) &&
		bytes.Equal(old.FCaps, now.FCaps) && (old.FCaps == nil) == (now.FCaps == nil) &&
		same(old.QuotaProject, now.QuotaProject)
}

func sameACL(a, b *pxar.ACL) bool {
	return slices.Equal(a.Users, b.Users) && slices.Equal(a.Groups, b.Groups) &&
		same(a.GroupObj, b.GroupObj) && same(a.Default, b.Default) &&
		slices.Equal(a.DefaultUsers, b.DefaultUsers) && slices.Equal(a.DefaultGroups, b.DefaultGroups)
}

func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

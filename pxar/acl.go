package pxar

import "encoding/binary"

// NoPerm stands in an [ACLDefault] for a permission that is not set.
const NoPerm = ^uint64(0)

// ACL is an entry's access list and, for directories, the default one. Permissions
// are read 4, write 2, execute 1. The owner's and the others' are in the mode.
type ACL struct {
	Users, Groups []ACLEntry
	// GroupObj is the group's permission, nil if there is no mask; with one the mode's group bits are the mask.
	GroupObj *uint64
	// Default is nil if there is no default list.
	Default                     *ACLDefault
	DefaultUsers, DefaultGroups []ACLEntry
}

// ACLEntry is a named user or group.
type ACLEntry struct {
	ID   uint64
	Perm uint64
}

// ACLDefault is the unnamed part of a default list; each may be [NoPerm].
type ACLDefault struct {
	UserObj, GroupObj, Other, Mask uint64
}

// IsZero tells that there is no list at all.
func (a *ACL) IsZero() bool {
	return a.GroupObj == nil && a.Default == nil && len(a.Users)+len(a.Groups)+len(a.DefaultUsers)+len(a.DefaultGroups) == 0
}

// add takes an item in, if it is one of an ACL.
func (a *ACL) add(kind itemType, b []byte) (known bool, err error) {
	switch kind {
	case itemACLUser:
		a.Users = append(a.Users, parseACLEntry(b))
	case itemACLGroup:
		a.Groups = append(a.Groups, parseACLEntry(b))
	case itemDefaultUser:
		a.DefaultUsers = append(a.DefaultUsers, parseACLEntry(b))
	case itemDefaultGroup:
		a.DefaultGroups = append(a.DefaultGroups, parseACLEntry(b))
	case itemACLGroupObj:
		if a.GroupObj != nil {
			return true, corruptf("a second %s item", kind)
		}
		perm := binary.LittleEndian.Uint64(b)
		a.GroupObj = &perm
	case itemACLDefault:
		if a.Default != nil {
			return true, corruptf("a second %s item", kind)
		}
		word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
		a.Default = &ACLDefault{UserObj: word(0), GroupObj: word(1), Other: word(2), Mask: word(3)}
	default:
		return false, nil
	}
	return true, nil
}

func parseACLEntry(b []byte) ACLEntry {
	return ACLEntry{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

// append writes the items in the order of the format.
func (a *ACL) append(b []byte) []byte {
	b = appendACLEntries(b, itemACLUser, a.Users)
	b = appendACLEntries(b, itemACLGroup, a.Groups)
	if a.GroupObj != nil {
		b = appendWords(b, itemACLGroupObj, *a.GroupObj)
	}
	if d := a.Default; d != nil {
		b = appendWords(b, itemACLDefault, d.UserObj, d.GroupObj, d.Other, d.Mask)
	}
	b = appendACLEntries(b, itemDefaultUser, a.DefaultUsers)
	return appendACLEntries(b, itemDefaultGroup, a.DefaultGroups)
}

func appendACLEntries(b []byte, kind itemType, entries []ACLEntry) []byte {
	for _, e := range entries {
		b = appendWords(b, kind, e.ID, e.Perm)
	}
	return b
}

// appendWords writes an item of 64-bit numbers.
func appendWords(b []byte, kind itemType, words ...uint64) []byte {
	b = header{kind, uint64(8 * len(words))}.append(b)
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

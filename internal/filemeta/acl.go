package filemeta

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/pbs-like/pbs-like/pxar"
)

// An access list as the kernel takes and gives it: a version, and entries that are sorted by their tags.
//
//	offset  size
//	0       4     version, 2
//	4+8n    2     tag
//	6+8n    2     permissions
//	8+8n    4     user or group, -1 where the tag has none
const (
	aclVersion   = 2
	aclHeader    = 4
	aclEntrySize = 8
	noID         = ^uint32(0)

	tagUserObj  = 0x01
	tagUser     = 0x02
	tagGroupObj = 0x04
	tagGroup    = 0x08
	tagMask     = 0x10
	tagOther    = 0x20

	permissionBits = 7
)

var errACL = errors.New("not an access list that is understood")

// list is a list by its parts; what is not there is pxar.NoPerm.
type list struct {
	userObj, groupObj, mask, other uint64
	users, groups                  []pxar.ACLEntry
}

func parseACL(b []byte) (list, error) {
	l := list{userObj: pxar.NoPerm, groupObj: pxar.NoPerm, mask: pxar.NoPerm, other: pxar.NoPerm}
	if len(b) < aclHeader || (len(b)-aclHeader)%aclEntrySize != 0 || binary.LittleEndian.Uint32(b) != aclVersion {
		return list{}, errACL
	}
	for b = b[aclHeader:]; len(b) > 0; b = b[aclEntrySize:] {
		perm := uint64(binary.LittleEndian.Uint16(b[2:]))
		if perm > permissionBits {
			return list{}, errACL
		}
		named := pxar.ACLEntry{ID: uint64(binary.LittleEndian.Uint32(b[4:])), Perm: perm}
		switch binary.LittleEndian.Uint16(b) {
		case tagUserObj:
			l.userObj = perm
		case tagUser:
			l.users = append(l.users, named)
		case tagGroupObj:
			l.groupObj = perm
		case tagGroup:
			l.groups = append(l.groups, named)
		case tagMask:
			l.mask = perm
		case tagOther:
			l.other = perm
		default:
			return list{}, errACL
		}
	}
	sortNamed(l.users)
	sortNamed(l.groups)
	return l, nil
}

func sortNamed(entries []pxar.ACLEntry) {
	slices.SortFunc(entries, func(a, b pxar.ACLEntry) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Perm, b.Perm))
	})
}

// value is the list for the kernel. Identities and permissions are cut as the original does.
func (l list) value() []byte {
	b := binary.LittleEndian.AppendUint32(nil, aclVersion)
	one := func(tag uint16, id uint32, perm uint64) {
		b = binary.LittleEndian.AppendUint16(b, tag)
		b = binary.LittleEndian.AppendUint16(b, uint16(perm&permissionBits))
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	single := func(tag uint16, perm uint64) {
		if perm != pxar.NoPerm {
			one(tag, noID, perm)
		}
	}
	single(tagUserObj, l.userObj)
	for _, e := range l.users {
		one(tagUser, uint32(e.ID), e.Perm)
	}
	single(tagGroupObj, l.groupObj)
	for _, e := range l.groups {
		one(tagGroup, uint32(e.ID), e.Perm)
	}
	single(tagMask, l.mask)
	single(tagOther, l.other)
	return b
}

// addAccess takes an access list in. The owner's and the others' permissions are in the mode, and
// where there is a mask, it is the mode's group bits.
func addAccess(a *pxar.ACL, l list) {
	a.Users, a.Groups = l.users, l.groups
	if l.mask != pxar.NoPerm && l.groupObj != pxar.NoPerm {
		a.GroupObj = &l.groupObj
	}
}

func addDefault(a *pxar.ACL, l list) {
	a.Default = &pxar.ACLDefault{UserObj: l.userObj, GroupObj: l.groupObj, Other: l.other, Mask: l.mask}
	a.DefaultUsers, a.DefaultGroups = l.users, l.groups
}

// accessOf is the access list that an entry with any list has.
func accessOf(m *pxar.Metadata) list {
	l := list{userObj: m.Mode >> 6 & permissionBits, groupObj: m.Mode >> 3 & permissionBits, other: m.Mode & permissionBits, mask: pxar.NoPerm}
	l.users, l.groups = sorted(m.ACL.Users), sorted(m.ACL.Groups)
	switch {
	case m.ACL.GroupObj != nil:
		l.mask, l.groupObj = l.groupObj, *m.ACL.GroupObj&permissionBits
	case len(l.users)+len(l.groups) > 0: // the kernel wants a mask beside them
		l.mask = l.groupObj
	}
	return l
}

func defaultOf(a *pxar.ACL) list {
	return list{
		userObj: a.Default.UserObj, groupObj: a.Default.GroupObj, other: a.Default.Other, mask: a.Default.Mask,
		users: sorted(a.DefaultUsers), groups: sorted(a.DefaultGroups),
	}
}

func sorted(entries []pxar.ACLEntry) []pxar.ACLEntry {
	entries = slices.Clone(entries)
	sortNamed(entries)
	return entries
}

// AccessACL is the value of system.posix_acl_access that a file with this metadata has, and nil
// where its mode says it all.
func AccessACL(m *pxar.Metadata) []byte {
	if m.ACL.GroupObj == nil && len(m.ACL.Users)+len(m.ACL.Groups) == 0 {
		return nil
	}
	return accessOf(m).value()
}

// DefaultACL is the value of system.posix_acl_default, and nil where there is no such list.
func DefaultACL(m *pxar.Metadata) []byte {
	if m.ACL.Default == nil {
		return nil
	}
	return defaultOf(&m.ACL).value()
}

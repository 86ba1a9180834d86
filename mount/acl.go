package mount

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/pbs-like/pbs-like/pxar"
)

// The tags of an access list in the kernel's form: a version, and then for each entry a tag, the permission, and who.
//
//	offset  size
//	0       4     version, 2
//	4+8n    2     tag
//	6+8n    2     permission: read 4, write 2, execute 1
//	8+8n    4     user or group, all ones where the tag says who
const (
	aclVersion  = 2
	aclOwner    = 0x01
	aclUser     = 0x02
	aclGroupObj = 0x04
	aclGroup    = 0x08
	aclMask     = 0x10
	aclOther    = 0x20
	aclNobody   = ^uint32(0)
)

// accessList is the access list of an entry, nil where its mode says it all. With a mask the group's bits of the mode are the mask.
func accessList(e *pxar.Entry) []byte {
	a := &e.ACL
	if a.GroupObj == nil && len(a.Users)+len(a.Groups) == 0 {
		return nil
	}
	bits := e.Mode >> 3 & 7
	group := bits
	if a.GroupObj != nil {
		group = *a.GroupObj
	}
	return aclBytes(e.Mode>>6&7, group, bits, e.Mode&7, a.Users, a.Groups)
}

// defaultList is the list for what is made in a directory, nil where there is none.
func defaultList(e *pxar.Entry) []byte {
	d := e.ACL.Default
	if d == nil {
		return nil
	}
	return aclBytes(d.UserObj, d.GroupObj, d.Mask, d.Other, e.ACL.DefaultUsers, e.ACL.DefaultGroups)
}

func aclBytes(owner, group, mask, other uint64, users, groups []pxar.ACLEntry) []byte {
	b := binary.LittleEndian.AppendUint32(nil, aclVersion)
	add := func(tag uint16, perm uint64, who uint32) {
		if perm == pxar.NoPerm {
			return
		}
		b = binary.LittleEndian.AppendUint16(b, tag)
		b = binary.LittleEndian.AppendUint16(b, uint16(perm&7))
		b = binary.LittleEndian.AppendUint32(b, who)
	}
	addAll := func(tag uint16, entries []pxar.ACLEntry) {
		sorted := slices.SortedStableFunc(slices.Values(entries), func(a, b pxar.ACLEntry) int { return cmp.Compare(a.ID, b.ID) })
		for _, e := range sorted {
			add(tag, e.Perm, uint32(e.ID))
		}
	}
	add(aclOwner, owner, aclNobody)
	addAll(aclUser, users)
	add(aclGroupObj, group, aclNobody)
	addAll(aclGroup, groups)
	add(aclMask, mask, aclNobody)
	add(aclOther, other, aclNobody)
	return b
}

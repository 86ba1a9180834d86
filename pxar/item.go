package pxar

import (
	"encoding/binary"
	"fmt"
)

// itemType is what an item is; the numbers are the format's own.
type itemType uint64

const (
	itemVersion      itemType = 0x730f6c75df16a40d
	itemPrelude      itemType = 0xe309d79d9f7b771b
	itemEntry        itemType = 0xd5956474e588acef
	itemEntryV1      itemType = 0x11da850a1c1cceff
	itemFilename     itemType = 0x16701121063917b3
	itemSymlink      itemType = 0x27f971e7dbf5dc5f
	itemDevice       itemType = 0x9fc9e906586d5ce9
	itemXattr        itemType = 0x0dab0229b57dcd03
	itemACLUser      itemType = 0x2ce8540a457d55b8
	itemACLGroup     itemType = 0x136e3eceb04c03ab
	itemACLGroupObj  itemType = 0x10868031e9582876
	itemACLDefault   itemType = 0xbbbb13415a6896f5
	itemDefaultUser  itemType = 0xc89357b40532cd1f
	itemDefaultGroup itemType = 0xf90a8a5816038ffe
	itemFCaps        itemType = 0x2da9dd9db5f7fb67
	itemQuota        itemType = 0xe07540e82f7d1cbb
	itemHardlink     itemType = 0x51269c8422bd7275
	itemPayload      itemType = 0x28147a1b0b7c1a25
	itemPayloadRef   itemType = 0x419d3d6bc4ba977e
	itemGoodbye      itemType = 0x2fec4fa642d5731d
	itemPayloadStart itemType = 0x834c68c2194a4ed2
	itemPayloadTail  itemType = 0x6c72b78b984c81b5
)

// tailMarker stands in the place of the hash in the last item of a goodbye table.
const tailMarker = 0xef5eed5b753e1555

const (
	headerSize  = 16
	entrySize   = 40
	entryV1Size = 32
	slotSize    = 24 // of an item of a goodbye table

	maxName    = 4096
	maxXattr   = 255 + 65536
	maxPrelude = 4 << 20 // ours: the format has no limit, and a command line is shorter
)

// String is the name that descriptions of the format use.
func (t itemType) String() string {
	if name, ok := itemName(t); ok {
		return name
	}
	return fmt.Sprintf("unknown type %016x", uint64(t))
}

func itemName(t itemType) (name string, ok bool) {
	switch t { //nolint:exhaustive // the others are below
	case itemVersion:
		return "FORMAT_VERSION", true
	case itemPrelude:
		return "PRELUDE", true
	case itemEntry:
		return "ENTRY", true
	case itemEntryV1:
		return "ENTRY_V1", true
	case itemFilename:
		return "FILENAME", true
	case itemSymlink:
		return "SYMLINK", true
	case itemDevice:
		return "DEVICE", true
	case itemXattr:
		return "XATTR", true
	case itemFCaps:
		return "FCAPS", true
	case itemQuota:
		return "QUOTA_PROJID", true
	case itemHardlink:
		return "HARDLINK", true
	case itemPayload:
		return "PAYLOAD", true
	case itemPayloadRef:
		return "PAYLOAD_REF", true
	case itemGoodbye:
		return "GOODBYE", true
	case itemPayloadStart:
		return "PAYLOAD_START_MARKER", true
	case itemPayloadTail:
		return "PAYLOAD_TAIL_MARKER", true
	}
	return aclItemName(t)
}

func aclItemName(t itemType) (name string, ok bool) {
	switch t { //nolint:exhaustive // the others are above
	case itemACLUser:
		return "ACL_USER", true
	case itemACLGroup:
		return "ACL_GROUP", true
	case itemACLGroupObj:
		return "ACL_GROUP_OBJ", true
	case itemACLDefault:
		return "ACL_DEFAULT", true
	case itemDefaultUser:
		return "ACL_DEFAULT_USER", true
	case itemDefaultGroup:
		return "ACL_DEFAULT_GROUP", true
	}
	return "", false
}

// header begins each item.
type header struct {
	kind itemType
	size uint64 // of the content, without the header
}

// parseHeader reads the 16 bytes of a header. A size that is less than the header's own is damage.
func parseHeader(b []byte) (header, error) {
	h := header{itemType(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint64(b[8:])}
	if h.size < headerSize {
		return h, corruptf("%s item with the impossible size %d", h.kind, h.size)
	}
	h.size -= headerSize
	return h, nil
}

func (h header) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(h.kind))
	return binary.LittleEndian.AppendUint64(b, h.size+headerSize)
}

// limit is the largest content that an item may have, before anything is allocated for it.
func (h header) limit() uint64 {
	switch h.kind { //nolint:exhaustive // the others have one limit
	case itemEntry:
		return entrySize
	case itemFilename, itemSymlink:
		return maxName + 1
	case itemHardlink:
		return 8 + maxName + 1
	case itemXattr, itemFCaps:
		return maxXattr
	case itemACLGroupObj, itemQuota:
		return 8
	case itemACLDefault:
		return 32
	case itemPrelude:
		return maxPrelude
	}
	return 16
}

// fixed tells the size of items that have only one.
func (h header) fixed() bool {
	switch h.kind { //nolint:exhaustive // the others are not
	case itemDevice, itemACLUser, itemACLGroup, itemACLGroupObj, itemACLDefault, itemDefaultUser, itemDefaultGroup, itemQuota:
		return true
	}
	return false
}

func (h header) check() error {
	switch limit := h.limit(); {
	case h.size > limit:
		return corruptf("%s item of %d bytes, the limit is %d", h.kind, h.size, limit)
	case h.fixed() && h.size != limit:
		return corruptf("%s item of %d bytes, it has to have %d", h.kind, h.size, limit)
	}
	return nil
}

// checkName is check for a header that may be a name's; other items are let through.
func (h header) checkName() error {
	if h.kind != itemFilename {
		return nil
	}
	return h.check()
}

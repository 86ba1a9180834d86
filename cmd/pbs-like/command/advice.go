package command

import "github.com/pbs-like/pbs-like/datastore"

// advice says what can be done about findings of a kind. docs/design/check.md has the same table.
func advice(kind datastore.FindingKind) string {
	switch kind {
	case datastore.FindingUnchecked:
		return "find out why it can't be read (the disk? another user?), and check again"
	case datastore.FindingWrongType:
		return "it is never followed or opened; see what it is, and move it out of the datastore"
	case datastore.FindingNested:
		return "move one of the two elsewhere: neither may be collected or repaired until then"
	case datastore.FindingObjectCache:
		return "never change this directory: its data is in the object store, not here"
	case datastore.FindingGroupOwner:
		return "change-owner gives the group one"
	case datastore.FindingManifest:
		return "the snapshot can't be restored as a whole; remove-snapshot removes it; what its indexes name stays until then"
	case datastore.FindingFileMissing:
		return "this archive is lost; the others of the snapshot can be restored"
	case datastore.FindingFileDiffers, datastore.FindingIndex:
		return "this archive can't be restored; inspect tells more; gc removes nothing while an index can't be read"
	case datastore.FindingChunkEmpty:
		return "verify tells whose it was; a backup of the same data stores it anew; gc removes it when nothing needs it"
	case datastore.FindingMode:
		return "check --repair gives sound permissions"
	case datastore.FindingGroupAccess:
		return "nothing, if the group is meant to read or change the datastore; else chgrp, or chmod g-w"
	case datastore.FindingFileOwner:
		return "check --repair, as root, gives it to the owner of the datastore's directory; if that is the wrong one, chown it first"
	case datastore.FindingLockMissing, datastore.FindingChunkDirs:
		return "check --repair makes what is missing"
	case datastore.FindingFileUnlisted:
		return "nobody restores it; of an index the chunks are kept all the same; remove the file if nobody knows it"
	case datastore.FindingIndexMisplaced:
		return "its chunks are kept for as long as it is there; move it away if nobody knows it"
	case datastore.FindingChunkMisplaced:
		return "move it to the directory of its first four digits, if there is none of that name; inspect chunk tells whether it is good"
	case datastore.FindingBadName:
		return "no command and no server sees it; rename it, or move it away"
	case datastore.FindingStatus:
		return "the next gc writes it anew"
	case datastore.FindingChunkBad:
		return "gc removes it when a good one is there again, or when nothing needs it"
	case datastore.FindingUnfinished:
		return "wait for its backup, or remove-snapshot it"
	case datastore.FindingEmptyGroup:
		return "remove-group removes it"
	case datastore.FindingTempFile, datastore.FindingLeftover:
		return "check --repair, or gc, removes it when nobody works on it any more"
	case datastore.FindingUnknownName:
		return "it harms nobody; move it away if nobody knows it"
	}
	return ""
}

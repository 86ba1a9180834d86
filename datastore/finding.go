package datastore

// FindingKind says what is wrong at one place of a store.
type FindingKind string

// The kinds of finding, in the order of the documentation. What each means and what
// can be done about it is in docs/design/check.md.
const (
	FindingUnchecked      FindingKind = "unchecked"          // could not be looked at
	FindingWrongType      FindingKind = "wrong-type"         // a link, pipe, device, file or directory in the place of something else
	FindingNested         FindingKind = "nested-store"       // a datastore inside of another one
	FindingObjectCache    FindingKind = "object-store-cache" // not a datastore but the cache of one
	FindingGroupOwner     FindingKind = "group-owner"        // owner file missing, empty or garbage
	FindingManifest       FindingKind = "manifest-damaged"   // the manifest can't be read as one
	FindingFileMissing    FindingKind = "file-missing"       // in the manifest and not there
	FindingFileDiffers    FindingKind = "file-differs"       // not the one that the manifest lists
	FindingIndex          FindingKind = "index-damaged"      // can't be read as an index
	FindingChunkEmpty     FindingKind = "chunk-empty"        // a chunk's file of no bytes
	FindingMode           FindingKind = "mode"               // permissions with which the store does not work or is not safe
	FindingFileOwner      FindingKind = "file-owner"         // belongs to another user than the store
	FindingLockMissing    FindingKind = "lock-missing"       // no .lock
	FindingChunkDirs      FindingKind = "chunk-dirs-missing" // some of the 65,536 are not there
	FindingFileUnlisted   FindingKind = "file-unlisted"      // in a finished snapshot and not in its manifest
	FindingIndexMisplaced FindingKind = "index-misplaced"    // an index where no backup has one
	FindingChunkMisplaced FindingKind = "chunk-misplaced"    // a chunk in another's directory
	FindingBadName        FindingKind = "bad-name"           // in the place of a group, snapshot or namespace
	FindingStatus         FindingKind = "status-damaged"     // .gc-status can't be read
	FindingChunkBad       FindingKind = "chunk-bad"          // found damaged by a verification, and renamed
	FindingUnfinished     FindingKind = "unfinished"         // a snapshot without manifest
	FindingEmptyGroup     FindingKind = "empty-group"        // a group without snapshots
	FindingTempFile       FindingKind = "temp-file"          // being written, or left by a writer that was cut off
	FindingLeftover       FindingKind = "leftover"           // on its way in or out, or left by an operation that was cut off
	FindingGroupAccess    FindingKind = "group-access"       // another group than the store's, or one that may change things
	FindingUnknownName    FindingKind = "unknown-name"       // nobody's, as far as we know
)

// FindingKinds lists all kinds.
func FindingKinds() []FindingKind {
	return []FindingKind{
		FindingUnchecked, FindingWrongType, FindingNested, FindingObjectCache, FindingGroupOwner, FindingManifest, FindingFileMissing,
		FindingFileDiffers, FindingIndex, FindingChunkEmpty, FindingMode, FindingFileOwner, FindingLockMissing, FindingChunkDirs,
		FindingFileUnlisted, FindingIndexMisplaced, FindingChunkMisplaced, FindingBadName, FindingStatus, FindingChunkBad,
		FindingUnfinished, FindingEmptyGroup, FindingTempFile, FindingLeftover, FindingGroupAccess, FindingUnknownName,
	}
}

// Severity is how bad a finding is.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"   // data is lost, or an operation that meets it fails
	SeverityWarning Severity = "warning" // wrong, and nothing is lost by it as it stands
	SeverityNote    Severity = "note"    // ordinary; worth knowing
)

// Severity is how bad findings of a kind are.
func (k FindingKind) Severity() Severity {
	switch k {
	case FindingUnchecked, FindingWrongType, FindingNested, FindingObjectCache, FindingGroupOwner, FindingManifest,
		FindingFileMissing, FindingFileDiffers, FindingIndex, FindingChunkEmpty:
		return SeverityError
	case FindingMode, FindingFileOwner, FindingLockMissing, FindingChunkDirs, FindingFileUnlisted, FindingIndexMisplaced,
		FindingChunkMisplaced, FindingBadName, FindingStatus:
		return SeverityWarning
	case FindingChunkBad, FindingUnfinished, FindingEmptyGroup, FindingTempFile, FindingLeftover, FindingGroupAccess,
		FindingUnknownName:
	}
	return SeverityNote
}

// Repairable tells whether a repair can do something about findings of a kind. About
// a single one it may be unable to all the same.
func (k FindingKind) Repairable() bool {
	switch k {
	case FindingMode, FindingFileOwner, FindingLockMissing, FindingChunkDirs, FindingTempFile, FindingLeftover:
		return true
	default:
		return false
	}
}

// blocks tells whether a repair of a store with such a finding could do harm.
func (k FindingKind) blocks() bool { return k == FindingNested || k == FindingObjectCache }

// Finding is one thing that is wrong with a store, or worth knowing.
type Finding struct {
	Kind     FindingKind
	Severity Severity
	// Path is relative to the store's root; "." is the root itself.
	Path string
	// Detail says what exactly is the matter.
	Detail string
	// Repairable says that a repair can do something about it.
	Repairable bool
	// Repaired says that this was done.
	Repaired bool
	// Err is why it could not be looked at, or not be repaired.
	Err error
}

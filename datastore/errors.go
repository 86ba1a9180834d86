package datastore

import (
	"errors"
	"fmt"
)

// Classes of failure that a caller decides on. Each is found with [errors.Is];
// the value around it carries the name of the thing and what is wrong with it.
// Locks that somebody holds are flock.ErrLocked, with the holders in a
// *flock.LockedError; encrypted data is blob.ErrNeedKey.
var (
	// ErrNotDatastore means that the directory is no datastore at all.
	ErrNotDatastore = errors.New("not a datastore")
	// ErrNotMounted means that the directory is empty or was exchanged: the disk
	// that holds the store is not mounted there. It wraps [ErrNotDatastore].
	ErrNotMounted = fmt.Errorf("%w: nothing is mounted there", ErrNotDatastore)
	// ErrNotFound means that the store, namespace, group, snapshot or archive does not exist.
	ErrNotFound = errors.New("does not exist")
	// ErrExists means that something of that name is already there.
	ErrExists = errors.New("already exists")
	// ErrNotEmpty means that a namespace holds groups.
	ErrNotEmpty = errors.New("not empty")
	// ErrProtected means that a protected snapshot stands in the way.
	ErrProtected = errors.New("protected")
	// ErrNotOwner means that the group belongs to somebody else.
	ErrNotOwner = errors.New("owned by somebody else")
	// ErrUnfinished means that the snapshot has no manifest.
	ErrUnfinished = errors.New("unfinished")
	// ErrOlder means that a backup would not be the newest of its group.
	ErrOlder = errors.New("not newer than the newest snapshot of the group")
	// ErrCorrupt means that stored data is not what it has to be.
	ErrCorrupt = errors.New("corrupt")
	// ErrSharedStore means that the locks of this file system do not reach the
	// other hosts that may use the store, so that nothing may be changed.
	ErrSharedStore = errors.New("locks do not reach other hosts")
	// ErrNested means that there is another datastore inside of this one.
	ErrNested = errors.New("datastores inside of each other")
	// ErrMaintenance means that the administrator of the Proxmox Backup Server on this
	// machine has put the store into a maintenance mode that does not allow this.
	ErrMaintenance = errors.New("maintenance mode")
	// ErrObjectCache means that the directory holds no chunks, but a cache of those in
	// an object store. It wraps [ErrNotDatastore].
	ErrObjectCache = fmt.Errorf("%w: only the cache of an object store", ErrNotDatastore)
	// ErrWrongUser means that this process could not give new files the store's owner.
	ErrWrongUser = errors.New("store belongs to another user")
)

// NotFoundError says what does not exist. It unwraps to [ErrNotFound].
type NotFoundError struct {
	// Kind is the kind of thing: "datastore", "namespace", "group", "snapshot" or "archive".
	Kind string
	// Name is its name relative to the store.
	Name string
	// Hint is something the user may want to know, such as what there is instead; may be empty.
	Hint string
}

func (e *NotFoundError) Error() string {
	if e.Hint != "" {
		return fmt.Sprintf("%s %q does not exist (%s)", e.Kind, e.Name, e.Hint)
	}
	return fmt.Sprintf("%s %q does not exist", e.Kind, e.Name)
}

// Unwrap gives [ErrNotFound].
func (e *NotFoundError) Unwrap() error { return ErrNotFound }

// EntryError is the failure of one entry of a listing. The listing goes on after it.
type EntryError struct {
	// Path is the entry's path relative to the store's root.
	Path string
	Err  error
}

func (e *EntryError) Error() string { return fmt.Sprintf("%q: %v", e.Path, e.Err) }

// Unwrap gives the cause.
func (e *EntryError) Unwrap() error { return e.Err }

// UnmountedError names directories of a store on which a file system belongs that is
// not mounted now: what is in it can't be seen. It unwraps to [ErrNotMounted].
type UnmountedError struct {
	// Paths are relative to the store's root; "." is the root itself.
	Paths []string
	// Store is the path of the store.
	Store string
}

func (e *UnmountedError) Error() string {
	return fmt.Sprintf("in the datastore %q a file system belongs on %q that is not mounted now, and whose snapshots need chunks that would be removed; mount it",
		e.Store, e.Paths)
}

// Unwrap gives [ErrNotMounted].
func (e *UnmountedError) Unwrap() error { return ErrNotMounted }

// ProtectedError names the protected snapshots that stand in the way. It unwraps to [ErrProtected].
type ProtectedError struct {
	Snapshots []string
	// Protection is what is known about the protection of a single one.
	Protection Protection
}

func (e *ProtectedError) Error() string {
	if len(e.Snapshots) == 1 {
		return fmt.Sprintf("snapshot %q is protected%s", e.Snapshots[0], e.Protection.words())
	}
	return fmt.Sprintf("%d snapshots are protected: %q", len(e.Snapshots), e.Snapshots)
}

// Unwrap gives [ErrProtected].
func (e *ProtectedError) Unwrap() error { return ErrProtected }

package command

import (
	"fmt"

	"github.com/pbs-like/pbs-like/datastore"
)

// blockerAdvice says what can be done so that a collection goes on.
func blockerAdvice(b datastore.Blocker) string {
	switch b.Kind {
	case datastore.BlockerLink:
		return "see where it leads: move what is there into the datastore, or else remove the link"
	case datastore.BlockerWrongType:
		return "see what it is, and move it out of the datastore"
	case datastore.BlockerUnfinished:
		return "its backup was cut off and nobody can restore it: remove-snapshot " + snapshotArgs(b) +
			" removes it, 24 h after its last change, and at once with --" + flagForce + "; prune does too, unless it is the newest of its group"
	case datastore.BlockerIndex:
		if b.Snapshot == nil {
			return "no backup has an index there: put a good copy of it back, or move it out of the datastore"
		}
		return "put a good copy of the file back if there is one; else this archive is lost, and once you need no other of the snapshot, remove-snapshot " +
			snapshotArgs(b) + " lets gc go on"
	}
	return ""
}

// snapshotArgs is how a snapshot is named on the command line.
func snapshotArgs(b datastore.Blocker) string {
	if b.Snapshot == nil {
		return b.Path
	}
	name := b.Snapshot.String()
	if ns := b.Snapshot.Group.Namespace; !ns.IsRoot() {
		return fmt.Sprintf("--ns %s %s", ns, name)
	}
	return name
}

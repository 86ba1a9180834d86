// Package backupinfo holds the words of a backup store as values: what backups
// are called, in which order they come, and what a manifest says about one.
//
// There are few types, each nested in the next:
//
//   - [Namespace]: a place in the store, "a/b"
//   - [Group]: all backups of one machine, a [Type] and an id, "vm/100"
//   - [Snapshot]: one backup of a group, with its [Time], "vm/100/2026-01-15T03:00:00Z"
//   - [ArchiveName]: one file of a snapshot, "root.pxar", stored as "root.pxar.didx"
//   - [Manifest]: the snapshot's table of contents, with a [File] for each
//
// Around them stand [AuthID], who owns a group; [Fingerprint], of a key; [UPID],
// of a task; and [Period], of the calendar. [Prune] decides by [KeepOptions] which
// snapshots of a group stay.
//
//	s, err := backupinfo.ParseSnapshot(ns, "vm/100/2026-01-15T03:00:00Z")
//	if err != nil {
//		return err
//	}
//	dir := s.Dir() // "ns/a/vm/100/2026-01-15T03:00:00Z", below the store's root
//
// Names are strict, wherever they come from: what a parser accepts is safe as a
// relative path, and prints as what was read. A snapshot's directory has one
// spelling only. Text forms, orders and limits are those of Proxmox Backup Server,
// and are tested against tables that its own code wrote.
//
// A manifest is the JSON object
//
//	backup-type, backup-id, backup-time   which snapshot
//	files [ ]                             filename, crypt-mode, size, csum
//	signature                             HMAC over all of the above, or null
//	unprotected { }                       notes, verify_state, key-fingerprint, …
//
// It is kept as the text it was read from. What this package does not know, in any
// place, survives a rewrite, and numbers to the letter.
//
// What is not promised: the package touches no file and holds no lock. It neither
// makes nor checks signatures, but says which bytes they cover. It does not look at
// whether the files that a manifest lists are there. A value that was put together
// by hand is only as good as its Validate says.
package backupinfo

// Package pbsrun meets a Proxmox Backup Server of this machine on its own ground:
// it reads which datastores it is configured to serve, and keeps to what its
// processes keep to under its run directory.
//
//   - [Server] is the server: a directory with its configuration, a run directory,
//     and the user that its daemons run as. [Server.Find] tells under which name it
//     serves a directory.
//   - [Store] is one datastore of it: [Store.Lock] takes its lock files,
//     [Store.Enter] counts an operation so that maintenance waits for it,
//     [Store.AppendMoveJournal] tells a collection about files that move.
//   - [ParseConfig] reads its datastore.cfg, [LockName] and [OldManifestLockName]
//     give the names of lock files.
//
// # Lock files
//
// A server of version 3.3.5 or later locks groups, snapshots and manifests with
// flock(2) on files below locks/STORE in the run directory. Those before lock the
// directories of the datastore, and a file of another name for the manifest. Where
// the file old-locking is in the run directory, newer ones do so too.
//
// A file is made with the owner and the mode that the server gives it, complete
// under a temporary name, and then renamed: so the server's daemons, which run as
// another user, can always open what they see. After locking, the inode behind the
// name is compared with the locked one. Files stay when a lock is released, as the
// server's do: taking one away makes a server fail that has just opened it. Who
// removes the group or snapshot removes its lock files while they are held
// ([Lock.Remove]), so that there are never more than things in the datastore.
//
// A server of version 4.2.3 can't lock names whose escaped form has 245 to 254
// bytes, because its temporary name is too long then. Here they work.
//
// # Not promised
//
// The names of the two styles share a directory. In rare cases they want the same
// one as a file and as a directory: the manifest lock of an old server for
// vm/ct-1, and the lock of a new one for the group ct/1 of a namespace "vm". Then
// the old style's is left out. A namespace called "move-journal" can't be locked
// while there is a journal, by nobody. Linux only.
package pbsrun

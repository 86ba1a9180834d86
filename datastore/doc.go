// Package datastore opens a Proxmox Backup datastore as it lies on disk: it lists
// what is in it, makes snapshots, reads and verifies them, prunes and removes them,
// protects them, changes notes and owners, makes, moves and removes namespaces,
// collects the data that nothing needs any more, and checks and repairs the
// structure, under locks that other processes honour.
//
// A [Datastore] is a handle without descriptors; an operation opens what it needs
// and closes it again. [Datastore.Backup] gives a [SnapshotWriter],
// [Datastore.OpenSnapshot] a [SnapshotReader]. Both own the locks that they work
// under, and both are to be closed:
//
//	store, err := datastore.Open("/srv/store", datastore.Options{})
//	...
//	w, err := store.Backup(ctx, group, datastore.BackupOptions{})
//	...
//	defer w.Close() // gives the snapshot up, unless it was committed
//	_, err = w.AddImage(ctx, name, disk, size)
//	...
//	_, err = w.Commit(ctx)
//
// # Locks
//
// There is no guess about who uses what. A snapshot with a manifest may be the
// base of a running backup, and one without may be left by a dead writer: only a
// lock says so. The locks, in the order in which they are taken, but for the last:
//
//	L1  .lock in the root   OFD record lock   the datastore as a whole
//	L2  the group           flock             its list of snapshots, owner, notes
//	L3  the snapshot        flock             everything in it
//	L4  the base            flock, shared     like L3, of the snapshot a backup builds on
//	L5  the manifest        flock             the moment of a rewrite
//	L6  the namespaces      flock             which namespaces there are, and where
//
// L2 to L4 lie on the directory itself, L5 on the file. Verification has L5 only
// while it records its verdict. L6 lies on the root of the store, and is taken
// before L2: shared for the instant in which a new namespace or group is put into
// the tree, exclusive while a namespace is taken from its place. Who removes or moves
// namespaces has it, exclusive, on the directory of each of these too.
//
// All but L5 and L6 are refused at once when they are held; [Options].LockWait tries
// the whole set again until it is to be had. Who waits holds nothing.
//
//	operation                      L1      L2         L3                 L4      L5
//	back up                        shared  exclusive  exclusive (new)    shared  -
//	read, restore                  -       -          shared             -       -
//	verify                         -       -          shared             -       exclusive
//	remove a finished snapshot     -       (tidy)     exclusive          -       exclusive
//	remove an unfinished snapshot  -       exclusive  exclusive          -       -
//	remove a group                 -       exclusive  exclusive (all)    -       -
//	move a group                   shared  exclusive* exclusive (all)    -       -       and L6 shared
//	remove a namespace             -       exclusive  exclusive (all)    -       -       and L6 exclusive
//	move a namespace               shared  exclusive  exclusive (all)    -       -       and L6 exclusive
//	create a namespace             -       -          -                  -       -       and L6 shared
//	collect garbage                exclusive -        -                  -       -
//	repair                         exclusive (temp)  (temp)             -       (temp)
//	prune                          -       as the removal of each snapshot that goes
//	protect, unprotect             -       -          exclusive          -       -
//	notes of a snapshot            -       -          shared             -       exclusive
//	notes of a group, owner        -       exclusive  -                  -       -
//
// (*) of the group and of the one that it is merged with, in the order of their
// names. A backup takes L6 shared while it makes a new group.
//
// A repair takes the others for the moment in which it removes a temporary file that
// is written under them, and leaves the file where that is refused. A check takes none.
//
// A removal takes L2 besides where the group may be empty then, and leaves the
// group where that is refused. The last two rows, whose holders are done in an
// instant, wait a second for each other before they are refused.
//
// So this is what happens to the second operation on the same thing while the
// first one runs ("goes on" or "refused"):
//
//	running \ starting   back up    restore base  remove base  remove group  protect base  note on base  owner, group note
//	back up              refused    goes on       refused      refused       refused       goes on       refused
//	restore base         goes on    goes on       refused      refused       refused       goes on       goes on
//	remove base          goes on*   refused       refused      refused       refused       refused       goes on
//	remove group         refused    refused       refused      refused       refused       refused       refused
//	protect base         goes on*   refused       refused      refused       refused       refused       goes on
//	note on base         goes on    goes on       refused      refused       refused       refused       goes on
//	owner, group note    refused    goes on       goes on      refused       goes on       goes on       refused
//
// (*) with the next older snapshot as its base. A move of the group excludes, and is
// excluded by, the same as its removal, and collections besides. A namespace can
// neither be removed nor moved while anything in or below it is in use, and meanwhile
// no group and no namespace is made anywhere: who wants to waits for a moment.
// Pruning is never refused as a whole: what is in use stays, and the report says so.
//
// A collection excludes backups of any group, repairs and other collections, both ways
// round, and so does a repair; it goes on beside restores and removals, and they beside it. What it has to
// fear is a writer that counts on a chunk which is about to go, and L1 leaves
// none. A removal that goes on meanwhile only takes references away.
//
// A verification is a reader. Two of one snapshot go on beside each other, but for
// the moment of the verdict, which the second one waits for.
//
// # Beside a server
//
// Where a Proxmox Backup Server on this machine is configured to serve the store,
// L2 to L4 are on its lock files too, and L5 on those of both its styles: package
// pbsrun has them. The sets above exclude those of a server as they exclude each
// other, with two differences: a server changes notes under L5 alone, and a backup of
// it that finds its base locked fails instead of taking the next older one. L1 is the
// server's anyhow. An operation counts in the server's list of operations for as long
// as it has locks. A maintenance mode refuses it ([ErrMaintenance]): all but reading
// when it is "read-only", everything in the others.
//
// Who changes something has to be the server's user or root ([ErrWrongUser]). Readers
// who can't take the server's locks go on without, with a notice.
//
// # Who holds what
//
// [Datastore.Locks] lists all locks on the store with their holders. [Datastore.Hold]
// and [Datastore.HoldStore] hold one for somebody else's work. With
// [Options].Activities, operations say what they are doing while they hold locks, and
// a refusal repeats what the holder says.
//
// A lock counts for the directory that carries the name now: after locking, the
// inode behind the name is compared. What a decision rests on is read again under
// the lock.
//
// # Several hosts
//
// Where [Datastore.SetLockScheme] has said that several hosts share the store, every
// lock takes a store lock besides, after the server's, in the same set: a lease that
// lies in the store itself, see package storelock. They are coarser, so that an
// operation has few of them: one for the store (L1), one for the tree of namespaces (L6),
// and three for each group, of which one is for itself (L2), one for its snapshots (L3, L4), and one for
// the moment in which a manifest or a mark beside it is written (L5).
//
//	operation                      store   tree    group      snapshots  manifests
//	back up                        shared  -       exclusive  shared     -
//	read, restore                  -       -       -          shared     -
//	verify, notes of a snapshot    -       -       -          shared     exclusive
//	protect, unprotect             -       -       -          shared     exclusive
//	remove a finished snapshot     -       -       (tidy)     exclusive  -
//	remove an unfinished snapshot  -       -       exclusive  exclusive  -
//	remove a group                 -       -       exclusive  exclusive  -
//	notes of a group, owner        -       -       exclusive  -          -
//	move a group                   shared  shared  exclusive* exclusive  -
//	move a namespace               shared  excl.   exclusive  exclusive  -
//	remove a namespace             -       excl.   exclusive  exclusive  -
//	collect garbage, repair        excl.   -       -          -          -
//
// So a removal of any snapshot of a group is refused while another host reads one of them.
// A lease can be lost while it is held, by a host that stood still or lost the store for longer than the
// stale time: storelock.ErrLost. The operation then ends, and makes no visible change any more,
// for every change of the store looks at its locks right before. A look is no fence: a
// host that is paused between it and the change makes that change late. What such a
// change can do is bounded: a collection never removes what is younger than a day
// there, a manifest is written only into the directory that has the mark of this very
// acquisition, and every removal is a rename of what its name leads to.
//
// Who can't take store locks can't change such a store. Who only reads goes on, with a notice.
// What the store says of its locks is in a hidden file in its root. What is there and is not
// understood is [ErrScheme], and keeps everybody from changing the store.
//
// # Directory trees
//
// [SnapshotWriter.BeginTree] gives a [TreeWriter], which takes a tree entry by entry from whoever walks over it,
// and [SnapshotReader.OpenTree] reads one. A tree is one archive (.pxar, with a catalog that all such trees of a snapshot have in
// common), or two: the entries (.mpxar) and the contents (.ppxar). The second form can go without reading what has
// not changed since the base: the chunks of the base that hold those files are put into the new index. They are taken for good like all
// chunks of a finished base, under its lock, and kept from being collected before anything refers to them; where one
// is gone, its files are read. What the base says about its files counts only as far as the key of the backup vouches for it.
// That a file has not changed is concluded from its metadata: what this can't notice is told in package reuse.
//
// # Keys
//
// With [BackupOptions].Key the archives are encrypted and the manifest is signed;
// [BackupOptions].CryptMode says which of the two. Chunks have other names under each
// key, so that a base counts only where it was made, and signed, with the same key.
// [ReadOptions].Key opens what was encrypted and checks the signature, and so does
// [VerifyOptions].Key: without it a verification compares what is stored of encrypted
// data with its checksums, which finds damage, and says so in its report.
//
// No key, another key and a wrong signature are three errors: *keys.MissingKeyError,
// *keys.WrongKeyError and keys.ErrSignature. Who can write to the store and has no key
// can take a signature away together with the fingerprint beside it: the manifest is
// then one that was never signed, and readers with a key are told so by a notice.
// Notes and verdicts are not signed. A key is never written to the store, but as the
// copy for the owner of a master key that [BackupOptions].KeyCopy asks for.
//
// # What a crash leaves
//
// A new group or snapshot is made under a hidden name and renamed into place,
// locked and complete; what is removed is renamed out of the tree before its
// files are unlinked. The manifest appears last, after everything else was synced.
// A crash at any moment leaves a snapshot finished, unfinished, or gone, never
// half of one that is listed as finished. Hidden leftovers whose lock is free are
// swept by the next removal, pruning or collection. A manifest, an owner, notes and the mark
// of a protection are replaced by one rename: the old or the new one, whole. A
// collection that is cut off has removed fewer chunks, none of which anything referred
// to. A verification that is cut off has left old verdicts, or new ones. A group or a
// namespace moves by one rename: it is in the old place or in the new one. Of two
// groups that are merged each snapshot is in one of them, and the same call goes on.
//
// # What is not promised
//
// The locks of this machine reach every process on this kernel, and no other host: on a file
// system that several hosts may share, changes are refused ([ErrSharedStore]) unless the store is
// set to be shared, or somebody has said that there is no other host. No server takes store
// locks: one on another host excludes nobody. Those
// of a Proxmox Backup Server are honoured where it is configured on this machine, in
// the place that [Options].Server says; one in a container, with files of its own, is not seen.
package datastore

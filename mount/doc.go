// Package mount shows a datastore, a snapshot or one archive of it as a read-only file
// system, with FUSE. Everything that is read was proven, as in package datastore: damaged
// data is an error (EIO) and never other data.
//
//	m, err := mount.New(ctx, "/mnt/store", ds, mount.Options{})
//	...
//	defer m.Close()
//	return m.Wait(ctx)
//
// # The tree
//
//	ns/NAME/...             namespaces, as below the root
//	vm/100/                 a group
//	vm/100/TIME/            a finished snapshot; others are left out
//	  drive-scsi0.img       an image, of its full size
//	  etc.tar               a stream
//	  qemu-server.conf      a blob, decoded
//	  root.pxar/            a directory tree, of .pxar or of .mpxar and .ppxar
//
// An archive has the name that its user gave it; where two of a snapshot would have
// the same, they have those on disk. In a tree everything has the mode, the owner, the time and
// the attributes that it was backed up with. All else belongs to who mounted it, and is readable by nobody else.
//
// # Locks
//
// A snapshot is locked for reading, as by any other reader, from the moment in which something in
// it is used until [Options].Idle after the last use, and as long as a file or a directory in it is
// open. What the kernel may remember of it expires before that. So what is seen was not removed, and
// what is not looked at can be. An idle mount has no descriptor below the store and no lock: the
// store's file system can be unmounted, and be mounted again later.
//
// What was removed is ENOENT for a name and ESTALE for what was found under it before. EBUSY is
// a snapshot that is being removed, ENOKEY what is encrypted where there is no key, EKEYREJECTED
// where it is the wrong one, EIO what is damaged, ESTALE also a file whose lock was lost.
//
// # Hostile archives
//
// A name that no file system can have, one that comes twice, and an entry that its directory's own table
// does not lead to are left out of listings, and counted by [Events].Hidden. Devices can't be
// opened and set-user-ID bits do not count below the mount point.
//
// # What is not promised
//
// The number of links of a file is 2 where it is not known, which is in archives of more than
// 64 MiB of the form that has contents and names in one: programs that copy then look whether there are other names.
// Free space is 0. Times of access and of change are that of modification.
package mount

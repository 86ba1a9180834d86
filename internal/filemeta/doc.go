// Package filemeta reads what a file system knows of a file besides its name and content, as a backup
// keeps it, and gives it to a file again.
//
// [Read] takes a descriptor and its stat, [Apply] a descriptor and metadata; descriptors that were opened with
// O_PATH will do, for what they name. What there is to read depends on the file system:
//
//	                            xattrs  ACLs, capabilities  quota project  chattr flags  FAT attributes
//	ext4, XFS, ZFS              yes     yes                 yes            yes           -
//	Btrfs, and any other        yes     yes                 -              yes           -
//	FUSE                        yes     -                   -              yes           yes
//	FAT                         -       -                   -              yes           yes
//	tmpfs                       -       -                   -              yes           -
//
// Of the extended attributes there are "user." and "trusted.", and security.NTACL; access lists and capabilities are
// values of their own. Only directories and regular files have any of them. The table is that of the original, so that backups of both are equal.
//
// What is applied is applied in an order in which no step undoes another one: owner, extended attributes, capabilities, quota
// project, access lists, permissions, time, flags. A step that fails is an [Error] that says which, and the next ones are taken all the same.
//
// # What is not promised
//
// The values that are read are of a moment each: somebody may change the file in between. Times of access and of
// the last change of the metadata are neither read nor set.
package filemeta

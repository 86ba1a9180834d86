// Package dirstore keeps the objects of a lock in a directory, in the layout of
// Borg's own file store, so that a Borg can use the same one.
//
//	DIR/locks/023f6718cabcce8c     an object: the key is made of its content
//	DIR/locks/tmpab12_x9z.tmp      one that is being written, or was left by a crash
//	DIR/queue/t019cd...            who waits: ours only
//
// [Open] opens one such directory; [Store.Resource] gives the directory of one of
// many locks below it. Directories are made when they are first needed. An
// object appears as a whole, by a rename. Its permissions and its group are
// those of the directory, so that everybody who may use the directory may use the lock.
//
// Names that others have made are never followed or waited for: a symbolic link, a
// named pipe or a directory in the place of an object can't be loaded, and can be
// deleted. A directory that has something in it is not destroyed: ".del" is added to its name.
//
// # What is not promised
//
// Nothing is synced: after a power cut an object may be empty or back, and
// then it goes stale. On a network file system, a listing may come from a cache: have
// the store tested, from two hosts. The directories of resources stay until
// somebody calls [Store.Retire]. Linux only.
package dirstore

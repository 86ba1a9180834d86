// Package chunkstore is the .chunks directory of a datastore, and the .lock file
// beside it.
//
//	<store>/.lock                      record lock over the whole store, mode 0644
//	<store>/.chunks/0000 … ffff/       65,536 directories, mode 0750
//	<store>/.chunks/abcd/<64 hex>      a chunk: a data blob, named by its digest
//	<store>/.chunks/abcd/<64 hex>.tmp_XXXXXX  a chunk that is being written
//
// [Create] makes the directories, [Open] gives a [Store]. A writer asks
// [Store.Reuse] or [Store.ReuseVerified] whether a chunk is there, and hands
// what is not to [Store.Insert]. A [Loader] reads chunks and proves them. Whoever
// writes holds [Store.LockShared] for as long as its chunks are in no finished
// snapshot; whoever removes chunks holds [Store.LockExclusive].
//
//	s, err := chunkstore.Open(root, chunkstore.Options{})
//	...
//	defer s.Close()
//	result, err := s.Insert(ctx, digest.Of(data), stored)
//	loader := s.NewLoader()
//	defer loader.Close()
//	data, err = loader.Load(digest.Of(data), chunkstore.AnySize)
//
// # Which of two stays
//
// A name stands for its content, so what is there already is kept, if it is worth
// it. [Store.Insert] reads it first, and replaces it when it is damaged. Of two
// good unencrypted forms the smaller one stays. An encrypted one never replaces an
// unencrypted one. With a key ([Options].Key), an encrypted one that is there has to
// open under it and hold what its name says; else it is replaced. Without a key its
// CRC has to do. Either way the chunk's time of last access is now, which is
// what keeps it from the next collection.
//
// # How it is written
//
// A chunk appears under its name in one step, whole: a reader, another writer and
// a killed process see either nothing, the old one, or the new one. Every writer
// has a temporary file of its own. Nothing is synced, because that would cost a
// wait for each chunk: a writer syncs the file system once, before its manifest.
// Until then a power cut may leave a chunk empty or cut off, under its name; that
// is why only the chunks of a finished snapshot may be trusted unread.
//
// On ext4 and XFS, large chunks are written past the page cache, because pages of it
// that are used for the first time can cost more than the write itself. That needs a buffer whose address is a
// multiple of 4096, which the beginning of any large slice is in practice. Any
// other buffer is written the ordinary way.
//
// # What is not promised
//
// That a chunk decodes, before a [Loader] has read it. That what sits in .chunks is
// a chunk store at all: the local cache of an object store looks the same, with
// empty chunks. Durability, see above. Names are never followed through symbolic
// links, and pipes, devices and directories in the place of chunks are refused
// with [ErrForeign]; but whoever may write to the directory can remove chunks.
package chunkstore

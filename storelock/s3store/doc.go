// Package s3store keeps the objects of a lock in a bucket of an S3-compatible
// object store, so that hosts that share nothing else can share a lock.
//
//	s3://BUCKET/PREFIX/locks/023f6718cabcce8c
//	s3://BUCKET/PREFIX/queue/t019cd...
//
// [Open] takes such an address. [Store.Resource] gives the place of one of many locks below it.
//
// Only plain calls are needed: put, get, list, delete. A store is fit for it if a
// listing that begins after a put has returned has the object; have it tested,
// and give the lock the recheck delay that comes out: 10 ms are for local ones.
//
// # What is not promised
//
// Conditional writes are not used. Versions that a bucket keeps of deleted objects
// are nobody's here: a rule of the bucket has to expire them.
package s3store

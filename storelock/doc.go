// Package storelock is a lock whose state lies in a store that several hosts
// share, where the kernel's locks do not reach. It speaks the protocol of the
// store lock of Borg 2, byte for byte, so that a Borg and a program with this package
// exclude each other on the same store.
//
//   - [Backend] is such a store: four operations on small objects. Package
//     dirstore keeps them in a directory, package s3store in an object store.
//   - [Acquire] takes the lock, shared or exclusive, and gives a [Guard].
//   - [Guard] keeps it alive in the background, says when it was lost, and gives it back.
//   - [List] tells who holds it, [Break] removes what dead owners have left.
//   - [SelfTest] measures whether a store is fit for it.
//
// It is used like this:
//
//	guard, err := storelock.Acquire(ctx, store, storelock.Options{Exclusive: true, Timeout: time.Minute})
//	if err != nil {
//		return err // *storelock.LockedError says who has it
//	}
//	defer guard.Close()
//	work, stop := guard.Bind(ctx) // ends with ctx, and when the lock is lost
//	defer stop()
//	// work with that, and before each step that can't be taken back:
//	if err := guard.Check(ctx); err != nil {
//		return err
//	}
//
// # What holds
//
// Who holds the lock has an object of its own in the store, and saw, in two equal listings that
// were made after it was stored, that nobody else has one in its way. An object
// is stale when it did not change for the whole stale time on the clock of whoever looks at it,
// or when its owner is proven to be dead on this host; no two hosts compare their clocks.
// What is stale is deleted before anybody may hold the lock, so an owner that wakes up late finds its
// object gone. Objects that can't be read count as exclusive locks until they are stale.
//
// # What is not promised
//
// A lock like this is a lease. A machine that is paused between [Guard.Check] and the
// step after it takes that step late. Record [Guard.Instance] in what is
// written, and do not rest on the lock alone where losing data is at stake.
// Against a Borg's own mistakes (it compares clocks of different hosts) there is
// no protection but that they are noticed before the next step. The queue is polite
// among programs with this package and nothing more. docs/design/storelock.md has the protocol,
// what it assumes, and the schedules that would break it.
package storelock

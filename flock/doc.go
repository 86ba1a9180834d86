// Package flock takes advisory locks on directories and files.
//
// It has few types:
//
//   - [Ref] names what is to be locked: a name below an open directory, or a path.
//   - [SharedGuard] and [ExclusiveGuard] prove that a lock is held. They come from
//     [TryShared] and [TryExclusive], which use flock(2) on a directory or a
//     regular file, or from [TryRecordShared] and [TryRecordExclusive], which use
//     record locks (fcntl(2), of the open file) and meet those of older programs.
//   - [Wait] tries again until a deadline, and holds nothing in between.
//   - [LockedError] tells who is in the way, as [Holder] values.
//   - [FS] tells whether a lock on a directory excludes anybody there at all.
//
// A lock is taken and used like this:
//
//	guard, err := flock.TryExclusive(flock.Ref{Dir: store, Name: "vm/100"})
//	if errors.Is(err, flock.ErrLocked) {
//		return err // says by whom
//	}
//	if err != nil {
//		return err
//	}
//	defer guard.Close()
//	// work relative to guard.File()
//
// # What holds
//
// The lock is on the file that the name leads to. Between the open and the lock
// another process may remove a directory, and a third one make it anew: then the
// lock would be on a directory that nobody can find any more. So the two are
// compared after each lock, and the attempt starts over when they differ. A name
// that is gone is fs.ErrNotExist, and never busy. Later on the name may be moved
// only by who holds the lock; Check tells.
//
// Two goroutines exclude each other as two processes do, because each lock is on
// an open file of its own.
//
// Closing a guard closes its file and does not unlock. If a child process was
// given the file on purpose, it has the lock from then on.
//
// A guard that the program forgets stays locked until the process ends, and
// [Held] shows it.
//
// # Errors
//
// [ErrLocked] means that a conflicting lock was seen, and nothing else means
// that. [ErrUnsupported] is for the answers of a file system that can't lock:
// EBADF, EINVAL, ENOLCK, ENOSYS and EOPNOTSUPP. [ErrChanged] ends an attempt that
// started over many times. Other errors of the system are *fs.PathError. After an
// error nothing is held.
//
// # Calls that hang
//
// A try does not wait for other holders, but on a FUSE or network file system any
// call can wait for a server, and nothing interrupts it. The bare tries and
// [Wait.Do] hang with it. [Take] does not: it leaves such a try behind, in its
// goroutine, which closes what it gets when the kernel answers after all.
//
// # What is not promised
//
// Locks are advisory: they stop only who asks for them. Whether they reach other
// hosts depends on the file system: see [Reach]. There is no queue: who waits may
// be overtaken. There is no way from shared to exclusive, as flock(2) has none
// without a gap. A child process that is just being started has all files for an
// instant, until it executes its program, so a lock may seem held for that instant
// after Close: the short retry of [Wait] is there for that, too. Who holds a lock is
// found out as well as /proc allows, and may have changed when it is read.
//
// Linux only.
package flock

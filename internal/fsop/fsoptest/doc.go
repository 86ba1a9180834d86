// Package fsoptest makes changes to a disk fail, one by one, for tests of
// anything that goes through an [fsop.Disk].
//
// A [Script] counts and records the changes and, at one of them, fails, kills
// the process, or stops and waits. It does so before the change is made or
// after: a test wants both, since "it failed" doesn't say that nothing happened.
//
// [Failures] runs the body of a loop once for each change of an operation, with
// that one failing, until the operation gets through:
//
//	for script := range fsoptest.Failures(t, unix.EIO) {
//		dir := openTempDir(t)
//		err := operation(script.Disk(), dir)
//		checkOldOrNew(t, dir, err)
//	}
//
// For a kill, the operation runs in a process of its own; [Parse] makes the
// script there from the text that [Script.Spec] gave here.
//
// Not promised: the number of a change is not stable between versions, so tests
// count through all of them and name none. Changes made past the Disk are not seen.
package fsoptest

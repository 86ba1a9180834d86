// Package helperproc lets a test have other processes.
//
// What a lock is worth shows only between processes, and what a crash leaves
// behind only after a real SIGKILL. The test binary therefore starts itself
// again in a named role, and the two talk in lines over the role's standard
// input and output. Nobody sleeps to wait for the other.
//
//	func TestMain(m *testing.M) {
//		helperproc.Main(m, map[string]helperproc.Role{"hold": hold})
//	}
//
//	func hold(ctx context.Context, args []string, io *helperproc.IO) error {
//		// take what args names
//		io.Ready()
//		_, err := io.Next() // hold it until told otherwise
//		return err
//	}
//
//	func TestHolder(t *testing.T) {
//		p := helperproc.Start(t, "hold", dir)
//		p.WaitReady()
//		p.Kill()
//	}
//
// [Main] runs a role or the tests. [Start] and [StartWith] start a [Proc], which
// is the test's end of the line; [IO] is the role's.
//
// A process is killed when its test ends, and when the test binary dies, however
// that happens: the kernel kills it, and its standard input ends.
//
// # What is not promised
//
// Linux only. A role's output must be lines of text. A Proc is for one
// goroutine, except for Kill.
package helperproc

package helperproc_test

import (
	"context"
	"testing"

	"github.com/pbs-like/pbs-like/internal/helperproc"
)

// A role holds something until it is told to stop.
func ExampleMain() {
	hold := func(_ context.Context, args []string, io *helperproc.IO) error {
		io.Say("holding " + args[0])
		io.Ready()
		_, err := io.Next()
		return err
	}
	_ = func(m *testing.M) { // TestMain
		helperproc.Main(m, map[string]helperproc.Role{"hold": hold})
	}
	_ = func(t *testing.T) { // a test
		t.Helper()
		p := helperproc.Start(t, "hold", "vm/100")
		p.Expect("holding vm/100")
		p.WaitReady()
		p.Stop() // stands still, and still holds
		p.Kill() // gone, and the kernel has let go
	}
}

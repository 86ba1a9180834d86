package flock

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/helperproc"
)

// A FUSE server that never answers: the open hangs in the kernel for good.
func TestTakeLeavesAFileSystemThatHangs(t *testing.T) {
	t.Parallel()
	own := helperproc.Options{Cloneflags: unix.CLONE_NEWNS}
	needs(t, own)
	p := helperproc.StartWith(t, own, "hang", t.TempDir())
	if line := p.Line(); line != "left it" {
		t.Skip(line)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// roleHang has the mount to itself, so that nobody else hangs in it.
func roleHang(ctx context.Context, args []string, c *helperproc.IO) error {
	server, err := hangingMount(args[0])
	if err != nil {
		c.Say(fmt.Sprintf("needs FUSE: %v", err))
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	_, err = Take(ctx, Wait{}, func() (*SharedGuard, error) {
		g, err := TryShared(Ref{Name: args[0] + "/100"})
		ended <- err
		return g, err
	})
	if !errors.Is(err, context.DeadlineExceeded) || len(ended) != 0 {
		return fmt.Errorf("Take: %w, after %d attempts", err, len(ended))
	}
	if err := unix.Close(server); err != nil { // and now the kernel answers after all
		return err
	}
	if err := <-ended; !errors.Is(err, unix.ENOTCONN) {
		return fmt.Errorf("the attempt that was left: %w", err)
	}
	c.Say("left it")
	return nil
}

func hangingMount(dir string) (server int, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return -1, err
	}
	server, err = unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", server, unix.Getuid(), unix.Getgid())
	return server, unix.Mount("hangs", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options)
}

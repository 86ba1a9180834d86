package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
)

// terminal opens a pseudo terminal: what is written to user is typed, what the
// program prints on tty can be read from it.
func terminal(t *testing.T) (user, tty *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	number, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return user, tty
}

func newQuestion(t *testing.T, streams Streams) question {
	t.Helper()
	p := newProgram(streams)
	q, err := p.newQuestion(cli.NewContext(nil, nil, &cli.Context{Context: t.Context()}))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestOnlyYesIsAConfirmation(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{"y\n": true, "YES\n": true, "yes \n": true, "\n": false, "n\n": false, "yo\n": false, "\x04": false}
	for typed, want := range tests {
		user, tty := terminal(t)
		q := newQuestion(t, Streams{In: tty, Out: io.Discard, Err: tty})
		if _, err := user.WriteString(typed); err != nil {
			t.Fatal(err)
		}
		err := q.confirm(t.Context(), "Remove?")
		if want != (err == nil) || !want && !errors.Is(err, errDeclined) {
			t.Errorf("%q: %v", typed, err)
		}
	}
}

// removeOnTerminal answers the question that remove-group asks.
func removeOnTerminal(t *testing.T, store, answer string) (code int, shown string) {
	t.Helper()
	user, tty := terminal(t)
	done := make(chan int)
	go func() {
		done <- Run(t.Context(), []string{"pbs-like", "remove-group", "host/x", "--datastore", store}, Streams{In: tty, Out: tty, Err: tty})
	}()
	var seen strings.Builder
	for buf := make([]byte, 1); !strings.HasSuffix(seen.String(), "[y/N] "); {
		n, err := user.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(buf[:n])
	}
	if _, err := user.WriteString(answer); err != nil {
		t.Fatal(err)
	}
	return <-done, seen.String()
}

func TestTheTerminalIsAskedBeforeARemoval(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	if err := os.Mkdir(filepath.Join(store, ".chunks"), 0o755); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(store, "..", "a.conf")
	if err := os.WriteFile(source, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	backup := []string{"pbs-like", "backup", "a.conf:" + source, "--backup-id", "x", "--backup-time", "2026-01-15T03:00:00Z", "--datastore", store}
	if code := Run(t.Context(), backup, Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}); code != 0 {
		t.Fatalf("backup: exit code %d", code)
	}
	group := filepath.Join(store, "host", "x")
	want := "Remove group host/x (1 snapshot; 2026-01-15T03:00:00Z) from " + store + "? [y/N] "
	code, shown := removeOnTerminal(t, store, "n\n")
	if _, err := os.Stat(group); code != exitFailed || err != nil || !strings.Contains(shown, want) {
		t.Errorf("answer no: exit code %d, %v, %q", code, err, shown)
	}
	code, _ = removeOnTerminal(t, store, "y\n")
	if _, err := os.Stat(group); code != exitDone || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("answer yes: exit code %d, %v", code, err)
	}
}

func TestAQuestionEndsWithTheContext(t *testing.T) {
	t.Parallel()
	_, tty := terminal(t)
	q := newQuestion(t, Streams{In: tty, Out: io.Discard, Err: tty})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.confirm(ctx, "Remove?"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

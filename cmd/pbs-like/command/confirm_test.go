package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	q, err := p.question(cli.NewContext(nil, nil, &cli.Context{Context: t.Context()}))
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

package dirstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
)

func TestMain(m *testing.M) {
	helperproc.Main(m, map[string]helperproc.Role{"contend": contend, "hold": hold, "script": script, "loop": loop, "mounted": mounted, "ask": ask})
}

// soon is a stale time for tests that watch one go by.
const soon = 1500 * time.Millisecond

func quick(exclusive bool) storelock.Options {
	return storelock.Options{Exclusive: exclusive, Stale: soon, RecheckDelay: 5 * time.Millisecond, Timeout: 25 * time.Second}
}

// referee is a file under flock: who is inside holds it, shared or exclusive. It
// works between processes and knows nothing of our lock.
type referee struct{ f *os.File }

func (r referee) enter(exclusive bool) (violated bool) {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	return unix.Flock(int(r.f.Fd()), how|unix.LOCK_NB) != nil
}

func (r referee) leave() { _ = unix.Flock(int(r.f.Fd()), unix.LOCK_UN) }

// contend takes the lock as often as it is told: DIR REFEREE ROUNDS EVERY, where
// every EVERYth is exclusive. It says when it asked, had it and gave it back.
func contend(ctx context.Context, args []string, io *helperproc.IO) error {
	s, err := dirstore.Open(args[0], dirstore.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	f, err := os.OpenFile(args[1], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	rounds, _ := strconv.Atoi(args[2])
	every, _ := strconv.Atoi(args[3])
	io.Ready()
	if _, err := io.Next(); err != nil {
		return err
	}
	for n := range rounds {
		exclusive := n%every == 0
		asked := time.Now()
		g, err := storelock.Acquire(ctx, s, storelock.Options{Exclusive: exclusive, Timeout: time.Minute})
		if err != nil {
			return err
		}
		had := time.Now()
		violated := referee{f}.enter(exclusive)
		time.Sleep(2 * time.Millisecond)
		referee{f}.leave()
		left := time.Now()
		if err := g.Close(); err != nil {
			return err
		}
		io.Say(fmt.Sprintf("%v %v %d %d %d %d", exclusive, violated, asked.UnixNano(), had.UnixNano(), left.UnixNano(), time.Now().UnixNano()))
	}
	return nil
}

// hold has the lock until it is told to let go, and then says what came of it:
// DIR EXCLUSIVE [STALE].
func hold(ctx context.Context, args []string, io *helperproc.IO) error {
	s, err := dirstore.Open(args[0], dirstore.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	o := quick(args[1] == "true")
	o.HostID = "same"
	if len(args) > 2 {
		o.Stale, _ = time.ParseDuration(args[2])
	}
	g, err := storelock.Acquire(ctx, s, o)
	if err != nil {
		return err
	}
	io.Ready()
	for {
		line, err := io.Next()
		if err != nil {
			return err
		}
		switch line {
		case "check":
			io.Say(word(g.Check(ctx)))
		case "close":
			io.Say(word(g.Close()))
		}
	}
}

func word(err error) string {
	switch {
	case err == nil:
		return "fine"
	case errors.Is(err, storelock.ErrLost):
		return "lost"
	}
	return err.Error()
}

// script goes once through everything with a disk under control: DIR SPEC.
func script(input context.Context, args []string, _ *helperproc.IO) error {
	ctx := context.WithoutCancel(input) // the test waits for the end at once
	disk, err := fsoptest.Parse(args[1], nil, nil)
	if err != nil {
		return err
	}
	s, err := dirstore.Open(args[0], dirstore.Options{Disk: disk.Disk()})
	if err != nil {
		return err
	}
	g, err := storelock.Acquire(ctx, s, storelock.Options{Exclusive: true})
	if err != nil {
		return err
	}
	if err := g.Migrate(ctx, storelock.Owner{}); err != nil {
		return err
	}
	if _, err := storelock.Break(ctx, s, storelock.Options{}, storelock.BreakOptions{}); err != nil {
		return err
	}
	return g.Close()
}

// loop takes and gives back the lock until a signal comes, as a program would: DIR.
func loop(ctx context.Context, args []string, io *helperproc.IO) error {
	// They stay caught to the end: a late one must not hide the error that the role ends with.
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { <-signals; cancel() }()
	s, err := dirstore.Open(args[0], dirstore.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	io.Ready()
	for n := 0; ctx.Err() == nil; n++ {
		o := quick(n%3 == 0)
		g, err := storelock.Acquire(ctx, s, o)
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			return err
		}
		<-time.NewTimer(time.Duration(n%4) * time.Millisecond).C
		if err := g.Close(); err != nil {
			return err
		}
	}
	return nil
}

// ask tries once, and says what came of it: DIR.
func ask(ctx context.Context, args []string, io *helperproc.IO) error {
	s, err := dirstore.Open(args[0], dirstore.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	g, err := storelock.Acquire(ctx, s, storelock.Options{})
	io.Say(word(errors.Join(err, g.Close())))
	return nil
}

func fields(t *testing.T, line string) []int64 {
	t.Helper()
	var ns []int64
	for f := range strings.FieldsSeq(line) {
		switch f {
		case "true":
			ns = append(ns, 1)
		case "false":
			ns = append(ns, 0)
		default:
			n, err := strconv.ParseInt(f, 10, 64)
			must(t, err)
			ns = append(ns, n)
		}
	}
	return ns
}

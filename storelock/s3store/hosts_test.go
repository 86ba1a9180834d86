package s3store_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/s3store"
	"github.com/pbs-like/pbs-like/storelock/storelocktest"
)

func TestMain(m *testing.M) {
	helperproc.Main(m, map[string]helperproc.Role{"host": host})
}

// doorway is a socket in the file system that leads to the server: it reaches into every network.
func doorway(t *testing.T, endpoint string) string {
	t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				out, err := net.Dial("tcp", target.Host)
				if err != nil {
					return
				}
				defer out.Close()
				go func() { _, _ = io.Copy(out, in) }()
				_, _ = io.Copy(in, out)
			}()
		}
	}()
	return path
}

// host is a machine with processes and a network of its own, which has the lock when it is told to:
// DOORWAY ENDPOINT ADDRESS REFEREE HOSTID. It says how often it was not alone.
func host(ctx context.Context, args []string, pipe *helperproc.IO) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", args[0])
	}
	s, err := s3store.Open(args[2], s3store.Options{
		Endpoint: args[1], Region: "us-east-1", AccessKey: storelocktest.AccessKey, SecretKey: storelocktest.SecretKey, Transport: transport,
	})
	if err != nil {
		return err
	}
	referee, err := os.OpenFile(args[3], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer referee.Close()
	opts := hostOptions(args[4])
	pipe.Ready()
	for {
		line, err := pipe.Next()
		if err != nil {
			return nil // the test is over
		}
		var rounds, violations int
		if _, err := fmt.Sscanf(line, "take turns %d", &rounds); err != nil {
			rounds = 1
		}
		for n := range rounds {
			opts.Exclusive = n%3 != 1
			g, err := storelock.Acquire(ctx, s, opts)
			if err != nil {
				return err
			}
			how := map[bool]int{true: unix.LOCK_EX, false: unix.LOCK_SH}[opts.Exclusive]
			if unix.Flock(int(referee.Fd()), how|unix.LOCK_NB) != nil {
				violations++
			}
			if line == "hold" {
				pipe.Say("held")
				if _, err := pipe.Next(); err != nil {
					return nil
				}
				pipe.Say(fmt.Sprint("then: ", g.Check(ctx)))
			}
			_ = unix.Flock(int(referee.Fd()), unix.LOCK_UN)
			if err := g.Close(); err != nil && line != "hold" {
				return err
			}
		}
		pipe.Say(fmt.Sprint("violations: ", violations))
	}
}

func hostOptions(id string) storelock.Options {
	return storelock.Options{HostID: id, Timeout: 25 * time.Second, RecheckDelay: 30 * time.Millisecond, Stale: 1500 * time.Millisecond}
}

// TestTwoHostsTakeTurnsInAnObjectStore has two machines that have nothing in common but the server, and
// the same name and the same number of the process where they are not told another one.
func TestTwoHostsTakeTurnsInAnObjectStore(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, for networks and processes of their own")
	}
	endpoint := server(t)
	door := doorway(t, endpoint)
	for name, ids := range map[string][2]string{"of the same name": {}, "of different names": {"one", "two"}} {
		t.Run(name, func(t *testing.T) {
			judge := filepath.Join(t.TempDir(), "referee")
			if err := os.WriteFile(judge, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			store := open(t, endpoint)
			var hosts [2]*helperproc.Proc
			for i, id := range ids {
				hosts[i] = helperproc.StartWith(t, helperproc.Options{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS},
					"host", door, endpoint, store.String(), judge, id)
			}
			for _, h := range hosts {
				h.WaitReady()
				h.Send("take turns 6")
			}
			for _, h := range hosts {
				h.Expect("violations: 0")
			}
			wantNothing(t, store)

			// One stands still: the other may come after the stale time, and not before.
			hosts[0].Send("hold")
			hosts[0].Expect("held")
			infos, err := storelock.List(t.Context(), store, storelock.Options{})
			if err != nil || len(infos) != 1 || infos[0].PID != 1 || ids[0] != "" && infos[0].HostID != ids[0]+"+pbs-like" || infos[0].Dead {
				t.Errorf("%+v, %v", infos, err)
			}
			hosts[0].Stop()
			// The referee is held by who stands still: only the lock is looked at.
			start := time.Now()
			opts := hostOptions(ids[1])
			opts.Exclusive = true
			g, err := storelock.Acquire(t.Context(), store, opts)
			if took := time.Since(start); err != nil || took < opts.Stale {
				t.Fatalf("after %v: %v", took, err)
			}
			hosts[0].Continue()
			hosts[0].Send("go on")
			if line := hosts[0].Line(); !strings.Contains(line, storelock.ErrLost.Error()) {
				t.Errorf("who stood still goes on: %s", line)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			wantNothing(t, store)
		})
	}
}

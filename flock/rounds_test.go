package flock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/internal/helperproc"
)

// Several processes lock one directory, and every second time they remove it
// while they hold it, so that the others open what is about to go and make it
// anew. What two holders at a time would do to each other shows: a marker that
// only one can make, and a counter without any protection of its own.
func TestManyProcessesNeverHoldADirectoryTogether(t *testing.T) {
	t.Parallel()
	const processes = 4
	rounds := 500
	if testing.Short() {
		rounds = 150
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "counter"), []byte("0"), 0o644); err != nil {
		t.Fatal(err)
	}
	var all []*helperproc.Proc
	for range processes {
		all = append(all, helperproc.Start(t, "rounds", root, strconv.Itoa(rounds)))
	}
	for _, p := range all {
		p.Expect("done")
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	if got, err := readCounter(root); err != nil || got != processes*rounds {
		t.Errorf("counter %d, %v: want %d", got, err, processes*rounds)
	}
}

func roleRounds(_ context.Context, args []string, c *helperproc.IO) error {
	root := args[0]
	rounds, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	dir, err := os.Open(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	for n := range rounds {
		if err := oneRound(dir, n%2 == 0); err != nil {
			return fmt.Errorf("round %d: %w", n, err)
		}
	}
	c.Say("done")
	return nil
}

func oneRound(dir *os.File, remove bool) error {
	g, err := lockOrMake(dir)
	if err != nil {
		return err
	}
	err = count(dir.Name(), g)
	if !remove || err != nil {
		return errors.Join(err, g.Close())
	}
	// Unlinked only after Close: who gets the old directory's lock then must see
	// by its inode that it has the wrong one, not by its having no link.
	trash := fmt.Sprintf("%s/trash.%d", dir.Name(), os.Getpid())
	err = os.Rename(filepath.Join(dir.Name(), "100"), trash)
	return errors.Join(err, g.Close(), os.Remove(trash))
}

// count fails if anybody else counts.
func count(root string, g *ExclusiveGuard) error {
	marker := filepath.Join(root, "inside")
	if err := os.Mkdir(marker, 0o755); err != nil {
		return fmt.Errorf("two holders: %w", err)
	}
	n, err := readCounter(root)
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "counter"), []byte(strconv.Itoa(n+1)), 0o644)
	}
	return errors.Join(err, g.Check(), os.Remove(marker))
}

// widened lets much happen between an attempt's open and its lock, and does not
// look for holders, which would take longer than a round.
func widened() calls {
	c := flockCalls()
	lock := c.lock
	c.lock = func(fd int, m Mode) error {
		time.Sleep(rand.N(200 * time.Microsecond))
		return lock(fd, m)
	}
	c.who = func(int, ident, Kind, Mode) []Holder { return nil }
	return c
}

func lockOrMake(dir *os.File) (*ExclusiveGuard, error) {
	for {
		l, err := widened().acquire(Ref{Dir: dir, Name: "100"}, Exclusive)
		switch {
		case err == nil:
			return &ExclusiveGuard{l}, nil
		case errors.Is(err, fs.ErrNotExist):
			err = os.Mkdir(filepath.Join(dir.Name(), "100"), 0o755)
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, err
			}
		case !errors.Is(err, ErrLocked) && !errors.Is(err, ErrChanged):
			return nil, err
		}
	}
}

func readCounter(root string) (int, error) {
	data, err := os.ReadFile(filepath.Join(root, "counter"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(data))
}

package datastore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// rewriting matches the names under which manifest, owner and notes are written
// before they are renamed into place. Nobody but the writer knows such a file.
var rewriting = regexp.MustCompile(`^(index\.json|owner|notes)\.tmp_[A-Za-z0-9]{6}$`)

const (
	// rewritingTime is longer than anybody needs to write a small file. Those who do
	// don't hold the datastore's lock, so that only its age tells a file that was left.
	rewritingTime = time.Hour
	// maxTemporary bounds how many files a collection remembers; the next one gets the others.
	maxTemporary = 10_000
)

// noteTemporary remembers a file that was left in the middle of a rewrite, perhaps.
func (c *collection) noteTemporary(parent, name string) {
	if rewriting.MatchString(name) && len(c.temporary) < maxTemporary {
		c.temporary = append(c.temporary, path.Join(parent, name))
	}
}

// isAbandoned tells whether a file below dir is old enough to be nobody's.
func isAbandoned(dir *os.File, name string, now time.Time, age time.Duration) (bool, error) {
	stat, err := beneath.Stat(dir, name)
	if err != nil {
		return false, ignoreVanished(err)
	}
	written := time.Unix(stat.Mtim.Unix())
	return stat.Mode&unix.S_IFMT == unix.S_IFREG && now.Sub(written) > age, nil
}

// removeAbandoned removes what a rewrite of an owner or of notes left in a group that was cut off.
func removeAbandoned(disk *fsop.Disk, dir *os.File, name string) error {
	abandoned, err := isAbandoned(dir, name, time.Now(), rewritingTime)
	if err != nil || !abandoned {
		return err
	}
	return ignoreVanished(disk.Remove(dir, name))
}

// surveyLeftovers counts what sweepLeftovers would remove.
func (c *collection) surveyLeftovers(context.Context) error {
	old := c.temporary[:0]
	for _, name := range c.temporary {
		abandoned, err := isAbandoned(c.root, name, c.start, max(c.opts.Cutoff, rewritingTime))
		if err != nil {
			return err
		}
		if abandoned {
			old = append(old, name)
		}
	}
	c.temporary = old
	c.leftovers = len(old) + c.countLeftovers()
	return nil
}

// sweepLeftovers removes what operations left that were cut off, and that nobody works on.
func (c *collection) sweepLeftovers(ctx context.Context) error {
	for _, name := range c.temporary {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := removeBelow(c.disk, c.root, name); err == nil {
			c.report.RemovedLeftovers++
		} else if !errors.Is(err, fs.ErrNotExist) {
			c.Datastore.opts.Events.notice(name, "leftover of an earlier operation could not be removed", err)
		}
	}
	before := c.countLeftovers()
	c.sweep(ctx, c.disk, c.root, c.beside...)
	c.report.RemovedLeftovers += before - c.countLeftovers()
	return ctx.Err()
}

// removeBelow removes a file by its path.
func removeBelow(disk *fsop.Disk, root *os.File, name string) error {
	dir, err := beneath.OpenDir(root, path.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(disk.Remove(dir, path.Base(name)), dir.Close())
}

// countLeftovers counts those that nobody works on.
func (c *collection) countLeftovers() (count int) {
	for _, place := range append([]string{leftoverDir}, c.beside...) {
		dir, err := beneath.OpenDir(c.root, place)
		if err != nil {
			continue
		}
		names, _ := dir.Readdirnames(-1)
		for _, name := range names {
			if isLeftover(name) && isFree(dir, name) {
				count++
			}
		}
		_ = dir.Close() // it was only read
	}
	return count
}

// isFree tells whether nobody works on a leftover, by its lock.
func isFree(dir *os.File, name string) bool {
	if stray, old, err := strayLeftover(dir, name, time.Now()); stray && err == nil {
		return old
	}
	guard, err := lockLeftover(dir, name)
	if err != nil || guard == nil {
		return err != nil // the sweep tells what is wrong
	}
	return guard.Close() == nil
}

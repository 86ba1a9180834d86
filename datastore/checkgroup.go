package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

func (c *checker) groupEntry(ctx context.Context, ns backupinfo.Namespace, kind string, e entry) {
	if strings.HasPrefix(e.name, ".") {
		c.leftoverOrUnknown(ctx, e)
		return
	}
	if !c.directory(e, directoryMode) {
		return
	}
	group, err := backupinfo.ParseGroup(ns, kind+"/"+e.name)
	if err != nil {
		c.badName(ctx, e, err)
		return
	}
	c.group(ctx, e, group)
}

// group looks at what a group has beside its snapshots, and at them.
func (c *checker) group(ctx context.Context, at entry, group backupinfo.Group) {
	c.report.Groups++
	snapshots := 0
	c.eachEntry(ctx, at.path(), func(e entry) {
		time, err := backupinfo.ParseTime(e.name)
		switch {
		case e.name == backupinfo.OwnerName || e.name == backupinfo.NotesName:
			c.file(e)
		case temporary.MatchString(e.name):
			c.tempFile(e, c.removeUnder(ctx, e, func(set *guards) error {
				_, err := lockGroup(set, c.root, group)
				return err
			}))
		case err == nil:
			snapshots++
			c.snapshot(ctx, e, backupinfo.Snapshot{Group: group, Time: time})
		case backupinfo.MatchTime(e.name):
			c.badName(ctx, e, err)
		default:
			c.leftoverOrUnknown(ctx, e)
		}
	})
	if ctx.Err() == nil {
		c.groupItself(at, snapshots)
	}
}

func (c *checker) groupItself(at entry, snapshots int) {
	dir, err := beneath.OpenDir(at.dir, at.name)
	if err != nil {
		return // told by who listed it, or gone
	}
	defer dir.Close()
	c.groupOwner(dir, at.path())
	if snapshots == 0 {
		c.found(FindingEmptyGroup, at.path(), "has no snapshot", nil)
	}
}

func (c *checker) groupOwner(dir *os.File, group string) {
	name := path.Join(group, backupinfo.OwnerName)
	switch _, err := readOwner(dir); {
	case err == nil:
	case trouble(err):
		c.unchecked(name, err)
	case errors.Is(err, fs.ErrNotExist):
		c.found(FindingGroupOwner, name, "is missing", nil)
	case errors.Is(err, beneath.ErrNotRegular): // told already
	default:
		c.found(FindingGroupOwner, name, err.Error(), nil)
	}
}

// tempFile tells of a file that is being written, or was.
func (c *checker) tempFile(e entry, remove func() error) {
	if c.file(e) {
		c.found(FindingTempFile, e.path(), "is being written, or was left by a writer that was cut off", remove)
	}
}

// removeUnder removes a file under the locks of who writes it, so that nobody can be
// writing it. The store's own lock is held already: it keeps writers of chunks away.
func (c *checker) removeUnder(ctx context.Context, e entry, take func(set *guards) error) func() error {
	return func() (err error) {
		if err := c.lock.Check(); err != nil {
			return err
		}
		if take != nil {
			set, err := c.acquireNow(ctx, take)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, set.Close()) }()
		}
		return ignoreVanished(c.disk.Remove(e.dir, e.name))
	}
}

// temporaryInSnapshot matches the names under which files of a snapshot are written
// before they are renamed into place, by us and by the original.
var temporaryInSnapshot = regexp.MustCompile(`\.tmp_([fd]idx|[A-Za-z0-9]{6})$`)

func quoted(name string) string { return strconv.Quote(name) }

func bytesText(n uint64) string { return fmt.Sprintf("%d bytes", n) }

package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// MoveReport is what a move moved, under the new names.
type MoveReport struct {
	// Namespaces are those that were moved, parents first.
	Namespaces []backupinfo.Namespace
	Groups     []backupinfo.Group
	// Snapshots are in the order of their groups.
	Snapshots []backupinfo.Snapshot
	// Merged says that the group was there already, and got the snapshots.
	Merged bool
}

// move is what all moves have in common: it opens the store, and takes L1 shared,
// since a collection that has listed the new place and not yet the old one would
// find neither the snapshot nor what it refers to.
type move struct {
	store  *Datastore
	root   *os.File
	disk   *fsop.Disk
	chunks *chunkstore.Store
	locks  *guards
}

func (d *Datastore) openMove() (m move, err error) {
	d = d.begin()
	m.store = d
	if m.root, m.disk, err = d.openForChange(); err != nil {
		return m, err
	}
	if m.chunks, err = chunkstore.Open(m.root, chunkstore.Options{Disk: m.disk}); err != nil {
		err = errors.Join(err, m.root.Close())
	}
	return m, err
}

// lock takes L1, and what take takes.
func (m *move) lock(ctx context.Context, take func(set *guards) error) (err error) {
	m.locks, err = m.store.acquire(ctx, func(set *guards) error {
		if err := lockStoreShared(ctx, set, m.chunks); err != nil {
			return err
		}
		return take(set)
	})
	if err == nil {
		m.store.say(m.locks, "move", "", "")
	}
	return err
}

func (m *move) Close() error {
	return errors.Join(m.locks.Close(), m.chunks.Close(), m.root.Close())
}

// rename moves one directory that has to stay alive. What has the new name by now stays, and is fs.ErrExist.
func (m *move) rename(ctx context.Context, from *os.File, name string, to *os.File, newName string, moves ...relocation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.announce(ctx, moves...); err != nil {
		return err
	}
	err := m.disk.Rename(from, name, to, newName)
	if errors.Is(err, unix.EXDEV) || errors.Is(err, unix.EBUSY) {
		err = fmt.Errorf("its old and its new place are on different file systems, which a move can't bridge: %w", err)
	}
	return err
}

// sync makes renames durable. The new place comes first: what a power cut then
// leaves has the directory in one of the two, or in both, and never in none.
func (m *move) sync(from, to *os.File) error {
	if err := errors.Join(m.disk.SyncDir(to), m.disk.SyncDir(from)); err != nil {
		return fmt.Errorf("it is moved, which may not be on disk yet: %w", err)
	}
	return nil
}

// checkSameDisk refuses what a rename can't move, before anything is changed: what
// moves is compared with its old place, and with the first of the new ones that is there.
func (m *move) checkSameDisk(name, from string, to ...string) error {
	names := []string{name, from}
	for _, place := range to {
		there, err := exists(m.root, place)
		if err != nil {
			return err
		}
		if there {
			names = append(names, place)
			break
		}
	}
	var devices []uint64
	for _, name := range names {
		// Opened, because a symbolic link is no place.
		dir, err := beneath.OpenDir(m.root, name)
		if err != nil {
			return err
		}
		id, err := identityOf(dir)
		if err := errors.Join(err, dir.Close()); err != nil {
			return err
		}
		devices = append(devices, id.dev)
	}
	if len(slices.Compact(devices)) > 1 {
		return fmt.Errorf("%q: its old and its new place are on different file systems, which a move can't bridge", name)
	}
	return nil
}

// taken makes ErrExists of the refusal to rename over something.
func taken(err error, kind, name string) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s %q %w", kind, name, ErrExists)
	}
	return err
}

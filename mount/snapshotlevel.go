package mount

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// snapshotLevel are the archives of a snapshot.
type snapshotLevel struct {
	fsys     *filesystem
	snapshot backupinfo.Snapshot
	only     backupinfo.ArchiveName // nothing else is shown; zero is all
}

func (l snapshotLevel) path() string { return l.snapshot.Dir() }

// there takes no lock: that a snapshot is listed says nothing of what is in it.
func (l snapshotLevel) there(ctx context.Context) (time.Time, error) {
	at := l.snapshot.Time.Clock()
	info, err := l.fsys.store.Snapshot(ctx, l.snapshot)
	if err == nil && !info.Finished {
		err = fmt.Errorf("snapshot %q is %w", l.snapshot.Dir(), datastore.ErrUnfinished)
	}
	return at, err
}

// shown is an archive under the name that it is shown by.
type shown struct {
	name string
	file backupinfo.ArchiveName
	tree bool
}

func (l snapshotLevel) list(ctx context.Context) (items []item, hidden int, first error, err error) {
	err = l.with(ctx, func(_ *lease, all []shown) error {
		for _, s := range all {
			mode := uint32(syscall.S_IFREG)
			if s.tree {
				mode = syscall.S_IFDIR
			}
			items = append(items, item{s.name, mode})
		}
		return nil
	})
	return items, 0, nil, err
}

func (l snapshotLevel) find(ctx context.Context, name string) (what found, err error) {
	err = l.with(ctx, func(lease *lease, all []shown) (err error) {
		for _, s := range all {
			if s.name == name {
				what, err = l.fsys.open(ctx, lease, s)
				return err
			}
		}
		return noSuch("archive", name)
	})
	return what, err
}

func (l snapshotLevel) with(ctx context.Context, do func(*lease, []shown) error) error {
	lease, err := l.fsys.leases.acquire(ctx, l.snapshot)
	if err != nil {
		return err
	}
	defer lease.release(0)
	return do(lease, l.shown(ctx, lease))
}

// shown are the archives of the snapshot. Names on disk are unique, and those of users need not be.
func (l snapshotLevel) shown(ctx context.Context, lease *lease) []shown {
	var all []shown
	times := map[string]int{}
	for _, s := range candidates(archiveNames(ctx, lease), l.fsys.opts.Raw) {
		all = append(all, s)
		times[s.name]++
	}
	for i, s := range all {
		if times[s.name] > 1 {
			all[i].name = s.file.File()
		}
	}
	if l.only == (backupinfo.ArchiveName{}) {
		return all
	}
	return slices.DeleteFunc(all, func(s shown) bool { return !s.is(l.only) })
}

// is tells whether a user who says name means the archive. A tree is meant by any of its files, and by the
// name that it would have as a single one.
func (s shown) is(name backupinfo.ArchiveName) bool {
	if s.file == name {
		return true
	}
	base, split := strings.CutSuffix(s.file.File(), entriesSuffix)
	return s.tree && split && (name.File() == base+payloadSuffix || name.File() == base+treeSuffix && s.name == base+".pxar")
}

// archiveNames are what the manifest lists, the manifest itself, and the client's log where it is there.
func archiveNames(ctx context.Context, lease *lease) (names []backupinfo.ArchiveName) {
	for _, file := range lease.reader.Files() {
		if name, err := backupinfo.ParseFileName(file.Name); err == nil { // which the manifest has checked
			names = append(names, name)
		}
	}
	if _, listed := lease.reader.Manifest().File(backupinfo.ClientLogName); listed {
		return names
	}
	log, err := backupinfo.ParseFileName(backupinfo.ClientLogName)
	if err != nil {
		return names
	}
	if _, err := lease.open(ctx, log); errors.Is(err, datastore.ErrNotFound) {
		return names
	}
	return append(names, log)
}

const (
	treeSuffix    = ".pxar.didx"
	entriesSuffix = ".mpxar.didx"
	payloadSuffix = ".ppxar.didx"
)

// candidates are the archives under the names that are theirs if nobody else has them. The two halves of a
// tree are one.
func candidates(names []backupinfo.ArchiveName, raw bool) (all []shown) {
	there := map[string]bool{}
	for _, n := range names {
		there[n.File()] = true
	}
	for _, n := range names {
		s := shown{name: n.Display(), file: n}
		switch {
		case raw:
		case strings.HasSuffix(n.File(), treeSuffix):
			s.tree = true
		case strings.HasSuffix(n.File(), entriesSuffix):
			base := strings.TrimSuffix(n.File(), entriesSuffix)
			if s.tree = true; !there[base+treeSuffix] {
				s.name = base + ".pxar"
			}
		case strings.HasSuffix(n.File(), payloadSuffix) && there[strings.TrimSuffix(n.File(), payloadSuffix)+entriesSuffix]:
			continue
		}
		all = append(all, s)
	}
	return all
}

// open makes an archive of an open snapshot a file or a directory.
func (f *filesystem) open(ctx context.Context, lease *lease, s shown) (found, error) {
	if s.tree {
		return f.openTree(ctx, lease, s)
	}
	return f.openFile(ctx, lease, s)
}

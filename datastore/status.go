package datastore

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// StatusOptions are how much a status tells.
type StatusOptions struct {
	// Chunks counts the chunks too: one read of each chunk directory.
	Chunks bool
}

// Status are the figures of a store.
type Status struct {
	// FileSystem is the type of the file system that the store is on, and whom locks on it reach.
	FileSystem flock.FS
	// Total, Used and Available are its bytes. Available is what this user may still write.
	Total, Used, Available uint64
	// Inodes and InodesFree are how many files it can hold, and how many more; both
	// are 0 where it has no fixed number.
	Inodes, InodesFree uint64

	// Namespaces counts the root too. Snapshots are the finished ones.
	Namespaces, Groups, Snapshots, Unfinished int
	// Newest is the time of the newest finished snapshot, 0 without one.
	Newest backupinfo.Time
	// Chunks is the number of chunks, where it was asked for, else -1.
	Chunks int
	// Unread is what could not be read and is in no figure.
	Unread []*EntryError

	// Collection is the last collection.
	Collection CollectionStatus
}

// CollectionState is what became of the last collection.
type CollectionState string

// The states of a collection.
const (
	CollectionNever   CollectionState = "never"   // there is no trace of one
	CollectionDone    CollectionState = "done"    // it came to its end
	CollectionRunning CollectionState = "running" // one is at work now
	CollectionAborted CollectionState = "aborted" // it was cut off; the next one begins anew
	CollectionUnknown CollectionState = "unknown" // what it left can't be read
)

// CollectionStatus is what the last collection left behind, in the file .gc-status.
type CollectionStatus struct {
	State CollectionState
	// Time is when it came to its end, or when it began where it did not.
	Time time.Time
	// Figures are those of the last one that came to its end, by us or by a server; nil without one.
	Figures *CollectionFigures
	// Err is why the state is unknown.
	Err error
}

// Status gives the figures of the store. It takes no lock and writes nothing, and
// reads directories only: no index and, but with Chunks, none of the 65,536 directories of chunks.
func (d *Datastore) Status(ctx context.Context, opts StatusOptions) (Status, error) {
	root, err := d.openRoot()
	if err != nil {
		return Status{}, err
	}
	defer root.Close()
	s := Status{Chunks: -1}
	if err := s.space(root); err != nil {
		return s, err
	}
	s.Collection = lastCollection(root)
	if err := d.countObjects(ctx, root, &s); err != nil {
		return s, err
	}
	if opts.Chunks {
		s.Chunks, err = countChunks(ctx, root)
	}
	return s, err
}

func (s *Status) space(root *os.File) (err error) {
	if s.FileSystem, err = flock.Reach(root); err != nil {
		return err
	}
	var st unix.Statfs_t
	for {
		err = unix.Fstatfs(int(root.Fd()), &st)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return &fs.PathError{Op: "statfs", Path: root.Name(), Err: err}
	}
	unit := uint64(st.Frsize)
	if unit == 0 {
		unit = uint64(st.Bsize)
	}
	s.Total, s.Available, s.Used = st.Blocks*unit, st.Bavail*unit, (st.Blocks-st.Bfree)*unit
	s.Inodes, s.InodesFree = st.Files, st.Ffree
	if s.Inodes == 0 { // btrfs makes them as they are needed
		s.InodesFree = 0
	}
	return nil
}

// countObjects counts what there is, by one read of each directory and one look for
// the manifest of each snapshot.
func (d *Datastore) countObjects(ctx context.Context, root *os.File, s *Status) error {
	return d.eachGroup(ctx, root, groupVisitor{
		namespace: func() { s.Namespaces++ },
		group:     func(group backupinfo.Group) error { s.countGroup(root, group); return nil },
		broken:    s.unread,
	})
}

// unread keeps what a walk goes on after.
func (s *Status) unread(err error) error {
	entry, ok := errors.AsType[*EntryError](err)
	if !ok {
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		s.Unread = append(s.Unread, entry)
	}
	return nil
}

func (s *Status) countGroup(root *os.File, group backupinfo.Group) {
	dir, err := openGroup(root, group)
	if err != nil {
		if !errors.Is(err, ErrNotFound) {
			s.Unread = append(s.Unread, &EntryError{Path: group.Dir(), Err: err})
		}
		return
	}
	defer dir.Close()
	s.Groups++
	times, _, err := snapshotTimes(dir, group)
	if err != nil {
		s.Unread = append(s.Unread, &EntryError{Path: group.Dir(), Err: err})
		return
	}
	for _, time := range times {
		switch finished, err := isFinished(dir, time.String()); {
		case err != nil:
			s.Unread = append(s.Unread, &EntryError{Path: path.Join(group.Dir(), time.String()), Err: err})
		case finished:
			s.Snapshots++
			s.Newest = max(s.Newest, time)
		default:
			s.Unfinished++
		}
	}
}

func countChunks(ctx context.Context, root *os.File) (count int, err error) {
	chunks, err := chunkstore.Open(root, chunkstore.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, chunks.Close()) }()
	err = chunks.Walk(ctx, nil, func(d *chunkstore.Directory) error {
		for _, f := range d.Files {
			if f.Kind == chunkstore.ChunkFile {
				count++
			}
		}
		return nil
	})
	return count, err
}

// lastCollection tells what the last collection left.
func lastCollection(root *os.File) CollectionStatus {
	s := CollectionStatus{State: CollectionNever}
	switch stat, err := beneath.Stat(root, statusName); {
	case err == nil:
		s.State, s.Time = CollectionDone, time.Unix(stat.Mtim.Unix())
		if s.Figures, err = readFigures(root); err != nil {
			s.State, s.Err = CollectionUnknown, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		s.State, s.Err = CollectionUnknown, err
	}
	if begun, there := begunCollection(root); there {
		s.State, s.Time, s.Err = CollectionAborted, begun, nil
		if heldExclusively(root) {
			s.State = CollectionRunning
		}
	}
	return s
}

func readFigures(root *os.File) (*CollectionFigures, error) {
	text, err := readBounded(root, statusName, maxStatusSize)
	if err != nil {
		return nil, err
	}
	figures := new(CollectionFigures)
	if err := json.Unmarshal(text, figures); err != nil {
		return nil, err
	}
	return figures, nil
}

// begunCollection finds the file in which a collection is going to leave its figures.
func begunCollection(root *os.File) (begun time.Time, there bool) {
	dir, err := beneath.OpenDir(root, ".")
	if err != nil {
		return begun, false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if !strings.HasPrefix(name, statusName+".tmp_") {
			continue
		}
		if stat, err := beneath.Stat(root, name); err == nil {
			begun, there = time.Unix(stat.Mtim.Unix()), true
		}
	}
	return begun, there
}

// heldExclusively tells whether somebody has the store's lock for himself, without asking for it.
func heldExclusively(root *os.File) bool {
	f, err := beneath.OpenRegular(root, lockFileName)
	if err != nil {
		return false
	}
	defer f.Close()
	holders, err := flock.Holders(f)
	if err != nil {
		return false
	}
	for _, holder := range holders {
		if holder.Mode == flock.Exclusive {
			return true
		}
	}
	return false
}

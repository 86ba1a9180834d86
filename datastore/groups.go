package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// GroupInfo is what a listing tells about a group.
type GroupInfo struct {
	Group backupinfo.Group
	// Owner is empty where the owner file is missing or damaged; Err says which.
	Owner backupinfo.AuthID
	// Comment is the first line of the group's notes.
	Comment string
	// Count is the number of snapshots, finished or not.
	Count int
	// LastBackup is the time of the newest finished snapshot, 0 where there is none.
	LastBackup backupinfo.Time
	// Files are the archives of that snapshot.
	Files []string
	// Err is what is broken about the group. The other fields hold what could be read.
	Err error
}

// Groups lists the groups of one namespace in order. A namespace that does not
// exist is [ErrNotFound]; an [EntryError] stands for one entry that is no group.
func (d *Datastore) Groups(ctx context.Context, ns backupinfo.Namespace) iter.Seq2[GroupInfo, error] {
	return func(yield func(GroupInfo, error) bool) {
		root, err := d.openRoot()
		if err != nil {
			yield(GroupInfo{}, err)
			return
		}
		defer root.Close()
		if err := checkNamespace(root, ns); err != nil {
			yield(GroupInfo{}, err)
			return
		}
		for _, kind := range backupinfo.Types() {
			groups, broken := groupsOfType(root, ns, kind)
			for _, err := range broken {
				if !yield(GroupInfo{}, err) {
					return
				}
			}
			if !yieldGroups(ctx, root, groups, yield) {
				return
			}
		}
	}
}

func yieldGroups(ctx context.Context, root *os.File, groups []backupinfo.Group, yield func(GroupInfo, error) bool) bool {
	for _, group := range groups {
		if err := ctx.Err(); err != nil {
			yield(GroupInfo{}, err)
			return false
		}
		info, err := readGroup(root, group)
		if errors.Is(err, ErrNotFound) {
			continue // removed since its directory was read
		}
		if err != nil {
			err = &EntryError{Path: group.Dir(), Err: err}
		}
		if !yield(info, err) {
			return false
		}
	}
	return true
}

func groupsOfType(root *os.File, ns backupinfo.Namespace, kind backupinfo.Type) ([]backupinfo.Group, []error) {
	dir := typeDir(ns, kind)
	names, links, err := readDirectory(root, dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, []error{&EntryError{Path: dir, Err: err}}
	}
	var broken []error
	for _, link := range links {
		broken = append(broken, link)
	}
	groups := make([]backupinfo.Group, 0, len(names))
	for _, name := range names {
		group, err := backupinfo.ParseGroup(ns, string(kind)+"/"+name)
		if err != nil {
			broken = append(broken, &EntryError{Path: path.Join(dir, name), Err: err})
			continue
		}
		groups = append(groups, group)
	}
	slices.SortFunc(groups, func(a, b backupinfo.Group) int {
		if order := a.Compare(b); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID) // 7 and 007 are equal in number, and still two groups
	})
	return groups, broken
}

// Group tells about one group.
func (d *Datastore) Group(ctx context.Context, group backupinfo.Group) (GroupInfo, error) {
	if err := ctx.Err(); err != nil {
		return GroupInfo{}, err
	}
	root, err := d.openRoot()
	if err != nil {
		return GroupInfo{}, err
	}
	defer root.Close()
	return readGroup(root, group)
}

// readGroup reads a group's directory once. Only the newest snapshots are
// looked at, until one is finished.
func readGroup(root *os.File, group backupinfo.Group) (GroupInfo, error) {
	dir, err := openGroup(root, group)
	if err != nil {
		return GroupInfo{}, err
	}
	defer dir.Close()
	info := GroupInfo{Group: group}
	info.Owner, info.Err = readOwner(dir)
	info.Comment = firstLine(readNotes(dir))
	times, broken, err := snapshotTimes(dir, group)
	if err != nil {
		return info, notFound(err, "group", group.Dir()) // removed while we looked
	}
	for _, entry := range broken {
		info.Err = errors.Join(info.Err, entry)
	}
	info.Count = len(times)
	for _, time := range slices.Backward(times) {
		finished, err := isFinished(dir, time.String())
		if err != nil {
			info.Err = errors.Join(info.Err, err)
		}
		if !finished {
			continue
		}
		files, err := archiveNames(dir, time.String())
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed while we looked
		}
		info.LastBackup, info.Files, info.Err = time, files, errors.Join(info.Err, err)
		break
	}
	return info, nil
}

// withGroup opens the root and a group for the length of one look at it.
func (d *Datastore) withGroup(ctx context.Context, group backupinfo.Group, look func(dir *os.File) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, err := d.openRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := openGroup(root, group)
	if err != nil {
		return err
	}
	defer dir.Close()
	return look(dir)
}

func openGroup(root *os.File, group backupinfo.Group) (*os.File, error) {
	if err := checkNamespace(root, group.Namespace); err != nil {
		return nil, err
	}
	dir, err := beneath.OpenDir(root, group.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotFoundError{Kind: "group", Name: group.Dir()}
	}
	return dir, err
}

// snapshotTimes lists the snapshots of an open group, oldest first. Directories
// whose names are no canonical times are given back as broken entries.
func snapshotTimes(dir *os.File, group backupinfo.Group) ([]backupinfo.Time, []error, error) {
	again, err := beneath.OpenDir(dir, ".") // a directory's read position belongs to its open file
	if err != nil {
		return nil, nil, err
	}
	defer again.Close()
	names, links, err := subdirectories(again, group.Dir())
	if err != nil {
		return nil, nil, err
	}
	var broken []error
	for _, link := range links {
		if backupinfo.MatchTime(path.Base(link.Path)) {
			broken = append(broken, link)
		}
	}
	times := make([]backupinfo.Time, 0, len(names))
	for _, name := range names {
		time, err := backupinfo.ParseTime(name)
		if err != nil {
			// What does not even look like a time is none of ours.
			if backupinfo.MatchTime(name) {
				broken = append(broken, &EntryError{Path: path.Join(group.Dir(), name), Err: err})
			}
			continue
		}
		times = append(times, time)
	}
	slices.Sort(times)
	return times, broken, nil
}

// isFinished tells whether a snapshot has a manifest. A manifest that is no
// regular file is an error, not a missing one.
func isFinished(group *os.File, snapshot string) (bool, error) {
	stat, err := beneath.Stat(group, path.Join(snapshot, backupinfo.ManifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return false, fmt.Errorf("manifest of %q: %w", snapshot, beneath.ErrNotRegular)
	}
	return true, nil
}

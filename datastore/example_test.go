package datastore_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// A disk image is backed up, listed, restored and removed.
func Example() {
	if err := tour(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// vm/100 1
	// vm/100/2026-01-15T03:00:00Z true
	// the content of a disk
	// 1 snapshot removed
}

func tour(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// What datastore.Create makes has 65,536 directories more. They are made as they are needed, too.
	if err := os.Mkdir(filepath.Join(dir, ".chunks"), 0o750); err != nil {
		return err
	}
	store, err := datastore.Open(dir, datastore.Options{OnlyHost: true})
	if err != nil {
		return err
	}
	if err := backUpDisk(ctx, store, "the content of a disk"); err != nil {
		return err
	}
	for group, err := range store.Groups(ctx, backupinfo.Namespace{}) {
		if err != nil {
			return err
		}
		fmt.Println(group.Group, group.Count)
		for snapshot, err := range store.Snapshots(ctx, group.Group) {
			if err != nil {
				return err
			}
			fmt.Println(snapshot.Snapshot, snapshot.Finished)
			if err := printDisk(ctx, store, snapshot.Snapshot, datastore.ReadOptions{}); err != nil {
				return err
			}
		}
		report, err := store.RemoveGroup(ctx, group.Group, datastore.RemoveGroupOptions{})
		if err != nil {
			return err
		}
		fmt.Println(len(report.Snapshots), "snapshot removed")
	}
	return nil
}

func backUpDisk(ctx context.Context, store *datastore.Datastore, disk string) error {
	snapshot, err := backupinfo.ParseSnapshot(backupinfo.Namespace{}, "vm/100/2026-01-15T03:00:00Z")
	if err != nil {
		return err
	}
	w, err := store.Backup(ctx, snapshot.Group, datastore.BackupOptions{Time: snapshot.Time})
	if err != nil {
		return err
	}
	defer w.Close() // gives the snapshot up, unless it was committed
	name, err := backupinfo.ParseArchiveName("disk.img")
	if err != nil {
		return err
	}
	if _, err := w.AddImage(ctx, name, strings.NewReader(disk), int64(len(disk))); err != nil {
		return err
	}
	_, err = w.Commit(ctx)
	return err
}

func printDisk(ctx context.Context, store *datastore.Datastore, snapshot backupinfo.Snapshot, opts datastore.ReadOptions) error {
	reader, err := store.OpenSnapshot(ctx, snapshot, opts)
	if err != nil {
		return err
	}
	defer reader.Close() // until then nobody can remove it
	name, err := backupinfo.ParseArchiveName("disk.img")
	if err != nil {
		return err
	}
	archive, err := reader.OpenArchive(ctx, name)
	if err != nil {
		return err
	}
	defer archive.Close()
	var content bytes.Buffer
	if _, err := archive.CopyTo(ctx, &content, datastore.RestoreOptions{}); err != nil {
		return err
	}
	fmt.Println(content.String())
	return nil
}

// A group is moved to a namespace of its own, and the namespace gets another name.
func ExampleDatastore_MoveGroup() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := moveAway(context.Background(), dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ns/archive/vm/100/2026-01-15T03:00:00Z
	// ns/old/vm/100/2026-01-15T03:00:00Z
}

func moveAway(ctx context.Context, dir string) error {
	if err := os.Mkdir(filepath.Join(dir, ".chunks"), 0o750); err != nil {
		return err
	}
	store, err := datastore.Open(dir, datastore.Options{OnlyHost: true})
	if err != nil {
		return err
	}
	if err := backUpDisk(ctx, store, "the content of a disk"); err != nil {
		return err
	}
	group, err := backupinfo.ParseGroup(backupinfo.Namespace{}, "vm/100")
	if err != nil {
		return err
	}
	archive, err := backupinfo.ParseNamespace("archive")
	if err != nil {
		return err
	}
	if err := store.CreateNamespace(ctx, archive, datastore.CreateNamespaceOptions{}); err != nil {
		return err
	}
	report, err := store.MoveGroup(ctx, group, archive, datastore.MoveOptions{})
	if err != nil {
		return err
	}
	fmt.Println(report.Snapshots[0].Dir())
	old, err := backupinfo.ParseNamespace("old")
	if err != nil {
		return err
	}
	report, err = store.MoveNamespace(ctx, archive, old, datastore.MoveNamespaceOptions{})
	if err == nil {
		fmt.Println(report.Snapshots[0].Dir())
	}
	return err
}

// The group is locked while something else works with it, and the lock is shown.
func ExampleDatastore_Locks() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := holdAndShow(context.Background(), dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// group vm/100 directory exclusive true
}

func holdAndShow(ctx context.Context, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, ".chunks"), 0o750); err != nil {
		return err
	}
	store, err := datastore.Open(dir, datastore.Options{OnlyHost: true})
	if err != nil {
		return err
	}
	if err := backUpDisk(ctx, store, "the content of a disk"); err != nil {
		return err
	}
	object, err := backupinfo.ParseObject(backupinfo.Namespace{}, "vm/100")
	if err != nil {
		return err
	}
	held, err := store.Hold(ctx, object, datastore.HoldOptions{Message: "its disk is moved"})
	if err != nil {
		return err
	}
	defer held.Close()
	for lock, err := range store.Locks(ctx, datastore.LocksOptions{}) {
		if err != nil {
			return err
		}
		fmt.Println(lock.Resource, lock.Object, lock.Means, lock.Holder.Mode, lock.Holder.PID == os.Getpid())
	}
	return nil
}

package datastore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// withDisk gives an example a store with the backup of one disk.
func withDisk(example func(ctx context.Context, store *datastore.Datastore) error) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	err = os.Mkdir(filepath.Join(dir, ".chunks"), 0o750)
	var store *datastore.Datastore
	if err == nil {
		store, err = datastore.Open(dir, datastore.Options{OnlyHost: true})
	}
	if err == nil {
		err = backUpDisk(ctx, store, "the content of a disk")
	}
	if err == nil {
		err = example(ctx, store)
	}
	if err != nil {
		fmt.Println(err)
	}
}

func ExampleDatastore_Status() {
	withDisk(func(ctx context.Context, store *datastore.Datastore) error {
		status, err := store.Status(ctx, datastore.StatusOptions{Chunks: true})
		fmt.Println(status.Groups, status.Snapshots, status.Chunks, status.Collection.State)
		return err
	})
	// Output: 1 1 1 never
}

func ExampleDatastore_Check() {
	withDisk(func(ctx context.Context, store *datastore.Datastore) error {
		_, err := store.Check(ctx, datastore.CheckOptions{Each: func(f datastore.Finding) {
			fmt.Println(f.Severity, f.Kind, f.Path, f.Repairable)
		}})
		return err
	})
	// Output: warning chunk-dirs-missing .chunks true
}

func ExampleDatastore_Sizes() {
	withDisk(func(ctx context.Context, store *datastore.Datastore) error {
		report, err := store.Sizes(ctx)
		for _, group := range report.Groups {
			fmt.Println(group.Group, group.Snapshots, group.Logical, group.Chunks, group.Missing)
		}
		return err
	})
	// Output: vm/100 1 21 1 0
}

func ExampleDatastore_Verify() {
	withDisk(func(ctx context.Context, store *datastore.Datastore) error {
		_, err := store.Verify(ctx, datastore.VerifyOptions{Depth: -1, Each: func(v datastore.SnapshotVerdict) {
			fmt.Println(v.Snapshot, v.Verdict)
		}})
		return err
	})
	// Output: vm/100/2026-01-15T03:00:00Z ok
}

func ExampleDatastore_Collect() {
	withDisk(func(ctx context.Context, store *datastore.Datastore) error {
		report, err := store.Collect(ctx, datastore.CollectOptions{})
		fmt.Println(report.IndexFiles, report.DiskChunks, report.RemovedChunks)
		return err
	})
	// Output: 1 1 0
}

func ExampleDatastore_Prune() {
	withDisk(func(ctx context.Context, store *datastore.Datastore) error {
		group, err := backupinfo.ParseGroup(backupinfo.Namespace{}, "vm/100")
		if err != nil {
			return err
		}
		report, err := store.Prune(ctx, group, datastore.PruneOptions{Keep: backupinfo.KeepOptions{Last: 1}})
		for _, s := range report.Snapshots {
			fmt.Println(s.Outcome)
		}
		return err
	})
	// Output: kept
}

func ExampleInspectIndex() {
	withDisk(func(ctx context.Context, store *datastore.Datastore) error {
		name := filepath.Join(store.Path(), "vm/100/2026-01-15T03:00:00Z/disk.img.fidx")
		x, err := datastore.InspectIndex(ctx, name, datastore.InspectIndexOptions{Store: store})
		fmt.Println(x.Size, x.Count, x.Missing, x.Err())
		return err
	})
	// Output: 21 1 0 <nil>
}

package datastore_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/pxar"
)

// A directory tree is backed up twice. The second time only what has changed is read.
func ExampleSnapshotWriter_BeginTree() {
	withDisk(func(ctx context.Context, store *datastore.Datastore) error {
		for changed := range int64(2) {
			stats, err := backUpHome(ctx, store, changed)
			if err != nil {
				return err
			}
			fmt.Println(stats.Files, "files,", stats.ReusedFiles, "of them not read")
		}
		return nil
	})
	// Output:
	// 2 files, 0 of them not read
	// 2 files, 1 of them not read
}

func backUpHome(ctx context.Context, store *datastore.Datastore, changed int64) (datastore.TreeStats, error) {
	var none datastore.TreeStats
	group, err := backupinfo.ParseGroup(backupinfo.Namespace{}, "host/laptop")
	if err != nil {
		return none, err
	}
	name, err := backupinfo.ParseArchiveName("home.pxar")
	if err != nil {
		return none, err
	}
	w, err := store.Backup(ctx, group, datastore.BackupOptions{})
	if err != nil {
		return none, err
	}
	defer w.Close()
	tree, err := w.BeginTree(ctx, name, datastore.TreeOptions{ChangeDetection: datastore.ChangeDetectionMetadata})
	if err != nil {
		return none, err
	}
	defer tree.Close()
	if err := walkHome(tree, changed); err != nil {
		return none, err
	}
	stats, err := tree.Finish()
	if err != nil {
		return none, err
	}
	_, err = w.Commit(ctx)
	return stats, err
}

// walkHome stands for a walk over a directory, such as package archiver does.
func walkHome(tree *datastore.TreeWriter, changed int64) error {
	directory := pxar.Metadata{Stat: pxar.Stat{Mode: 0o40755}}
	if err := tree.Begin(&directory); err != nil {
		return err
	}
	if err := tree.Add("documents", &pxar.Entry{Kind: pxar.Directory, Metadata: directory}); err != nil {
		return err
	}
	for _, file := range []struct {
		name    string
		changed int64
		text    string
	}{{"letter", 0, strings.Repeat("Dear reader, ", 1000)}, {"note", changed, "remember the milk"}} {
		metadata := pxar.Metadata{Stat: pxar.Stat{Mode: 0o100644, Seconds: file.changed}}
		content := io.NopCloser(strings.NewReader(file.text))
		if err := tree.AddFile(file.name, &metadata, uint64(len(file.text)), content, false); err != nil {
			return err
		}
	}
	return tree.Leave()
}

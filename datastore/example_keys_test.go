package datastore_test

import (
	"bytes"
	"context"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/keys"
)

// A file is encrypted with a key, and can be read only with it.
func ExampleBackupOptions_key() {
	withDisk(func(ctx context.Context, store *datastore.Datastore) error {
		key, err := keys.Generate()
		if err != nil {
			return err
		}
		snapshot, err := backUpSecret(ctx, store, key)
		if err != nil {
			return err
		}
		return printDisk(ctx, store, snapshot, datastore.ReadOptions{Key: key})
	})
	// Output: a secret
}

func backUpSecret(ctx context.Context, store *datastore.Datastore, key *keys.Key) (backupinfo.Snapshot, error) {
	group, err := backupinfo.ParseGroup(backupinfo.Namespace{}, "vm/200")
	if err != nil {
		return backupinfo.Snapshot{}, err
	}
	w, err := store.Backup(ctx, group, datastore.BackupOptions{Key: key})
	if err != nil {
		return backupinfo.Snapshot{}, err
	}
	defer w.Close()
	name, err := backupinfo.ParseArchiveName("disk.img")
	if err != nil {
		return backupinfo.Snapshot{}, err
	}
	if _, err := w.AddImage(ctx, name, bytes.NewReader([]byte("a secret")), 8); err != nil {
		return backupinfo.Snapshot{}, err
	}
	if _, err := w.Commit(ctx); err != nil {
		return backupinfo.Snapshot{}, err
	}
	return store.Latest(ctx, group)
}

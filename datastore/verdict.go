package datastore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// record writes a verdict into the manifest of a snapshot that the caller holds
// open. The manifest is read again under its lock: notes may have come in. If it
// lists other files by now, the verdict is about something else.
func (v *verification) record(ctx context.Context, reader *SnapshotReader, verdict Verdict) (err error) {
	set := &guards{}
	if err := v.lockManifest(ctx, set, reader.root, reader.snapshot); err != nil {
		return errors.Join(err, set.Close())
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	manifests := newManifestReader()
	defer manifests.Close()
	manifest, _, err := manifests.read(reader.dir)
	if err != nil {
		return err
	}
	if !slices.Equal(manifest.Files(), reader.manifest.Files()) {
		return fmt.Errorf("snapshot %q has another manifest than when it was verified", reader.snapshot.Dir())
	}
	state := backupinfo.VerifyState{State: backupinfo.VerifyResult(verdict), UPID: v.report.UPID}
	if err := manifest.SetVerifyState(state); err != nil {
		return err
	}
	stored, err := encodeManifest(manifest)
	if err != nil {
		return err
	}
	if err := v.disk.WriteFile(reader.dir, backupinfo.ManifestName, stored, fileMode); err != nil {
		return err
	}
	return removeTemporary(v.disk, reader.dir, fsop.TempPrefix(backupinfo.ManifestName))
}

// removeTemporary removes the files of rewrites that were cut off. Under the
// manifest's lock there is no other rewrite.
func removeTemporary(disk *fsop.Disk, dir *os.File, prefix string) error {
	again, err := beneath.OpenDir(dir, ".") // a directory's read position belongs to its open file
	if err != nil {
		return err
	}
	defer again.Close()
	names, err := again.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			if err := ignoreVanished(disk.Remove(again, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

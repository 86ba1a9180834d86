package datastore

import (
	"context"
	"errors"
	"slices"

	"github.com/pbs-like/pbs-like/backupinfo"
)

// record writes a verdict into the manifest of a snapshot that the caller holds
// open. The manifest is read again under its lock: notes may have come in. If it
// lists other files by now, the verdict is about something else.
func (v *verification) record(ctx context.Context, reader *SnapshotReader, verdict Verdict) error {
	state := backupinfo.VerifyState{State: backupinfo.VerifyResult(verdict), UPID: v.report.UPID}
	return v.rewriteManifest(ctx, reader.root, v.disk, reader.snapshot, func(manifest *backupinfo.Manifest) error {
		if !slices.Equal(manifest.Files(), reader.manifest.Files()) {
			return errors.New("it has another manifest than when it was verified")
		}
		return manifest.SetVerifyState(state)
	})
}

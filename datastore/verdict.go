package datastore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
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
		return errors.Join(manifest.SetVerifyState(state), setKeyVerdict(manifest, state, reader.key))
	})
}

// verdictOf says what it means that a snapshot can't be opened.
func verdictOf(err error) Verdict {
	switch {
	case errors.Is(err, flock.ErrLocked):
		return VerdictBusy
	case errors.Is(err, ErrNotFound), errors.Is(err, flock.ErrChanged):
		return VerdictVanished
	case errors.Is(err, ErrUnfinished):
		return VerdictUnfinished
	case errors.Is(err, ErrCorrupt):
		return VerdictFailed
	}
	return VerdictUnsure
}

// String tells what is wrong with an archive in one line.
func (a ArchiveVerdict) String() string {
	text := a.Name + ":"
	if a.Err != nil {
		text += " " + a.Err.Error()
	}
	if a.Lost > 0 {
		text += fmt.Sprintf(" %d chunks are damaged or missing", a.Lost)
	}
	if a.Unread > 0 {
		text += fmt.Sprintf(" %d chunks could not be read", a.Unread)
	}
	return text
}

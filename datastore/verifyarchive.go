package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/index"
)

// maxDamaged bounds how many ranges of an archive are reported one by one.
const maxDamaged = 100

// errNoChunks is about an index that we can read and the original can't.
var errNoChunks = fmt.Errorf("index without a chunk, which a Proxmox Backup Server can't open (of its 0 bytes none is lost): %w", ErrCorrupt)

// verifyFiles verifies what the manifest lists. partly says that it was cut off.
func (v *verification) verifyFiles(ctx context.Context, reader *SnapshotReader, verdict *SnapshotVerdict) (partly bool) {
	skipped, resumed := v.skipped(), v.resumedEntries()
	for _, file := range reader.manifest.Files() {
		if ctx.Err() != nil {
			return true
		}
		if partly = partly || v.timeUp(); partly {
			break
		}
		archive, encrypted := v.archive(ctx, reader, file)
		verdict.Encrypted = verdict.Encrypted || encrypted
		if errors.Is(archive.Err, errTimeUp) {
			partly, archive.Err = true, nil
		}
		switch {
		case archive.Lost > 0, errors.Is(archive.Err, ErrCorrupt):
			verdict.Verdict = VerdictFailed
		case archive.Unread > 0, archive.Err != nil:
			if verdict.Verdict == VerdictOK {
				verdict.Verdict = VerdictUnsure
			}
		default:
			continue
		}
		verdict.Archives = append(verdict.Archives, archive)
	}
	verdict.Skipped, verdict.Resumed = v.skipped()-skipped, v.resumedEntries()-resumed
	verdict.qualify(partly)
	return partly
}

// qualify makes sure that only what was read whole is called good.
func (s *SnapshotVerdict) qualify(partly bool) {
	switch {
	case s.Verdict != VerdictOK:
	case partly:
		s.Verdict = VerdictPartly
	case s.Skipped > 0:
		s.Verdict = VerdictSampled
	}
}

// archive verifies one file that a manifest lists. encrypted says that some of it
// could be checked only as far as that goes without its key.
func (v *verification) archive(ctx context.Context, reader *SnapshotReader, file backupinfo.File) (verdict ArchiveVerdict, encrypted bool) {
	verdict.Name = file.Name
	name, err := backupinfo.ParseFileName(file.Name)
	if err != nil {
		verdict.Err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		return verdict, false
	}
	if name.Kind() == backupinfo.Blob {
		verdict.Err = verifyBlob(ctx, reader, name)
	} else {
		verdict.Err = v.examinerFor(reader, file).index(ctx, v, reader, file, indexKind(name.Kind()), &verdict)
	}
	encrypted = file.CryptMode == backupinfo.CryptEncrypt && reader.key == nil
	if errors.Is(verdict.Err, blob.ErrNeedKey) {
		verdict.Err, encrypted = nil, true
	}
	return verdict, encrypted
}

// verifyBlob reads a blob, which compares it with the manifest and checks its CRC.
func verifyBlob(ctx context.Context, reader *SnapshotReader, name backupinfo.ArchiveName) error {
	archive, err := reader.OpenArchive(ctx, name)
	if errors.Is(err, blob.ErrWrongKey) {
		return corruptIf(err, blob.ErrWrongKey) // the snapshot is of this key
	}
	if err != nil {
		return err
	}
	return archive.Close()
}

// index verifies an index against the manifest, and its chunks.
func (e *examiner) index(ctx context.Context, v *verification, reader *SnapshotReader, file backupinfo.File, kind index.Kind, verdict *ArchiveVerdict) error {
	x, closer, err := openIndexAt(reader.dir, file.Name, kind)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("it is listed and its file is missing: %w: %w", ErrCorrupt, err)
	}
	if err == nil {
		defer closer.Close()
		err = compareIndex(ctx, x, file)
	}
	if err != nil {
		return corruptIf(err, index.ErrCorrupt)
	}
	progress := Progress{Operation: "verify", Object: reader.snapshot.Dir() + "/" + file.Name, Total: x.Size()}
	step := func(bytes uint64) {
		progress.Done += bytes
		v.Datastore.opts.Events.progress(progress)
	}
	err = e.chunksOf(ctx, x, step)
	if err != nil && !errors.Is(err, errTimeUp) {
		return corruptIf(err, index.ErrCorrupt)
	}
	return errors.Join(err, e.listDamage(ctx, x, verdict), e.countResumed(ctx, x))
}

func compareIndex(ctx context.Context, x *index.Reader, file backupinfo.File) error {
	checksum, err := x.ComputeChecksum(ctx)
	switch {
	case err != nil:
		return err
	case x.Size() != file.Size:
		return fmt.Errorf("its index describes %d bytes, the manifest %d: %w", x.Size(), file.Size, ErrCorrupt)
	case checksum != file.Checksum:
		return fmt.Errorf("its index has another checksum than the manifest says: %w", ErrCorrupt)
	case x.Kind() == index.Dynamic && x.Count() == 0:
		return errNoChunks
	}
	return nil
}

// chunksOf examines the chunks of an index that no index before had, a batch after
// the other.
func (e *examiner) chunksOf(ctx context.Context, x *index.Reader, step func(bytes uint64)) error {
	batch := make([]job, 0, min(x.Count(), batchSize))
	for chunk, err := range x.Chunks(ctx) {
		if err != nil {
			return err
		}
		if !e.sample.has(chunk.Digest) {
			e.skipped++
			step(chunk.Size())
			continue
		}
		if !e.visited.add(e.remembered(chunk.Digest, chunk.Size())) {
			step(chunk.Size())
			continue
		}
		batch = append(batch, job{digest: chunk.Digest, size: int(chunk.Size())})
		if len(batch) == batchSize {
			if err := e.examine(ctx, batch, step); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return e.examine(ctx, batch, step)
}

// listDamage says which ranges of an archive are lost.
func (e *examiner) listDamage(ctx context.Context, x *index.Reader, verdict *ArchiveVerdict) error {
	if e.lost.count+e.unread.count == 0 {
		return nil
	}
	for chunk, err := range x.Chunks(ctx) {
		if err != nil {
			return err
		}
		name := e.remembered(chunk.Digest, chunk.Size())
		lost := e.lost.has(name)
		switch {
		case lost:
			verdict.Lost++
		case e.unread.has(name):
			verdict.Unread++
		default:
			continue
		}
		if len(verdict.Damaged) < maxDamaged {
			verdict.Damaged = append(verdict.Damaged, DamagedChunk{chunk.Digest, chunk.Start, chunk.End, lost, e.reasons[name]})
		}
	}
	verdict.Damaged = slices.Clip(verdict.Damaged)
	return nil
}

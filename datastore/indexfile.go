package datastore

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// indexFile is an index on its way: entries are appended under a temporary name,
// the header comes last.
type indexFile struct {
	name    backupinfo.ArchiveName
	file    *fsop.File
	entries *bufio.Writer
	tally   *tally
}

// admit makes sure that an archive of that name may be added now.
func (w *SnapshotWriter) admit(ctx context.Context, name backupinfo.ArchiveName, kind backupinfo.ArchiveKind) error {
	if w.done {
		return errDone
	}
	if w.failed != nil {
		return fmt.Errorf("an archive of this snapshot has failed: %w", w.failed)
	}
	if w.tree != nil {
		return errTreeOpen
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if name.Kind() != kind {
		return fmt.Errorf("archive %q is a %s, not a %s", name.Display(), name.Kind(), kind)
	}
	if _, there := w.manifest.File(name.File()); there || name.IsManifest() || name.File() == KeyCopyName && w.keyCopy != nil ||
		name.File() == catalogName && w.catalog != nil {
		return fmt.Errorf("archive %q %w in this snapshot", name.Display(), ErrExists)
	}
	if w.crew == nil {
		w.crew = newCrew(w.chunks, w.crypt)
	}
	w.crew.known.forget()
	return nil
}

// newIndex begins an index. What the base knows of the archive is remembered.
func (w *SnapshotWriter) newIndex(ctx context.Context, name backupinfo.ArchiveName, kind backupinfo.ArchiveKind, total uint64) (*indexFile, error) {
	if err := w.rememberBase(ctx, name, indexKind(kind)); err != nil {
		w.store.opts.Events.notice(w.base.snapshot.Dir(), fmt.Sprintf("its %q is not used as base", name.Display()), err)
	}
	suffix := kind.Suffix() // ".fidx"
	temporary := strings.TrimSuffix(name.File(), suffix) + ".tmp_" + strings.TrimPrefix(suffix, ".")
	file, err := w.disk.Create(w.dir, temporary, fileMode)
	if err != nil {
		return nil, err
	}
	x := &indexFile{name: name, file: file, entries: bufio.NewWriterSize(file, 64<<10), tally: w.newTally(name, total)}
	if _, err := x.entries.Write(make([]byte, index.HeaderSize)); err != nil {
		return nil, errors.Join(err, file.Discard())
	}
	return x, nil
}

func (w *SnapshotWriter) newTally(name backupinfo.ArchiveName, total uint64) *tally {
	return &tally{
		started: time.Now(), events: w.store.opts.Events, stats: ArchiveStats{Name: name.File()},
		progress: Progress{Operation: "backup", Object: w.snapshot.Dir() + "/" + name.Display(), Total: total},
	}
}

func indexKind(kind backupinfo.ArchiveKind) index.Kind {
	if kind == backupinfo.FixedIndex {
		return index.Fixed
	}
	return index.Dynamic
}

// rememberBase makes the chunks of the base's archive of the same name known, too.
// Those of one that is encrypted, where this one is not, have other digests, and are of no use.
func (w *SnapshotWriter) rememberBase(ctx context.Context, name backupinfo.ArchiveName, kind index.Kind) error {
	if w.base == nil {
		return nil
	}
	entry, there := w.base.manifest.File(name.File())
	if !there || !w.crypt.sameNames(entry.CryptMode) {
		return nil
	}
	x, closer, err := openIndexAt(w.base.guard.File(), name.File(), kind)
	if err != nil {
		return err
	}
	defer closer.Close()
	if checksum, err := x.ComputeChecksum(ctx); err != nil || checksum != entry.Checksum {
		return errors.Join(err, fmt.Errorf("its index is not the one that its manifest lists: %w", ErrCorrupt))
	}
	return w.crew.known.remember(ctx, x)
}

// discard removes the temporary file of an index that was not finished.
func (x *indexFile) discard() {
	// What is left if this fails goes with the unfinished snapshot.
	_ = x.file.Discard()
}

// errEmpty refuses an archive without data. Its index would have a header and
// nothing more, which the original's collection can't read: it then fails for the
// whole store.
var errEmpty = errors.New("there is no data, and an index of none would stop a server's garbage collection")

// finishIndex gives the index its name, and the manifest its entry.
func (w *SnapshotWriter) finishIndex(x *indexFile, header []byte, checksum digest.Digest, stats ArchiveStats) error {
	if stats.Chunks == 0 {
		return fmt.Errorf("archive %q: %w", x.name.Display(), errEmpty)
	}
	if err := x.entries.Flush(); err != nil {
		return err
	}
	if _, err := x.file.WriteAt(header, 0); err != nil {
		return err
	}
	if err := x.file.Commit(x.name.File(), fsop.CommitOptions{NoReplace: true}); err != nil {
		return err
	}
	w.upload.add(stats)
	return w.manifest.AddFile(backupinfo.File{Name: x.name.File(), CryptMode: w.crypt.mode, Size: stats.Size, Checksum: checksum})
}

// newIndexID makes what an index is told from others by: a random UUID (version 4, RFC 9562) and the time.
func newIndexID() (uuid [16]byte, created int64) {
	_, _ = rand.Read(uuid[:]) // never fails, see crypto/rand
	uuid[6] = uuid[6]&0x0f | 0x40
	uuid[8] = uuid[8]&0x3f | 0x80
	return uuid, time.Now().Unix()
}

// openIndexAt opens an index in a directory. It is read through the file that is to be closed.
func openIndexAt(dir *os.File, name string, kind index.Kind) (*index.Reader, io.Closer, error) {
	f, err := beneath.OpenRegular(dir, name)
	if err != nil {
		return nil, nil, err
	}
	stat, err := f.Stat()
	if err == nil {
		var x *index.Reader
		if x, err = index.Open(f, stat.Size(), kind); err == nil {
			return x, f, nil
		}
	}
	return nil, nil, errors.Join(err, f.Close())
}

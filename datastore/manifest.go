package datastore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

const (
	// maxManifestSize bounds what a manifest may decode to; the largest real ones have a few hundred KiB.
	maxManifestSize = 16 << 20
	// maxSnapshotFiles bounds what is kept of a snapshot's directory.
	maxSnapshotFiles = 10_000
)

// manifestReader reads manifests one after the other and keeps its buffers, so
// that a listing of many thousand snapshots allocates little. Not for concurrent use.
type manifestReader struct {
	decoder *blob.Decoder
	stored  []byte
	decoded []byte
}

func newManifestReader() *manifestReader { return &manifestReader{decoder: blob.NewDecoder()} }

// Close frees the decoder.
func (r *manifestReader) Close() {
	// It only holds memory: there is nothing that could fail.
	_ = r.decoder.Close()
}

// snapshot reads a snapshot of an open group. A damaged manifest is in the
// info's Err; the error is for a snapshot that could not be looked at at all.
func (r *manifestReader) snapshot(group *os.File, snapshot backupinfo.Snapshot) (SnapshotInfo, error) {
	info := SnapshotInfo{Snapshot: snapshot}
	dir, err := beneath.OpenDir(group, snapshot.Time.String())
	if err != nil {
		return info, err
	}
	defer dir.Close()
	var names []string
	names, info.Protected, err = snapshotFiles(dir)
	if err != nil {
		return info, err
	}
	if info.Protected {
		info.Protection = readProtection(dir)
	}
	info.Finished = slices.Contains(names, backupinfo.ManifestName)
	if info.Finished {
		info.Err = r.fill(&info, dir)
		if errors.Is(info.Err, fs.ErrNotExist) {
			return info, info.Err // removed while we looked
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(info.Files, func(f FileInfo) bool { return f.Name == name }) {
			info.Files = append(info.Files, FileInfo{Name: name})
		}
	}
	return info, nil
}

// fill takes over what the manifest says.
func (r *manifestReader) fill(info *SnapshotInfo, dir *os.File) error {
	manifest, size, err := r.read(dir)
	if err != nil {
		return err
	}
	if err := manifest.Check(info.Snapshot); err != nil {
		return fmt.Errorf("manifest: %w: %w", ErrCorrupt, err)
	}
	info.Files = manifestFiles(manifest, size)
	info.SizeKnown = true
	for _, file := range info.Files {
		info.Size = addSizes(info.Size, *file.Size)
	}
	info.Comment = firstLine(manifest.Notes())
	info.Verification = manifest.VerifyState()
	info.VerifiedWithKey = verifiedWithKey(manifest)
	if fingerprint, err := manifest.Fingerprint(); err == nil && fingerprint != nil {
		info.Fingerprint = fingerprint.String()
	}
	return nil
}

// manifestFiles lists the files of a manifest and the manifest itself, as the original's listing does.
func manifestFiles(manifest *backupinfo.Manifest, size uint64) []FileInfo {
	files := manifest.Files()
	infos := make([]FileInfo, 0, len(files)+1)
	for _, file := range files {
		infos = append(infos, FileInfo{Name: file.Name, Crypt: &file.CryptMode, Size: &file.Size})
	}
	crypt := backupinfo.CryptNone
	if _, signed := manifest.Signature(); signed {
		crypt = backupinfo.CryptSignOnly
	}
	return append(infos, FileInfo{Name: backupinfo.ManifestName, Crypt: &crypt, Size: &size})
}

// read loads the manifest of an open snapshot and gives the size of its file. A
// damaged one is [ErrCorrupt]; a missing one is fs.ErrNotExist.
func (r *manifestReader) read(dir *os.File) (*backupinfo.Manifest, uint64, error) {
	f, err := beneath.OpenRegular(dir, backupinfo.ManifestName)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if stat.Size() > maxManifestSize {
		return nil, 0, fmt.Errorf("manifest of %d bytes is too large: %w", stat.Size(), ErrCorrupt)
	}
	r.stored = slices.Grow(r.stored[:0], int(stat.Size()))[:stat.Size()]
	if _, err := io.ReadFull(f, r.stored); err != nil {
		return nil, 0, fmt.Errorf("manifest: %w", err)
	}
	r.decoded, err = r.decoder.Decode(r.decoded[:0], r.stored, maxManifestSize)
	if err != nil {
		return nil, 0, fmt.Errorf("manifest: %w: %w", ErrCorrupt, err)
	}
	manifest, err := backupinfo.ParseManifest(r.decoded)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return manifest, uint64(stat.Size()), nil
}

// snapshotFiles lists the files of an open snapshot that readers look at, in
// order, and whether the snapshot is protected.
func snapshotFiles(dir *os.File) (names []string, protected bool, err error) {
	for {
		batch, err := dir.Readdirnames(1024)
		for _, name := range batch {
			protected = protected || name == backupinfo.ProtectedName
			if isArchiveFile(name) {
				names = append(names, name)
			}
		}
		if len(names) > maxSnapshotFiles {
			return nil, protected, fmt.Errorf("more than %d files: %w", maxSnapshotFiles, ErrCorrupt)
		}
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names, protected, nil
		}
		if err != nil {
			return nil, protected, err
		}
	}
}

func isArchiveFile(name string) bool {
	return strings.HasSuffix(name, ".fidx") || strings.HasSuffix(name, ".didx") || strings.HasSuffix(name, ".blob")
}

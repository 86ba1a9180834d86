package datastore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// snapshotFindings is what is known of the files of a snapshot before its manifest is read.
type snapshotFindings struct {
	snapshot backupinfo.Snapshot
	files    map[string]entry // those that readers look at
	usable   map[string]bool
	temp     []entry
	marker   *entry
}

// snapshot looks at the files of a snapshot and compares them with its manifest.
func (c *checker) snapshot(ctx context.Context, at entry, snapshot backupinfo.Snapshot) {
	if !c.directory(at, directoryMode) {
		return
	}
	c.report.Snapshots++
	dir, err := beneath.OpenDir(at.dir, at.name)
	if err != nil {
		c.unlisted(at.path(), err)
		return
	}
	defer dir.Close()
	s := snapshotFindings{snapshot: snapshot, files: map[string]entry{}, usable: map[string]bool{}}
	c.eachEntry(ctx, at.path(), func(e entry) {
		e.dir = dir // which stays open for longer
		c.snapshotEntry(ctx, &s, e)
	})
	if ctx.Err() != nil {
		return
	}
	if _, finished := s.files[backupinfo.ManifestName]; !finished {
		c.found(FindingUnfinished, at.path(), "has no manifest: it is being made, or its backup was cut off", nil)
		c.indexes(ctx, s, nil)
		return
	}
	c.finished(ctx, dir, at, s)
}

func (c *checker) snapshotEntry(ctx context.Context, s *snapshotFindings, e entry) {
	switch {
	case temporaryInSnapshot.MatchString(e.name):
		s.temp = append(s.temp, e)
	case e.name == backupinfo.ProtectedName:
		c.file(e)
	case e.name == writerMark:
		s.marker = &e
	case isArchiveFile(e.name) && !strings.HasPrefix(e.name, "."):
		s.files[e.name] = e
		s.usable[e.name] = c.file(e)
	default:
		c.hiddenOrUnknown(ctx, hiddenInSnapshot, e)
	}
}

// finished looks at a snapshot that has a manifest.
func (c *checker) finished(ctx context.Context, dir *os.File, at entry, s snapshotFindings) {
	for _, e := range s.temp {
		c.tempFile(e, c.removeUnder(ctx, e, func(set *guards) error {
			_, err := lockSnapshot(set, c.root, s.snapshot)
			if err == nil {
				_, err = lockManifest(set, c.root, s.snapshot)
			}
			return err
		}))
	}
	if s.marker != nil {
		c.found(FindingLeftover, s.marker.path(), "is the mark of an unfinished snapshot in a finished one", c.removeUnder(ctx, *s.marker, func(set *guards) error {
			_, err := lockSnapshot(set, c.root, s.snapshot)
			return err
		}))
	}
	manifest := c.manifest(dir, at, s)
	if manifest != nil {
		c.compare(s, at, manifest)
	}
	c.indexes(ctx, s, manifest)
}

// manifest reads the manifest, and tells where that is not possible.
func (c *checker) manifest(dir *os.File, at entry, s snapshotFindings) *backupinfo.Manifest {
	if !s.usable[backupinfo.ManifestName] {
		return nil
	}
	reader := newManifestReader()
	defer reader.Close()
	manifest, _, err := reader.read(dir)
	if err == nil {
		err = manifest.Check(s.snapshot)
	}
	switch name := path.Join(at.path(), backupinfo.ManifestName); {
	case err == nil:
		return manifest
	case trouble(err):
		c.unchecked(name, err)
	default:
		c.found(FindingManifest, name, err.Error(), nil)
	}
	return nil
}

// compare tells what the manifest lists and is not there, and what is there and not in it.
func (c *checker) compare(s snapshotFindings, at entry, manifest *backupinfo.Manifest) {
	for _, file := range manifest.Files() {
		e, there := s.files[file.Name]
		switch {
		case !there:
			c.found(FindingFileMissing, path.Join(at.path(), file.Name), "is in the manifest and not there", nil)
		case s.usable[file.Name] && !isIndex(file.Name) && uint64(e.stat.Size) != file.Size:
			c.found(FindingFileDiffers, e.path(), fmt.Sprintf("has %s, the manifest says %d", bytesText(uint64(e.stat.Size)), file.Size), nil)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		e := s.files[name]
		if _, listed := manifest.File(name); !listed && name != backupinfo.ManifestName && name != backupinfo.ClientLogName {
			c.found(FindingFileUnlisted, e.path(), "is in the snapshot and not in its manifest", nil)
		}
	}
}

// indexes looks at the headers of all indexes. With a manifest they have to be those that it lists.
func (c *checker) indexes(ctx context.Context, s snapshotFindings, manifest *backupinfo.Manifest) {
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		e := s.files[name]
		if ctx.Err() != nil {
			return
		}
		if !isIndex(name) || !s.usable[name] {
			continue
		}
		var listed *backupinfo.File
		if manifest != nil {
			if file, there := manifest.File(name); there {
				listed = &file
			}
		}
		switch err := checkIndex(e, listed); {
		case err == nil:
		case trouble(err):
			c.unchecked(e.path(), err)
		case errors.Is(err, index.ErrCorrupt):
			c.found(FindingIndex, e.path(), err.Error(), nil)
		default:
			c.found(FindingFileDiffers, e.path(), err.Error(), nil)
		}
	}
}

// checkIndex reads the header of an index. Whether its entries fit it is for a verification to see.
func checkIndex(e entry, listed *backupinfo.File) error {
	x, closer, err := openIndexAt(e.dir, e.name, indexKindOf(e.name))
	if err != nil {
		return err
	}
	defer closer.Close()
	switch {
	case listed == nil:
	case x.Size() != listed.Size:
		return fmt.Errorf("describes %s, the manifest says %d", bytesText(x.Size()), listed.Size)
	case x.Checksum() != listed.Checksum:
		return fmt.Errorf("has the checksum %s, the manifest says %s", x.Checksum(), listed.Checksum)
	}
	return nil
}

package treefind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/catalog"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/pxar"
)

// MaxCatalog is the size in bytes up to which a catalog is read: some ten million names.
const MaxCatalog = 256 << 20

const (
	catalogName   = "catalog.pcat1.didx"
	treeSuffix    = ".pxar.didx"
	entriesSuffix = ".mpxar.didx"
)

func isTree(file string) bool {
	return strings.HasSuffix(file, treeSuffix) || strings.HasSuffix(file, entriesSuffix)
}

// treeNames are what the trees among the files are called, in the way of datastore.SnapshotReader.OpenTree: "root.pxar" is the pair
// of root.mpxar and root.ppxar too, unless there is a root.pxar besides.
func treeNames(files []backupinfo.File) map[string]string {
	names := map[string]string{}
	for _, f := range files {
		if base, ok := strings.CutSuffix(f.Name, treeSuffix); ok {
			names[f.Name] = base + ".pxar"
		}
	}
	for _, f := range files {
		base, split := strings.CutSuffix(f.Name, entriesSuffix)
		if !split {
			continue
		}
		names[f.Name] = base + ".pxar"
		if _, both := names[base+treeSuffix]; both {
			names[f.Name] = base + ".mpxar"
		}
	}
	return names
}

// splitPath takes the archive off a path.
func splitPath(path string) (file, inArchive string) {
	file, rest, _ := strings.Cut(path[1:], "/")
	return file, "/" + rest
}

func pathInArchive(path string) string {
	_, rest := splitPath(path)
	return rest
}

// source is something in a snapshot that has names.
type source struct {
	reader *datastore.SnapshotReader
	entry  backupinfo.File
	trees  map[string]string // the trees that may be in it, by the names of their files
}

// read calls visit for each entry, in the order of the tree. Damage within is given to broken, where reading goes on behind it.
func (s source) read(ctx context.Context, visit func(*item) error, broken func(error)) (err error) {
	name, err := backupinfo.ParseFileName(s.entry.Name)
	if err != nil {
		return err
	}
	archive, err := s.reader.OpenArchive(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	if s.entry.Name == catalogName {
		return readCatalog(ctx, archive, visit, broken)
	}
	return readTree(ctx, archive, visit)
}

func readCatalog(ctx context.Context, archive *datastore.Archive, visit func(*item) error, broken func(error)) error {
	if archive.Size() > MaxCatalog {
		return fmt.Errorf("a catalog of %d bytes is too large, the limit is %d", archive.Size(), int64(MaxCatalog))
	}
	// Whole: directories stand behind what is in them, so that each step would decode another chunk.
	data := make([]byte, archive.Size())
	if _, err := io.ReadFull(sequential{ctx, io.NewSectionReader(archive, 0, int64(len(data)))}, data); err != nil {
		return err
	}
	c, err := catalog.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fmt.Errorf("%w: %w", datastore.ErrCorrupt, err)
	}
	return readEntries(ctx, c, visit, broken)
}

func readEntries(ctx context.Context, c *catalog.Reader, visit func(*item) error, broken func(error)) error {
	for found, err := range c.All() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			err = checkName(found.Name)
		}
		if err != nil {
			broken(fmt.Errorf("%w: %w", datastore.ErrCorrupt, err))
			continue
		}
		if err := visit(&item{found.Path, found.Kind, found.Size, found.ModTime}); err != nil {
			return err
		}
	}
	return nil
}

// readTree reads an archive without its contents, which it leaps over where they are in it.
func readTree(ctx context.Context, archive *datastore.Archive, visit func(*item) error) error {
	top := "/" + archive.Name().File()
	if err := visit(&item{path: top, kind: catalog.Directory}); err != nil {
		return err
	}
	r, err := pxar.NewReader(sequential{ctx, io.NewSectionReader(archive, 0, int64(archive.Size()))}, pxar.ReaderOptions{})
	for err == nil {
		var e *pxar.Entry
		if e, err = r.Next(); err == nil && e.Path != "/" {
			err = visit(newItem(top, e))
		}
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, pxar.ErrCorrupt) {
		return nil
	}
	return err
}

func newItem(top string, e *pxar.Entry) *item {
	i := &item{path: top + e.Path, kind: catalog.KindOf(e)}
	if e.Kind == pxar.File {
		i.size, i.modTime = e.Size, e.Seconds
	}
	return i
}

// sequential reads until the context ends.
type sequential struct {
	ctx context.Context //nolint:containedctx // io.Reader has no place for one
	io.ReadSeeker
}

func (r sequential) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.ReadSeeker.Read(p)
}

package treefind

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/catalog"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/keys"
)

// snapshotLook is the search through one open snapshot.
type snapshotLook struct {
	*run

	reader *datastore.SnapshotReader
	keyed  bool // it was opened with the key
}

// all reads the catalog, and then the trees that are not in it.
func (l *snapshotLook) all(ctx context.Context) error {
	files := l.reader.Manifest().Files()
	trees := treeNames(files)
	there := map[string]bool{}
	for _, name := range trees {
		there[name] = true
	}
	l.absent(l.reader.Snapshot(), there)
	covered, err := l.catalog(ctx, files, trees)
	for _, f := range files {
		if name, tree := trees[f.Name]; err == nil && tree && !covered[name] {
			_, err = l.source(ctx, source{l.reader, f, map[string]string{f.Name: name}})
		}
	}
	return err
}

// catalog searches the catalog, if there is one that may have something, and tells which trees need not be read.
func (l *snapshotLook) catalog(ctx context.Context, files []backupinfo.File, trees map[string]string) (covered map[string]bool, err error) {
	i := slices.IndexFunc(files, func(f backupinfo.File) bool { return f.Name == catalogName })
	unsplit := maps.Clone(trees)
	maps.DeleteFunc(unsplit, func(file, _ string) bool { return !strings.HasSuffix(file, treeSuffix) })
	if i < 0 || len(unsplit) == 0 {
		return nil, nil
	}
	return l.source(ctx, source{l.reader, files[i], unsplit})
}

// source searches one source, and tells which of its trees it had, or can't be had either.
func (l *snapshotLook) source(ctx context.Context, s source) (covered map[string]bool, err error) {
	v := visitor{run: l.run, source: s, covered: map[string]bool{}}
	err = l.names(ctx, s, &v)
	if err != nil || v.damaged {
		for name := range v.covered {
			l.timeline.spoil(name)
		}
	}
	if err == nil {
		return v.covered, nil
	}
	if _, locked := errors.AsType[*keys.MissingKeyError](err); locked {
		for _, name := range s.trees { // they are encrypted like the catalog, and once is enough to say so
			v.covered[name] = true
		}
	}
	return v.covered, l.skipped(ctx, l.reader.Snapshot(), s.entry.Name, err)
}

// names brings what matches of a source to the visitor, out of the cache if it is there, else into it.
func (l *snapshotLook) names(ctx context.Context, s source, v *visitor) error {
	cache, key := l.cache(s), keyOf(s.entry)
	if list := cache.load(key); list != nil {
		return v.list(list)
	}
	w := listWriter{limit: cache.room()}
	err := s.read(ctx, func(i *item) error {
		w.add(i)
		return v.item(i)
	}, v.broken)
	if list, ok := w.finish(); ok && err == nil && !v.damaged {
		cache.save(key, list)
	}
	return err
}

// cache is the one for this source, or nil: names of encrypted trees must not get to a disk unasked. What is
// said not to be encrypted may be a lie where the key opens it all the same, but not where the manifest is signed with the key.
func (l *snapshotLook) cache(s source) *Cache {
	encrypted := s.entry.CryptMode == backupinfo.CryptEncrypt || l.keyed && l.reader.Signature() != datastore.SignatureOK
	if encrypted && (!l.keyed || !l.CacheEncrypted) {
		return nil
	}
	return l.Cache
}

// visitor takes the entries of a source.
type visitor struct {
	*run

	source  source
	covered map[string]bool
	damaged bool
}

// broken names damage behind which reading goes on. Once is enough: a hostile source has it a million times.
func (v *visitor) broken(err error) {
	if !v.damaged {
		v.skip(&SkippedError{Snapshot: v.source.reader.Snapshot(), File: v.source.entry.Name, Err: err})
	}
	v.damaged = true
}

func (v *visitor) item(i *item) error {
	if v.stopped {
		return errStopped
	}
	if strings.Count(i.path, "/") == 1 {
		v.top(i)
		return nil
	}
	if v.Matcher.Matches(pathInArchive(i.path), i.kind) {
		return v.found(*i)
	}
	return nil
}

// errStopped ends the reading where the caller has ended the search.
var errStopped = errors.New("the search was ended")

// top takes note of a tree.
func (v *visitor) top(i *item) {
	file, _ := splitPath(i.path)
	name, ok := v.source.trees[file]
	if ok && i.kind == catalog.Directory && !v.covered[name] {
		v.covered[name] = true
		v.timeline.begin(name, v.source.reader.Snapshot().Time)
	}
}

func (v *visitor) found(i item) error {
	file, _ := splitPath(i.path)
	if name := v.source.trees[file]; v.covered[name] {
		return v.timeline.add(name, i)
	}
	return nil
}

// list takes what is in the cache.
func (v *visitor) list(l *nameList) (err error) {
	for number := range l.count() {
		if l.parent(number) == noParent {
			v.top(&item{path: l.path(number), kind: l.kind(number)})
		}
	}
	l.scan(v.Matcher, func(i item) bool {
		err = v.found(i)
		return err == nil
	})
	return err
}

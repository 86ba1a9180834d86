package treediff_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/pxar"
	"github.com/pbs-like/pbs-like/treediff"
)

// TestMain has fewer random trees than usual, for each is two backups. More of them: -rapid.checks.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "40"); err != nil {
		panic(err)
	}
	m.Run()
}

// fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// archives are those of a snapshot, by their names.
type archives map[string][]byte

// backup makes a snapshot, and opens its tree.
func backup(t testing.TB, store *testds.Store, time backupinfo.Time, streams archives) *datastore.SnapshotReader {
	t.Helper()
	r, err := backedUp(t, store, time, streams)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func backedUp(t testing.TB, store *testds.Store, time backupinfo.Time, streams archives) (*datastore.SnapshotReader, error) {
	t.Helper()
	ds := store.Open(datastore.Options{})
	w, err := ds.Backup(t.Context(), store.Group("host/h"), datastore.BackupOptions{Time: time})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	for name, data := range streams {
		parsed, err := backupinfo.ParseArchiveName(name)
		if err == nil {
			_, err = w.AddStream(t.Context(), parsed, bytes.NewReader(data))
		}
		if err != nil {
			return nil, err
		}
	}
	if _, err := w.Commit(t.Context()); err != nil {
		return nil, err
	}
	return ds.OpenSnapshot(t.Context(), w.Snapshot(), datastore.ReadOptions{})
}

func openTree(t testing.TB, r *datastore.SnapshotReader) *datastore.Tree {
	t.Helper()
	tree, err := r.OpenTree(t.Context(), treeName(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

// known is all that a walk tells of an entry.
type known struct {
	entry   *pxar.Entry // of what a hard link leads to
	target  string      // of a hard link
	content [sha256.Size]byte
}

// read walks over a tree, and reads everything.
func read(t fataler, tree *datastore.Tree) map[string]known {
	t.Helper()
	all := map[string]known{}
	root, err := tree.Root()
	if err != nil {
		t.Fatal(err)
	}
	walk, err := tree.Walk(root)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := walk.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		k := known{entry: e}
		if e.Kind == pxar.Hardlink {
			k.target = e.Target
			if k.entry, err = tree.Resolve(e); err != nil {
				t.Fatal(err)
			}
		}
		if k.entry.Kind == pxar.File {
			content, err := tree.Content(e)
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(content)
			if err != nil {
				t.Fatal(err)
			}
			k.content = sha256.Sum256(data)
		}
		all[e.Path] = k
	}
}

// naive compares two trees that were read whole. A change is "path kind fields".
func naive(old, new map[string]known) (changes []string) {
	paths := map[string]bool{}
	for p := range old {
		paths[p] = true
	}
	for p := range new {
		paths[p] = true
	}
	for p := range maps.Keys(paths) {
		a, before := old[p]
		b, after := new[p]
		switch {
		case !before:
			changes = append(changes, p+" added")
		case !after:
			changes = append(changes, p+" removed")
		default:
			if fields := naiveFields(a, b); len(fields) > 0 {
				changes = append(changes, fmt.Sprintf("%s modified %v", p, fields))
			}
		}
	}
	slices.Sort(changes)
	return changes
}

func naiveFields(a, b known) (fields []treediff.Field) {
	x, y := a.entry, b.entry
	if x.Kind != y.Kind {
		return []treediff.Field{treediff.Type}
	}
	if a.target != b.target {
		fields = append(fields, treediff.Link)
	} else if a.target != "" {
		return nil
	}
	for _, f := range []struct {
		field    treediff.Field
		old, new any
	}{
		{treediff.Mode, x.Mode & 0o7777, y.Mode & 0o7777},
		{treediff.Owner, [2]uint32{x.UID, x.GID}, [2]uint32{y.UID, y.GID}},
		{treediff.ModTime, x.ModTime(), y.ModTime()},
		{treediff.Flags, x.Flags, y.Flags},
		{treediff.Xattrs, sorted(x.Xattrs), sorted(y.Xattrs)},
		{treediff.ACL, x.ACL, y.ACL},
		{treediff.Capabilities, x.FCaps, y.FCaps},
		{treediff.QuotaProject, x.QuotaProject, y.QuotaProject},
		{treediff.Size, x.Size, y.Size},
		{treediff.Target, x.Target, y.Target},
		{treediff.Device, [2]uint64{x.Major, x.Minor}, [2]uint64{y.Major, y.Minor}},
		{treediff.Content, a.content, b.content},
	} {
		if !reflect.DeepEqual(f.old, f.new) {
			fields = append(fields, f.field)
		}
	}
	return fields
}

func sorted(xattrs []pxar.Xattr) []string {
	var all []string
	for _, x := range xattrs {
		all = append(all, fmt.Sprintf("%q=%q", x.Name, x.Value))
	}
	slices.Sort(all)
	return all
}

// compared is what Compare gives, in the form of naive.
func compared(ctx context.Context, t fataler, old, new *datastore.Tree, opts treediff.Options) (changes []string, report treediff.Report) {
	t.Helper()
	report, err := treediff.Compare(ctx, old, new, opts, func(c treediff.Change) error {
		text := c.Path + " " + c.Kind.String()
		if c.Kind == treediff.Modified {
			text += fmt.Sprintf(" %v", c.Fields)
		}
		changes = append(changes, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(changes)
	return changes, report
}

func testTime(n int) backupinfo.Time { return backupinfo.Time(n) }

func treeName(t fataler) backupinfo.ArchiveName {
	t.Helper()
	name, err := backupinfo.ParseArchiveName("root.pxar")
	if err != nil {
		t.Fatal(err)
	}
	return name
}

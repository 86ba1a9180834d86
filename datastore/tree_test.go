package datastore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/goldenfile"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/pxar"
)

func archiveName(t testing.TB, name string) backupinfo.ArchiveName {
	t.Helper()
	parsed, err := backupinfo.ParseArchiveName(name)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// backupStreams makes a snapshot of streams.
func backupStreams(t testing.TB, store *testds.Store, streams map[string][]byte) *datastore.SnapshotReader {
	t.Helper()
	ds := store.Open(datastore.Options{})
	w, err := ds.Backup(t.Context(), store.Group("host/h"), datastore.BackupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for name, data := range streams {
		if _, err := w.AddStream(t.Context(), archiveName(t, name), bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	latest, err := ds.Latest(t.Context(), store.Group("host/h"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := ds.OpenSnapshot(t.Context(), latest, datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func openTree(t testing.TB, r *datastore.SnapshotReader, name string) *datastore.Tree {
	t.Helper()
	tree, err := r.OpenTree(t.Context(), archiveName(t, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

// TestATreeOfTheOriginalsStoreIsReadAsTheOriginalReadsIt looks each entry of its list up by its path.
func TestATreeOfTheOriginalsStoreIsReadAsTheOriginalReadsIt(t *testing.T) {
	t.Parallel()
	store := testds.Golden(t, "store")
	ds := store.Open(datastore.Options{})
	latest, err := ds.Latest(t.Context(), store.Group("ct/200"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := ds.OpenSnapshot(t.Context(), latest, datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tree, err := r.OpenTree(t.Context(), archiveName(t, "root.pxar"))
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	text, err := os.ReadFile(testds.Testdata(t, "golden/expected/root.pxar.list.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); n++ {
		var want struct {
			Path  string
			UID   uint32
			MTime int64
		}
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(want.Path, "\ufffd") {
			continue
		}
		e, err := tree.Lookup(want.Path)
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != pxar.Hardlink && (e.UID != want.UID || e.Seconds != want.MTime) {
			t.Errorf("%q: %+v, want %+v", want.Path, e, want)
		}
	}
	if n < 10 {
		t.Errorf("%d entries", n)
	}
}

func TestAPairOfArchivesIsOneTreeWhateverItIsCalled(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	r := backupStreams(t, store, map[string][]byte{
		"root.mpxar": goldenfile.Read(t, "pxar", "split/chain-a/s2/root.mpxar"),
		"root.ppxar": goldenfile.Read(t, "pxar", "split/chain-a/s2/root.ppxar.zst"),
	})
	for _, name := range []string{"root.pxar", "root.mpxar", "root.ppxar", "root.mpxar.didx", "root.pxar.didx"} {
		tree := openTree(t, r, name)
		e, err := tree.Lookup("/a-first")
		if err != nil {
			t.Fatal(err)
		}
		content, err := tree.Content(e)
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.New()
		if _, err := io.Copy(hash, content); err != nil {
			t.Fatal(err)
		}
		const want = "e1f4cbf6c18815e864286bc21aa156a31e6562f906d04456851f2531849eb2c7"
		if got := hex.EncodeToString(hash.Sum(nil)); tree.Name().Display() != "root.mpxar" || got != want {
			t.Errorf("%s: %s, %s", name, tree.Name().Display(), got)
		}
	}
}

func TestATreeWithoutItsPayloadHasNames(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	r := backupStreams(t, store, map[string][]byte{"root.mpxar": goldenfile.Read(t, "pxar", "split/chain-a/s1/root.mpxar")})
	tree := openTree(t, r, "root.pxar")
	e, err := tree.Lookup("/a-first")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Content(e); !errors.Is(err, pxar.ErrNoPayload) {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNoTreeIsNamed(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	r := backupStreams(t, store, map[string][]byte{"junk.pxar": []byte("this is no archive, but long enough to be one"), "etc.tar.didx": []byte("x")})
	if _, err := r.OpenTree(t.Context(), archiveName(t, "junk.pxar")); !errors.Is(err, pxar.ErrCorrupt) {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"etc.tar.didx", "root.pxar", "root.mpxar"} {
		_, err := r.OpenTree(t.Context(), archiveName(t, name))
		if !errors.Is(err, datastore.ErrNotFound) || !strings.Contains(err.Error(), "there is") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadingATreeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	r := backupStreams(t, store, map[string][]byte{"root.pxar": goldenfile.Read(t, "pxar", "v1/types.pxar.zst")})
	ctx, cancel := context.WithCancel(t.Context())
	tree, err := r.OpenTree(ctx, archiveName(t, "root.pxar"))
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	cancel()
	if _, err := tree.Lookup("/acl-dir"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

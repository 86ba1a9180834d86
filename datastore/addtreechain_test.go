package datastore_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/goldenfile"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/keys"
	"github.com/pbs-like/pbs-like/pxar"
)

// goldenChain reads a snapshot of a chain of backups that the original made.
func goldenChain(t testing.TB, name string) *pxar.Reader {
	t.Helper()
	r, err := pxar.NewReader(bytes.NewReader(goldenfile.Read(t, "pxar", "split/chain-a/"+name+"/root.mpxar")), pxar.ReaderOptions{
		Payload: bytes.NewReader(goldenfile.Read(t, "pxar", "split/chain-a/"+name+"/root.ppxar.zst")),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func backupChain(t testing.TB, ds *datastore.Datastore, group backupinfo.Group, name string, opts datastore.TreeOptions, backup datastore.BackupOptions) (datastore.TreeStats, backupinfo.Snapshot) {
	t.Helper()
	w, err := ds.Backup(t.Context(), group, backup)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	tree, err := w.BeginTree(t.Context(), archiveName(t, "root.pxar"), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tree.Close() }()
	files := &fileContents{}
	defer files.check(t)
	if err := replay(goldenChain(t, name), tree, files); err != nil {
		t.Fatal(err)
	}
	stats, err := tree.Finish()
	if err != nil {
		t.Fatal(err)
	}
	info, err := w.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if read := stats.Files - stats.ReusedFiles; files.read > read {
		t.Errorf("%s: %d files were read, of %d that were not reused", name, files.read, read)
	}
	return stats, info.Snapshot
}

// compareTree reads every file of a tree at random and compares it with the original's list.
func compareTree(t testing.TB, ds *datastore.Datastore, snapshot backupinfo.Snapshot, name string, key *keys.Key) {
	t.Helper()
	r, err := ds.OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tree, err := r.OpenTree(t.Context(), archiveName(t, "root.pxar"))
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	files := 0
	for d := json.NewDecoder(bytes.NewReader(goldenfile.Read(t, "pxar", "expected/chain-a-"+name+".jsonl"))); d.More(); {
		var want struct{ Path, Type, SHA256 string }
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if want.Type != "file" {
			continue
		}
		files++
		e, err := tree.Lookup(want.Path)
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
		if got := hex.EncodeToString(hash.Sum(nil)); got != want.SHA256 {
			t.Errorf("%s: %s has other content", name, want.Path)
		}
	}
	if files < 40 {
		t.Errorf("only %d files", files)
	}
}

// chain is what the original reused, and what it says of the padding in KiB.
var chain = []struct {
	name    string
	reused  int
	padding uint64
}{{"s1", 0, 0}, {"s2", 35, 6080}, {"s3", 27, 14409}, {"s4", 11, 6048}}

func TestAChainOfTreesIsReadBackInEveryMode(t *testing.T) {
	t.Parallel()
	key, err := keys.New([keys.Size]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	for name, backup := range map[string]datastore.BackupOptions{
		"plain": {}, "encrypted": {Key: key}, "signed": {Key: key, CryptMode: backupinfo.CryptSignOnly},
	} {
		for _, mode := range []datastore.ChangeDetection{datastore.ChangeDetectionLegacy, datastore.ChangeDetectionData, datastore.ChangeDetectionMetadata} {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				t.Parallel()
				store := testds.New(t)
				ds := store.Open(datastore.Options{})
				opts := datastore.TreeOptions{ChangeDetection: mode, ChunkSize: 16 << 10}
				for _, step := range chain {
					stats, snapshot := backupChain(t, ds, store.Group("host/h"), step.name, opts, backup)
					compareTree(t, ds, snapshot, step.name, backup.Key)
					if want := step.reused; mode == datastore.ChangeDetectionMetadata && (stats.ReusedFiles != want || stats.Padding != step.padding) {
						t.Errorf("%s: %d files reused with %d bytes of padding, want %d with %d", step.name, stats.ReusedFiles, stats.Padding, want, step.padding)
					}
				}
			})
		}
	}
}

package datastore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/keys"
)

// goldenKey reads a key of the golden data: "k1-plain.json", "k2-pbkdf2.json".
func goldenKey(t testing.TB, name string) *keys.Key {
	t.Helper()
	text, err := os.ReadFile("../keys/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := keys.ParseFile(text)
	if err != nil {
		t.Fatal(err)
	}
	key, err := file.Unlock([]byte("golden-pbkdf2-pass"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func testKey(t testing.TB, n byte) *keys.Key {
	t.Helper()
	key, err := keys.New([keys.Size]byte{n})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// backUpWith makes a snapshot of vm/100 with an archive of each kind.
func backUpWith(t testing.TB, ds *datastore.Datastore, group backupinfo.Group, opts datastore.BackupOptions, data []byte) (backupinfo.Snapshot, []datastore.ArchiveStats) {
	t.Helper()
	w, err := ds.Backup(t.Context(), group, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var all []datastore.ArchiveStats
	add := func(stats datastore.ArchiveStats, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, stats)
	}
	add(w.AddImage(t.Context(), archive(t, "a.img"), bytes.NewReader(data), int64(len(data))))
	add(w.AddImageStream(t.Context(), archive(t, "b.img"), bytes.NewReader(data)))
	add(w.AddStream(t.Context(), archive(t, "c.pxar"), bytes.NewReader(data)))
	add(w.AddBlob(t.Context(), archive(t, "d.conf"), bytes.NewReader(data)))
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w.Snapshot(), all
}

var fourArchives = []string{"a.img", "b.img", "c.pxar", "d.conf"}

// readWith reads one archive, whole and piece by piece.
func readWith(t testing.TB, ds *datastore.Datastore, snapshot backupinfo.Snapshot, name string, key *keys.Key) ([]byte, error) {
	t.Helper()
	reader, err := ds.OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{Key: key})
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	a, err := reader.OpenArchive(t.Context(), archive(t, name))
	if err != nil {
		return nil, err
	}
	defer a.Close()
	var content bytes.Buffer
	if _, err := a.CopyTo(t.Context(), &content, datastore.RestoreOptions{}); err != nil {
		return nil, err
	}
	tail := make([]byte, min(1000, a.Size()))
	if _, err := a.ReadAt(tail, int64(a.Size())-int64(len(tail))); err != nil {
		return nil, err
	}
	if !bytes.HasSuffix(content.Bytes(), tail) {
		return nil, errors.New("ReadAt reads something else")
	}
	return content.Bytes(), nil
}

func TestEveryModeRestoresByteForByteAndOnlyWithItsKey(t *testing.T) {
	t.Parallel()
	right, wrong := testKey(t, 1), testKey(t, 2)
	for name, spec := range map[string]string{
		"random":    "xs64:1:9M",
		"text":      "text:3:5M",
		"zeros":     "zero:9M",
		"few bytes": "str:x",
		"mixed":     "xs64:1:5M+zero:8M+text:9:300000",
	} {
		for _, mode := range []backupinfo.CryptMode{"", backupinfo.CryptNone, backupinfo.CryptEncrypt, backupinfo.CryptSignOnly} {
			t.Run(fmt.Sprintf("%s %q", name, mode), func(t *testing.T) {
				t.Parallel()
				store := testds.New(t)
				ds, data := store.Open(datastore.Options{}), image(t, spec)
				snapshot, _ := backUpWith(t, ds, store.Group("vm/100"), datastore.BackupOptions{Time: first, Key: right, CryptMode: mode, Notes: "x"}, data)
				encrypted := mode == "" || mode == backupinfo.CryptEncrypt
				for _, name := range fourArchives {
					got, err := readWith(t, ds, snapshot, name, right)
					if err != nil || !bytes.Equal(got, data) {
						t.Errorf("%s: %d bytes, %v", name, len(got), err)
					}
					got, err = readWith(t, ds, snapshot, name, nil)
					missing, isMissing := errors.AsType[*keys.MissingKeyError](err)
					if encrypted && (!isMissing || missing.Fingerprint != right.Fingerprint()) || !encrypted && (err != nil || !bytes.Equal(got, data)) {
						t.Errorf("%s without key: %d bytes, %v", name, len(got), err)
					}
					_, err = readWith(t, ds, snapshot, name, wrong)
					other, isWrong := errors.AsType[*keys.WrongKeyError](err)
					if mode != backupinfo.CryptNone && (!isWrong || other.Want != right.Fingerprint() || errors.Is(err, datastore.ErrCorrupt)) || mode == backupinfo.CryptNone && err != nil {
						t.Errorf("%s with another key: %v", name, err)
					}
				}
				checkFormat(t, store, snapshot, right, mode)
				checkVerdict(t, ds, nil, encrypted, map[bool]datastore.Signature{true: datastore.SignatureUnchecked}[mode != backupinfo.CryptNone])
				checkVerdict(t, ds, wrong, encrypted, map[bool]datastore.Signature{true: datastore.SignatureUnchecked}[mode != backupinfo.CryptNone])
				checkVerdict(t, ds, right, false, map[bool]datastore.Signature{true: datastore.SignatureOK}[mode != backupinfo.CryptNone])
			})
		}
	}
}

func checkVerdict(t testing.TB, ds *datastore.Datastore, key *keys.Key, encrypted bool, signature datastore.Signature) {
	t.Helper()
	seen := 0
	report, err := ds.Verify(t.Context(), datastore.VerifyOptions{Depth: -1, Key: key, Each: func(v datastore.SnapshotVerdict) {
		seen++
		if v.Verdict != datastore.VerdictOK || v.Encrypted != encrypted || v.Signature != signature || v.Unrecorded != nil {
			t.Errorf("with %v: %+v", key, v)
		}
	}})
	if err != nil || seen == 0 || report.Encrypted > 0 != encrypted {
		t.Errorf("with %v: %+v, %v", key, report, err)
	}
}

// checkFormat looks at the files as the original would: magics, sizes of headers, names of chunks, manifest.
func checkFormat(t testing.TB, store *testds.Store, snapshot backupinfo.Snapshot, key *keys.Key, mode backupinfo.CryptMode) {
	t.Helper()
	encrypted := mode == "" || mode == backupinfo.CryptEncrypt
	decoder := blob.NewDecoder()
	defer decoder.Close()
	chunks, err := filepath.Glob(filepath.Join(store.Dir, ".chunks/*/*"))
	if err != nil || len(chunks) == 0 {
		t.Fatal(chunks, err)
	}
	ivs := map[[16]byte]bool{}
	for _, path := range chunks {
		stored := readFile(t, path)
		header, err := blob.ParseHeader(stored)
		if err != nil || header.Kind.Encrypted() != encrypted || ivs[header.IV] && encrypted {
			t.Errorf("%s: %+v, %v", path, header, err)
		}
		ivs[header.IV] = true
		data, err := decoder.DecodeWithKey(nil, stored, blob.MaxSize, key.AEAD())
		name := digest.Of(data)
		if encrypted {
			name = key.Digest(data)
		}
		if err != nil || filepath.Base(path) != name.String() {
			t.Errorf("%s: %s, %v", path, name, err)
		}
	}
	if header, err := blob.ParseHeader(readFile(t, filepath.Join(store.Dir, snapshot.Dir(), "d.conf.blob"))); err != nil || header.Kind.Encrypted() != encrypted {
		t.Errorf("blob: %+v, %v", header, err)
	}
	checkManifestFormat(t, store, snapshot, key, mode)
}

func checkManifestFormat(t testing.TB, store *testds.Store, snapshot backupinfo.Snapshot, key *keys.Key, mode backupinfo.CryptMode) {
	t.Helper()
	text := manifestText(t, store, snapshot)
	var manifest struct {
		Files []struct {
			Mode backupinfo.CryptMode `json:"crypt-mode"`
		}
		Signature   *string
		Unprotected map[string]any
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	if mode == "" {
		mode = backupinfo.CryptEncrypt
	}
	for _, file := range manifest.Files {
		if file.Mode != mode {
			t.Errorf("crypt mode %q, not %q", file.Mode, mode)
		}
	}
	fingerprint, _ := manifest.Unprotected["key-fingerprint"].(string)
	switch {
	case mode == backupinfo.CryptNone:
		if manifest.Signature != nil || fingerprint != "" {
			t.Errorf("signature %v, fingerprint %q", manifest.Signature, fingerprint)
		}
	case manifest.Signature == nil || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(*manifest.Signature),
		fingerprint != backupinfo.Fingerprint(key.Fingerprint()).String() || len(fingerprint) != 95:
		t.Errorf("signature %v, fingerprint %q", manifest.Signature, fingerprint)
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func manifestText(t testing.TB, store *testds.Store, snapshot backupinfo.Snapshot) []byte {
	t.Helper()
	decoder := blob.NewDecoder()
	defer decoder.Close()
	text, err := decoder.Decode(nil, readFile(t, filepath.Join(store.Dir, snapshot.Dir(), backupinfo.ManifestName)), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// putManifest replaces a manifest past all rules, as somebody who may write to the store could.
func putManifest(t testing.TB, store *testds.Store, snapshot backupinfo.Snapshot, text []byte) {
	t.Helper()
	encoder := blob.NewEncoder()
	defer encoder.Close()
	stored, err := encoder.Encode(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(store.Dir, snapshot.Dir(), backupinfo.ManifestName), string(stored))
}

func TestWhoAsksForEncryptionNeverGetsPlainData(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	for _, opts := range []datastore.BackupOptions{
		{CryptMode: backupinfo.CryptEncrypt},
		{CryptMode: backupinfo.CryptSignOnly},
		{CryptMode: "Encrypt", Key: testKey(t, 1)},
		{KeyCopy: []byte("x")},
		{KeyCopy: []byte("x"), Key: testKey(t, 1), CryptMode: backupinfo.CryptNone},
	} {
		if w, err := ds.Backup(t.Context(), store.Group("vm/100"), opts); err == nil {
			t.Errorf("%+v: accepted", opts)
			w.Close()
		}
	}
	_, err := ds.Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{CryptMode: backupinfo.CryptEncrypt})
	if !errors.Is(err, blob.ErrNeedKey) {
		t.Error(err)
	}
	if got := store.Snapshots(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestNoBytesOfTheDataAreInAnEncryptedStore(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	data := bytes.Repeat([]byte("a secret that shows in no file: "), 300_000)
	backUpWith(t, store.Open(datastore.Options{}), store.Group("vm/100"), datastore.BackupOptions{Time: first, Key: testKey(t, 1)}, data)
	err := filepath.WalkDir(store.Dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && bytes.Contains(readFile(t, path), []byte("secret")) {
			t.Errorf("%s holds plain data", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestABaseIsUsedOnlyUnderTheSameNames is the matrix of modes and keys.
func TestABaseIsUsedOnlyUnderTheSameNames(t *testing.T) {
	t.Parallel()
	k1, k2 := testKey(t, 1), testKey(t, 2)
	how := map[string]datastore.BackupOptions{
		"plain":             {},
		"sign-only":         {Key: k1, CryptMode: backupinfo.CryptSignOnly},
		"encrypted":         {Key: k1},
		"by another key":    {Key: k2},
		"signed by another": {Key: k2, CryptMode: backupinfo.CryptSignOnly},
	}
	plain := []string{"plain", "sign-only", "signed by another"}
	for before, old := range how {
		for after, opts := range how {
			if testing.Short() && before != "encrypted" && after != "encrypted" {
				continue
			}
			t.Run(before+" then "+after, func(t *testing.T) {
				t.Parallel()
				store := testds.New(t)
				ds, data := store.Open(datastore.Options{}), image(t, "xs64:1:4M+zero:5M")
				old, opts := old, opts // old is shared by the tests of one round
				old.Time, opts.Time = first, second
				backUpWith(t, ds, store.Group("vm/100"), old, data)
				w, err := ds.Backup(t.Context(), store.Group("vm/100"), opts)
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				same := before == after || slices.Contains(plain, before) && slices.Contains(plain, after)
				if _, used := w.Base(); used != same {
					t.Errorf("base used: %v", used)
				}
				stats, err := w.AddImage(t.Context(), archive(t, "a.img"), bytes.NewReader(data), int64(len(data)))
				if want := map[bool]int{true: 3}[same]; err != nil || stats.ReusedChunks != want {
					t.Errorf("%+v, %v", stats, err)
				}
				if _, err := w.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				got, err := readWith(t, ds, w.Snapshot(), "a.img", opts.Key)
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			})
		}
	}
}

func TestABaseThatIsAskedForAndMadeWithAnotherKeyIsRefused(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	base, _ := backUpWith(t, ds, store.Group("vm/100"), datastore.BackupOptions{Time: first, Key: testKey(t, 1)}, []byte("x"))
	_, err := ds.Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: second, Key: testKey(t, 2), Base: datastore.BaseChoice{Snapshot: &base}})
	if !errors.Is(err, blob.ErrWrongKey) {
		t.Error(err)
	}
}

func TestABaseWhoseSignatureIsWrongVouchesForNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"changed":  {`"size": 9437184`, `"size": 9437185`},
		"stripped": {`"signature": "`, `"signature": null, "was": "`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			store.Damaged = true
			ds, data, key := store.Open(datastore.Options{}), image(t, "xs64:1:9M"), testKey(t, 1)
			snapshot, _ := backUpWith(t, ds, store.Group("vm/100"), datastore.BackupOptions{Time: first, Key: key}, data)
			putManifest(t, store, snapshot, bytes.Replace(manifestText(t, store, snapshot), []byte(change[0]), []byte(change[1]), 1))
			// What lies in the store is not what its names say.
			for _, path := range allChunks(t, store) {
				stored := readFile(t, path)
				stored[20] ^= 1 // in the IV, which the CRC does not cover
				put(t, path, string(stored))
			}
			again, _ := backUpWith(t, ds, store.Group("vm/100"), datastore.BackupOptions{Time: second, Key: key}, data)
			for _, name := range fourArchives {
				if got, err := readWith(t, ds, again, name, key); err != nil || !bytes.Equal(got, data) {
					t.Errorf("%s: %d bytes, %v", name, len(got), err)
				}
			}
		})
	}
}

func allChunks(t testing.TB, store *testds.Store) []string {
	t.Helper()
	chunks, err := filepath.Glob(filepath.Join(store.Dir, ".chunks/*/*"))
	if err != nil || len(chunks) == 0 {
		t.Fatal(chunks, err)
	}
	return slices.DeleteFunc(chunks, func(name string) bool { return strings.HasSuffix(name, ".bad") })
}

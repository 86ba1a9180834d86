package datastore_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/keys"
)

// goldenList is the listing of a store by the original program.
type goldenList struct {
	Namespaces []struct {
		NS     string
		Groups []struct {
			Group          string
			LastSuccessful int64 `json:"last-successful"`
			Notes          string
			Owner          string
			Snapshots      []struct {
				Path        string
				Files       []string
				Fingerprint string
				Finished    bool
				Protected   bool
			}
		}
	}
}

func readGoldenList(t *testing.T, name string) (list goldenList) {
	t.Helper()
	text, err := os.ReadFile(testds.Testdata(t, "golden/expected/"+name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAStoreOfTheOriginalIsListedAsTheOriginalListsIt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"store", "store-damaged", "store-damaged-verified"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := testds.Golden(t, name).Open(datastore.Options{})
			list := name + ".list.json"
			if name == "store-damaged-verified" {
				list = "store-damaged.list.json"
			}
			compareList(t, store, readGoldenList(t, list))
		})
	}
}

func compareList(t *testing.T, store *datastore.Datastore, want goldenList) {
	t.Helper()
	var namespaces []string
	for ns, err := range store.Namespaces(t.Context(), backupinfo.Namespace{}, -1) {
		if err != nil {
			t.Error(err)
		}
		namespaces = append(namespaces, ns.String())
	}
	var wanted []string
	for _, ns := range want.Namespaces {
		wanted = append(wanted, ns.NS)
		space, err := backupinfo.ParseNamespace(ns.NS)
		if err != nil {
			t.Fatal(err)
		}
		next, stop := iterPull(store.Groups(t.Context(), space))
		defer stop()
		for _, group := range ns.Groups {
			got, err, ok := next()
			if !ok || err != nil {
				t.Fatalf("group %s: %v", group.Group, err)
			}
			if got.Group.String() != group.Group || got.Owner.String() != group.Owner || int64(got.LastBackup) != group.LastSuccessful ||
				got.Count != len(group.Snapshots) || got.Comment != strings.Split(group.Notes, "\n")[0] || got.Err != nil {
				t.Errorf("group %+v, the original has %+v", got, group)
			}
			nextSnapshot, stop := iterPull(store.Snapshots(t.Context(), got.Group))
			defer stop()
			for _, snapshot := range group.Snapshots {
				got, err, ok := nextSnapshot()
				if !ok || err != nil {
					t.Fatalf("snapshot %s: %v", snapshot.Path, err)
				}
				var files []string
				for _, file := range got.Files {
					files = append(files, file.Name)
				}
				slices.Sort(files)
				if got.Snapshot.Dir() != snapshot.Path || !slices.Equal(files, snapshot.Files) || got.Finished != snapshot.Finished ||
					got.Protected != snapshot.Protected || got.Fingerprint != snapshot.Fingerprint {
					t.Errorf("snapshot %+v, the original has %+v", got, snapshot)
				}
			}
			if extra, _, ok := nextSnapshot(); ok {
				t.Errorf("snapshot %v is not in the original's list", extra.Snapshot)
			}
		}
	}
	slices.Sort(wanted)
	if !slices.Equal(namespaces, wanted) {
		t.Errorf("namespaces %q, the original has %q", namespaces, wanted)
	}
}

// goldenArchive is one archive of the original's store, and what is in it.
type goldenArchive struct{ ns, path, file, sum string }

func goldenArchives(t *testing.T) (all []goldenArchive) {
	t.Helper()
	f, err := os.Open(testds.Testdata(t, "golden/expected/restore.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var a goldenArchive
		var size uint64
		line := strings.TrimPrefix(lines.Text(), "ns=")
		a.ns, line, _ = strings.Cut(line, " ")
		if _, err := fmt.Sscanf(line, "%s %s %d bytes sha256 %s", &a.path, &a.file, &size, &a.sum); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		a.sum = fmt.Sprintf("%d %s", size, a.sum)
		all = append(all, a)
	}
	return all
}

func TestEveryArchiveOfTheOriginalRestoresToTheOriginalsBytes(t *testing.T) {
	t.Parallel()
	store := testds.Golden(t, "store").Open(datastore.Options{})
	ring := map[string]*keys.Key{
		"vm/101/2024-02-01T12:00:00Z":                 goldenKey(t, "k1-plain.json"),
		"ct/201/2024-03-03T03:04:05Z":                 goldenKey(t, "k2-pbkdf2.json"), // signed
		"host/alpha.example.com/2024-04-03T00:00:01Z": goldenKey(t, "k2-pbkdf2.json"),
	}
	var plain, encrypted int
	for _, a := range goldenArchives(t) {
		got, err := restoreSum(t, store, a.ns, a.path, a.file, nil)
		key := ring[a.path]
		switch {
		case errors.Is(err, blob.ErrNeedKey) && key != nil:
			encrypted++
			got, err = restoreSum(t, store, a.ns, a.path, a.file, key)
		case err == nil:
			plain++
		}
		if err != nil || got != a.sum {
			t.Errorf("%+v: %s, %v", a, got, err)
		}
		if key == nil {
			continue
		}
		if got, err := restoreSum(t, store, a.ns, a.path, a.file, key); err != nil || got != a.sum {
			t.Errorf("%+v with its key: %s, %v", a, got, err)
		}
		if _, err := restoreSum(t, store, a.ns, a.path, a.file, testKey(t, 1)); !errors.Is(err, blob.ErrWrongKey) {
			t.Errorf("%+v with another key: %v", a, err)
		}
	}
	if plain != 27 || encrypted != 6 {
		t.Errorf("%d archives restored and %d encrypted", plain, encrypted)
	}
}

func TestSnapshotsOfTheOriginalAreProvenWithTheirKey(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]map[string]datastore.Signature{
		"k1-plain.json":  {"vm/101": datastore.SignatureOK, "ct/201": datastore.SignatureUnchecked},
		"k2-pbkdf2.json": {"vm/101": datastore.SignatureUnchecked, "ct/201": datastore.SignatureOK, "host/alpha.example.com": datastore.SignatureOK},
	} {
		key, got := goldenKey(t, name), map[string]datastore.Signature{}
		report, err := testds.Golden(t, "store").Open(datastore.Options{}).Verify(t.Context(), datastore.VerifyOptions{
			Depth: -1, Key: key, DryRun: true, Each: func(v datastore.SnapshotVerdict) {
				if v.Verdict != datastore.VerdictOK && v.Verdict != datastore.VerdictUnfinished {
					t.Errorf("%s: %+v", name, v)
				}
				got[v.Snapshot.Group.String()] = v.Signature
			},
		})
		if err != nil || report.Encrypted == 0 {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
		for group, signature := range want {
			if got[group] != signature {
				t.Errorf("%s: signature of %s: %q, not %q", name, group, got[group], signature)
			}
		}
	}
}

func restoreSum(t *testing.T, store *datastore.Datastore, ns, path, file string, key *keys.Key) (string, error) {
	t.Helper()
	space, err := backupinfo.ParseNamespace(ns)
	if err != nil {
		return "", err
	}
	snapshot, err := backupinfo.ParseSnapshot(space, path)
	if err != nil {
		return "", err
	}
	reader, err := store.OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{Key: key})
	if err != nil {
		return "", err
	}
	defer reader.Close()
	name, err := backupinfo.ParseFileName(file)
	if err != nil {
		return "", err
	}
	archive, err := reader.OpenArchive(t.Context(), name)
	if err != nil {
		return "", err
	}
	defer archive.Close()
	hash := sha256.New()
	stats, err := archive.CopyTo(t.Context(), hash, datastore.RestoreOptions{})
	if err == nil && stats.Size != archive.Size() {
		err = fmt.Errorf("%d of %d bytes", stats.Size, archive.Size())
	}
	return fmt.Sprintf("%d %s", stats.Size, hex.EncodeToString(hash.Sum(nil))), err
}

// What is wrong with each archive of the damaged store is told in the golden data's README.
func TestDamageIsNeverAccepted(t *testing.T) {
	t.Parallel()
	damage := map[string]error{
		"vm/1/2024-01-01T00:00:00Z a.img.fidx": datastore.ErrCorrupt, // CRC of a chunk
		"vm/1/2024-01-02T00:00:00Z a.img.fidx": datastore.ErrCorrupt, // a chunk is missing
		"vm/2/2024-01-01T00:00:00Z a.img.fidx": datastore.ErrCorrupt, // another valid chunk in its place
		"vm/3/2024-01-01T00:00:00Z a.didx":     datastore.ErrCorrupt, // an offset was flipped
		"vm/4/2024-01-01T00:00:00Z a.didx":     datastore.ErrCorrupt, // the index is cut short
		"vm/5/2024-01-01T00:00:00Z c.blob":     datastore.ErrCorrupt, // CRC of a blob
		"vm/6/2024-01-01T00:00:00Z c.blob":     datastore.ErrCorrupt, // CRC of the manifest
		"vm/7/2024-01-01T00:00:00Z a.img.fidx": datastore.ErrCorrupt, // a chunk of 0 bytes
		"vm/8/2024-01-01T00:00:00Z a.img.fidx": blob.ErrNeedKey,      // encrypted
		"vm/9/2024-01-01T00:00:00Z empty.didx": nil,                  // an empty index, which the original can't read
	}
	for _, name := range []string{"store-damaged", "store-damaged-verified"} {
		store := testds.Golden(t, name).Open(datastore.Options{})
		for what, want := range damage {
			path, file, _ := strings.Cut(what, " ")
			if _, err := restoreSum(t, store, "", path, file, nil); !errors.Is(err, want) {
				t.Errorf("%s: %s gives %v, not %v", name, what, err, want)
			}
		}
	}
}

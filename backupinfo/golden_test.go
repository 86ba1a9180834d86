package backupinfo

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/blob"
)

// listing is how the original's own code lists a store.
type listing struct {
	Namespaces []struct {
		NS     string
		Groups []struct {
			Group     string
			Owner     string
			Snapshots []listedSnapshot
		}
	}
}

type listedSnapshot struct {
	Path        string
	Time        Time
	TimeString  string `json:"time-string"`
	Finished    bool
	Fingerprint *string
	Manifest    json.RawMessage
	Files       []string
}

// golden are stores that the original wrote, with its listing of each.
var golden = map[string]string{
	"../testdata/golden/store.tar.gz":                  "../testdata/golden/expected/store.list.json",
	"../testdata/golden/store-damaged-verified.tar.gz": "testdata/store-damaged-verified.list.json",
}

// filesOf reads the small files of a store, by their path below its root.
func filesOf(t *testing.T, archive string) map[string][]byte {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		if base := path.Base(name); h.Typeflag != tar.TypeReg || base != ManifestName && base != OwnerName {
			continue
		}
		if files[name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func readListing(t *testing.T, name string) listing {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var l listing
	if err := json.Unmarshal(data, &l); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAllNamesOfTheGoldenStoresReadBack(t *testing.T) {
	t.Parallel()
	for archive, list := range golden {
		files := filesOf(t, archive)
		for _, n := range readListing(t, list).Namespaces {
			ns, err := ParseNamespace(n.NS)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range n.Groups {
				group, err := ParseGroup(ns, g.Group)
				if err != nil {
					t.Fatal(err)
				}
				owner, err := ParseOwner(files[group.Dir()+"/"+OwnerName])
				if err != nil || string(owner) != g.Owner || string(owner.OwnerFile()) != string(files[group.Dir()+"/"+OwnerName]) {
					t.Errorf("%s: owner %q, %v; want %q", group.Dir(), owner, err, g.Owner)
				}
				for _, s := range g.Snapshots {
					got, err := ParseSnapshotDir(s.Path)
					if err != nil || got != (Snapshot{group, s.Time}) || got.Dir() != s.Path || got.Time.String() != s.TimeString {
						t.Errorf("%s: %+v, %v", s.Path, got, err)
					}
				}
			}
		}
	}
}

func TestManifestsOfTheGoldenStoresReadAndWriteToTheByte(t *testing.T) {
	t.Parallel()
	count := 0
	for archive, list := range golden {
		files := filesOf(t, archive)
		decoder := blob.NewDecoder()
		for _, n := range readListing(t, list).Namespaces {
			for _, g := range n.Groups {
				for _, s := range g.Snapshots {
					stored, finished := files[s.Path+"/"+ManifestName]
					if finished != s.Finished {
						t.Errorf("%s: finished is %v", s.Path, finished)
					}
					text, err := decoder.Decode(nil, stored, MaxManifestSize)
					if err != nil || len(s.Manifest) == 0 {
						continue // unfinished or damaged: the original could not read it either
					}
					checkGoldenManifest(t, s, string(text))
					count++
				}
			}
		}
		if err := decoder.Close(); err != nil {
			t.Error(err)
		}
	}
	if count < 20 {
		t.Errorf("only %d manifests were read", count)
	}
}

func checkGoldenManifest(t *testing.T, want listedSnapshot, text string) {
	t.Helper()
	m, err := ParseManifest([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", want.Path, err)
	}
	snapshot, err := ParseSnapshotDir(want.Path)
	if err != nil || m.Check(snapshot) != nil {
		t.Errorf("%s: %v, %v", want.Path, err, m.Check(snapshot))
	}
	if got := mustMarshal(t, m); got != text {
		t.Errorf("%s: written as\n%s\nread as\n%s", want.Path, got, text)
	}
	checkSameFiles(t, want.Path, m, want.Manifest)
	checkGoldenUnprotected(t, want, m)
	for _, f := range m.Files() {
		if found, err := m.Find(f.Name); err != nil || found != f {
			t.Errorf("%s: %v", want.Path, err)
		}
	}
}

func checkGoldenUnprotected(t *testing.T, want listedSnapshot, m *Manifest) {
	t.Helper()
	f, err := m.Fingerprint()
	if err != nil || (f != nil) != (want.Fingerprint != nil) || f != nil && f.String() != *want.Fingerprint {
		t.Errorf("%s: fingerprint %v, %v", want.Path, f, err)
	}
	var original struct {
		Unprotected struct {
			Notes  string
			Verify *struct{ State, UPID string } `json:"verify_state"`
			Stats  any                           `json:"chunk_upload_stats"`
		}
		Signature *string
	}
	if err := json.Unmarshal(want.Manifest, &original); err != nil {
		t.Fatal(err)
	}
	if m.Notes() != original.Unprotected.Notes {
		t.Errorf("%s: notes %q", want.Path, m.Notes())
	}
	v, w := m.VerifyState(), original.Unprotected.Verify
	if (v != nil) != (w != nil) || v != nil && (string(v.State) != w.State || v.UPID.String() != w.UPID) {
		t.Errorf("%s: verify state %+v, want %+v", want.Path, v, w)
	}
	var stats any
	if raw := m.Unprotected("chunk_upload_stats"); raw != nil {
		if err := json.Unmarshal(raw, &stats); err != nil {
			t.Error(err)
		}
	}
	if !reflect.DeepEqual(stats, original.Unprotected.Stats) {
		t.Errorf("%s: stats %v", want.Path, stats)
	}
	if text, ok := m.Signature(); ok != (original.Signature != nil) || ok && text != *original.Signature {
		t.Errorf("%s: signature %q, %v", want.Path, text, ok)
	}
}

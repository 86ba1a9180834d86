package datastore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// sizesModel is a store as a list of who refers to which chunk.
type sizesModel struct {
	stored map[digest.Digest]uint64
	groups []string                   // in the order of the listing
	uses   [][]map[digest.Digest]bool // of each group, of each snapshot
}

// TestSizesAreThoseOfASimpleModel compares stores of random indexes with sets.
func TestSizesAreThoseOfASimpleModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		store := testds.New(t)
		store.Damaged = true
		m := randomReferences(t, store, rand.New(rand.NewPCG(seed, 1)))
		report := sizes(t, store)
		all := map[digest.Digest]int{} // how many groups refer to it
		inAll := map[digest.Digest]int{}
		for _, snapshots := range m.uses {
			for d := range union(snapshots...) {
				all[d]++
			}
			for _, s := range snapshots {
				for d := range s {
					inAll[d]++
				}
			}
		}
		number := 0
		for i, snapshots := range m.uses {
			m.compare(t, m.groups[i], report.Groups[i].Size, union(snapshots...), all)
			for _, s := range snapshots {
				m.compare(t, report.Snapshots[number].Snapshot.String(), report.Snapshots[number].Size, s, inAll)
				number++
			}
		}
		total := map[digest.Digest]bool{}
		for d := range all {
			total[d], all[d] = true, 1
		}
		m.compare(t, "all", report.Total, total, all)
		if number != len(report.Snapshots) || len(report.Unread) > 0 {
			t.Errorf("%d: %+v", seed, report)
		}
	}
}

func (m *sizesModel) compare(t *testing.T, name string, got datastore.Size, chunks map[digest.Digest]bool, referring map[digest.Digest]int) {
	t.Helper()
	var want datastore.Size
	for d := range chunks {
		size, there := m.stored[d]
		want.Chunks++
		want.Stored += size
		if !there {
			want.Missing++
		}
		if referring[d] == 1 {
			want.Unique += size
		}
	}
	got.Files, got.Logical = 0, 0
	if got != want {
		t.Errorf("%s: %+v, want %+v", name, got, want)
	}
}

func union(sets ...map[digest.Digest]bool) map[digest.Digest]bool {
	all := map[digest.Digest]bool{}
	for _, set := range sets {
		for d := range set {
			all[d] = true
		}
	}
	return all
}

// randomReferences fills a store: 40 chunks, some of them missing, some in the same directory.
func randomReferences(t *testing.T, store *testds.Store, r *rand.Rand) *sizesModel {
	t.Helper()
	m := &sizesModel{stored: map[digest.Digest]uint64{}}
	digests := make([]digest.Digest, 40)
	for i := range digests {
		digests[i] = digest.Of([]byte{byte(i)})
		if i%3 == 0 {
			copy(digests[i][:], digests[0][:9]) // these differ in the key's last byte
		}
		if i%7 == 6 {
			continue
		}
		m.stored[digests[i]] = uint64(1 + r.IntN(1000))
		planted(".chunks/"+digests[i].String()[:4]+"/"+digests[i].String(), string(make([]byte, m.stored[digests[i]])))(t, store.Dir)
	}
	for g := range 1 + r.IntN(4) {
		name := fmt.Sprint("vm/", 100+g)
		m.groups = append(m.groups, name)
		m.uses = append(m.uses, nil)
		for s := range 1 + r.IntN(5) {
			used := map[digest.Digest]bool{}
			dir := filepath.Join(store.Dir, name, backupinfo.Time(1_700_000_000+s).String())
			noError(t, os.MkdirAll(dir, 0o755))
			for file := range r.IntN(3) {
				put(t, filepath.Join(dir, fmt.Sprint(file, ".img.fidx")), randomIndex(t, r, digests, used))
			}
			m.uses[g] = append(m.uses[g], used)
		}
	}
	return m
}

func randomIndex(t *testing.T, r *rand.Rand, digests []digest.Digest, used map[digest.Digest]bool) string {
	t.Helper()
	const size = 4 << 20
	var entries bytes.Buffer
	w, err := index.NewFixedWriter(&entries, size)
	noError(t, err)
	count := 1 + r.IntN(20)
	for range count {
		d := digests[r.IntN(len(digests))]
		used[d] = true
		noError(t, w.Add(d))
	}
	header, _, err := w.Finish(uint64(count)*size, [16]byte{}, 1)
	noError(t, err)
	return string(header) + entries.String()
}

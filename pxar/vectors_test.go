package pxar

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/pbs-like/pbs-like/internal/goldenfile"
)

func decodeJSON(t testing.TB, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(goldenfile.Read(t, "pxar", name), into); err != nil {
		t.Fatal(err)
	}
}

func TestHashOfNamesIsTheOriginals(t *testing.T) {
	t.Parallel()
	var vectors struct {
		Cases []struct {
			Name string `json:"name-hex"`
			Hash string
		}
	}
	decodeJSON(t, "vectors/siphash.json", &vectors)
	for _, c := range vectors.Cases {
		name, err := hex.DecodeString(c.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%016x", hashName(string(name))); got != c.Hash {
			t.Errorf("%q: %s, want %s", name, got, c.Hash)
		}
	}
	if len(vectors.Cases) < 50 {
		t.Errorf("only %d vectors", len(vectors.Cases))
	}
}

func TestTablesArePermutedLikeTheOriginals(t *testing.T) {
	t.Parallel()
	var vectors struct{ Perms map[string][]uint64 }
	decodeJSON(t, "vectors/goodbye-permutation.json", &vectors)
	for text, want := range vectors.Perms {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		slots := make([]slot, n)
		for i := range slots {
			slots[n-1-i].hash = uint64(i) // not in order yet
		}
		var got []uint64
		for _, s := range permute(slots) {
			got = append(got, s.hash)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d items: %v, want %v", n, got, want)
		}
	}
	if len(vectors.Perms) < 100 {
		t.Errorf("only %d vectors", len(vectors.Perms))
	}
}

func TestSearchVisitsTheSlotsThatTheOriginalVisits(t *testing.T) {
	t.Parallel()
	var vectors struct {
		Cases []struct {
			Table      []uint64
			Find       uint64
			Candidates []uint64
		}
	}
	decodeJSON(t, "vectors/goodbye-search.json", &vectors)
	for _, c := range vectors.Cases {
		var got []uint64
		at := func(i uint64) (slot, error) { return slot{hash: c.Table[i], offset: i}, nil }
		found := func(s slot) (bool, error) {
			got = append(got, s.offset)
			return false, nil
		}
		if ok, err := search(uint64(len(c.Table)), c.Find, at, found); ok || err != nil {
			t.Errorf("found %v, error %v", ok, err)
		}
		if !slices.Equal(got, c.Candidates) {
			t.Errorf("%d in %v: %v, want %v", c.Find, c.Table, got, c.Candidates)
		}
	}
}

func TestSearchEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	at := func(uint64) (slot, error) { return slot{hash: 1}, nil }
	if _, err := search(7, 1, at, func(slot) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, err := search(7, 1, func(uint64) (slot, error) { return slot{}, broken }, nil); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

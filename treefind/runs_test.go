package treefind

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/catalog"
)

// TestVersionsAreWhatAListOfAllSnapshotsSays draws, for each snapshot, whether it could be searched whole, and what was found.
func TestVersionsAreWhatAListOfAllSnapshotsSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := newTimeline(backupinfo.Group{})
		var sizes []int // of the file in each snapshot, 0 for none
		var whole []bool
		for now := range rapid.IntRange(1, 12).Draw(t, "snapshots") {
			line.begin("a", backupinfo.Time(now))
			sizes, whole = append(sizes, rapid.IntRange(0, 2).Draw(t, "size")), append(whole, rapid.Bool().Draw(t, "whole"))
			if sizes[now] > 0 {
				if err := line.add("a", item{path: "/a/x", kind: catalog.File, size: uint64(sizes[now])}); err != nil {
					t.Fatal(err)
				}
			}
			if !whole[now] {
				line.spoil("a")
			}
		}
		var want []string
		for first := range sizes {
			if sizes[first] == 0 || continues(sizes, whole, first) >= 0 {
				continue
			}
			last, count := first, 1
			for now := first + 1; now < len(sizes); now++ {
				if sizes[now] == sizes[first] && continues(sizes, whole, now) == last {
					last, count = now, count+1
				}
			}
			want = append(want, fmt.Sprintf("%d: %d-%d x%d", sizes[first], first, last, count))
		}
		var got []string
		line.each(func(m Match) bool {
			for _, v := range m.Versions {
				got = append(got, fmt.Sprintf("%d: %d-%d x%d", v.Size, v.First, v.Last, v.Snapshots))
			}
			return true
		})
		if !slices.Equal(got, want) {
			t.Errorf("%v, %v: %q, want %q", sizes, whole, got, want)
		}
	})
}

// continues gives the snapshot whose version goes on in this one, or -1: between them nothing was seen whole.
func continues(sizes []int, whole []bool, now int) int {
	for before := now - 1; before >= 0; before-- {
		if sizes[before] == sizes[now] {
			return before
		}
		if whole[before] {
			return -1
		}
	}
	return -1
}

func TestTooManyMatchesAreRefusedBeforeTheyTakeTheMemory(t *testing.T) {
	t.Parallel()
	line := newTimeline(backupinfo.Group{})
	line.room = 10_000
	line.begin("a", 1)
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		err = line.add("a", item{path: fmt.Sprintf("/a/%d", n)})
	}
	if !errors.Is(err, ErrTooMany) || n < 30 || n > 50 {
		t.Errorf("%d: %v", n, err)
	}
}

// TestAHostilePathThatComesAMillionTimesTakesNoTime is about the versions that one is compared with.
func TestAHostilePathThatComesAMillionTimesTakesNoTime(t *testing.T) {
	t.Parallel()
	line := newTimeline(backupinfo.Group{})
	line.begin("a", 1)
	for n := range 1_000_000 {
		if err := line.add("a", item{path: "/a/x", size: uint64(n)}); err != nil {
			t.Fatal(err)
		}
	}
}

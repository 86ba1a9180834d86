package mount

import (
	"fmt"
	"testing"

	"github.com/pbs-like/pbs-like/digest"
)

func TestTheCacheKeepsWhatWasUsedLastAndNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	c := newCache(1000)
	key := func(i int) chunkKey { return chunkKey{digest.Of([]byte{byte(i)}), 300} }
	for i := range 10 {
		c.put(key(i), make([]byte, 300))
		if c.used > 1000 || len(c.entries) != c.recent.Len() {
			t.Fatalf("%d bytes in %d entries after %d", c.used, len(c.entries), i)
		}
	}
	for i, want := range map[int]bool{6: false, 7: true, 8: true, 9: true} {
		if c.entries[key(i)] != nil != want {
			t.Errorf("chunk %d is there: %v", i, !want)
		}
	}
	if c.put(key(20), make([]byte, 5000)); len(c.entries) != 1 {
		t.Error("one that is too large is not alone:", len(c.entries))
	}
	if c.clear(); c.used != 0 || len(c.entries)+c.recent.Len() != 0 {
		t.Error("something is left")
	}
}

func TestInodeNumbersAreOfOneThingEach(t *testing.T) {
	t.Parallel()
	i := newInodes()
	seen := map[uint64]string{}
	for n := range 2000 {
		key := fmt.Sprint(n)
		ino := i.one(key)
		if had, taken := seen[ino]; taken || ino != i.one(key) || ino&singleBit == 0 || ino == ^uint64(0) {
			t.Fatalf("%s has %d, as has %q", key, ino, had)
		}
		seen[ino] = key
	}
	if newInodes().one("7") != i.one("7") {
		t.Error("the number of a name is another one in another mount")
	}
}

// TestRangesOfInodeNumbersNeverMeet makes them so large that their hashes would have them overlap.
func TestRangesOfInodeNumbersNeverMeet(t *testing.T) {
	t.Parallel()
	i := newInodes()
	const size = 1 << 58
	for n := range 200 {
		key := fmt.Sprint(n)
		if start := i.span(key, size); start != i.span(key, size) || start&singleBit != 0 {
			t.Fatal("the range of", n, "moves, or is among the single numbers")
		}
	}
	if len(i.ranges) != 200 {
		t.Fatal(len(i.ranges), "ranges")
	}
	for at := 1; at < len(i.ranges); at++ {
		if i.ranges[at].start < i.ranges[at-1].end {
			t.Errorf("%+v meets %+v", i.ranges[at-1], i.ranges[at])
		}
	}
}

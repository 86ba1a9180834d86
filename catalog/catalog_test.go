package catalog

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// TestABlockThatIsReachedTwiceIsDamage is against a few kilobytes that would be walked for ever:
// each directory lists the one before a thousand times.
func TestABlockThatIsReachedTwiceIsDamage(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w, err := NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	block := uint64(0)
	for depth := range 6 {
		if err := w.Begin("d"); err != nil {
			t.Fatal(err)
		}
		dir := &w.dirs[1]
		for range 1000 {
			if depth > 0 {
				dir.add(Directory, "d")
				dir.pieces = append(dir.pieces, piece{len(dir.entries), block})
			}
		}
		block = w.pos
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := open([]byte(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	good, bad := 0, 0
	for _, err := range r.All() {
		if err == nil {
			good++
		} else if bad++; !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	}
	if good > 6*1001 || bad < 999 {
		t.Errorf("%d entries, %d errors", good, bad)
	}
}

func TestEntriesListsOneDirectory(t *testing.T) {
	t.Parallel()
	r, err := open(testFile(t, "types.pcat1"))
	if err != nil {
		t.Fatal(err)
	}
	for archive, err := range r.Root() {
		if err != nil || archive.Name != "root.pxar.didx" || archive.Kind != Directory {
			t.Fatal(archive, err)
		}
		n := 0
		for e, err := range r.Entries(archive) {
			if err != nil || strings.Contains(e.Name, "/") {
				t.Fatal(e, err)
			}
			n++
		}
		if n != 33 {
			t.Errorf("%d entries", n)
		}
	}
}

func TestWriterRefusesWhatItCannotWrite(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(*Writer) error{
		"a long name":            func(w *Writer) error { return w.Begin(strings.Repeat("n", 4096)) },
		"a directory as entry":   func(w *Writer) error { return w.Add(Entry{Kind: Directory, Name: "d"}) },
		"an entry of no kind":    func(w *Writer) error { return w.Add(Entry{Name: "d"}) },
		"the end of the root":    func(w *Writer) error { return w.End() },
		"closing inside":         func(w *Writer) error { return errors.Join(w.Begin("d"), w.Close()) },
		"writing after it ended": func(w *Writer) error { return errors.Join(w.Close(), w.Begin("d")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := NewWriter(io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if act(w) == nil {
				t.Error("taken")
			}
		})
	}
}

func FuzzReader(f *testing.F) {
	for _, name := range golden() {
		if name != "dirs" {
			f.Add(testFile(f, name+".pcat1"))
		}
	}
	for _, c := range lines[malformed](f, testFile(f, "malformed-catalogs.jsonl")) {
		f.Add(c.bytes(f))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := open(data)
		if err != nil {
			return
		}
		n := 0
		for _, err := range r.All() {
			if n++; n > 2*len(data) || err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%d entries of %d bytes: %v", n, len(data), err)
			}
		}
	})
}

func TestTimesReachFromEndToEnd(t *testing.T) {
	t.Parallel()
	for _, v := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		if got, err := readInt(strings.NewReader(string(appendInt(nil, v)))); got != v || err != nil {
			t.Errorf("%d: %d, %v", v, got, err)
		}
	}
}

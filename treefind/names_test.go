package treefind

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pbs-like/pbs-like/catalog"
)

// drawItems makes a tree, in its order, below one or two archives. Directories may come twice.
func drawItems(t *rapid.T) (items []item) {
	var below func(path string, depth int)
	below = func(path string, depth int) {
		for range rapid.IntRange(0, 4).Draw(t, "entries") {
			i := item{path: path + "/" + rapid.StringMatching(`[a-c\n]{1,3}`).Draw(t, "name"), kind: catalog.File}
			if depth < 4 && rapid.Bool().Draw(t, "directory") {
				i.kind = catalog.Directory
				items = append(items, i)
				below(i.path, depth+1)
				continue
			}
			i.size, i.modTime = rapid.Uint64().Draw(t, "size"), rapid.Int64().Draw(t, "time")
			items = append(items, i)
		}
	}
	for n := range rapid.IntRange(1, 2).Draw(t, "archives") {
		top := item{path: fmt.Sprintf("/a%d.pxar.didx", n), kind: catalog.Directory}
		items = append(items, top)
		below(top.path, 0)
	}
	return items
}

// TestAListFindsWhatALookAtEachEntryFinds goes through the bytes of a file, too.
func TestAListFindsWhatALookAtEachEntryFinds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := drawItems(t)
		q := Query{Pattern: rapid.SampledFrom([]string{"a", "ab", "*", "a*", "*b?", "/a/**", "**/b/c", "[ab]"}).Draw(t, "pattern")}
		q.IgnoreCase = rapid.Bool().Draw(t, "fold")
		q.Kinds = rapid.SampledFrom([]Kinds{AllKinds, Files, Directories}).Draw(t, "kinds")
		m, err := Compile(q)
		if err != nil {
			t.Fatal(err)
		}
		w := listWriter{limit: 1 << 20}
		var want []item
		for _, i := range items {
			w.add(&i)
			if p := pathInArchive(i.path); p != "/" && m.Matches(p, i.kind) {
				want = append(want, i)
			}
		}
		written, ok := w.finish()
		if !ok {
			t.Fatal("given up")
		}
		key := cacheKey(sha256.Sum256(nil))
		list, err := parseList(key, encodeList(key, written))
		if err != nil {
			t.Fatal(err)
		}
		var got []item
		list.scan(m, func(i item) bool {
			got = append(got, i)
			return true
		})
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %+v, want %+v", q, got, want)
		}
	})
}

func TestAListThatBecomesTooLargeIsGivenUp(t *testing.T) {
	t.Parallel()
	w := listWriter{limit: 1000}
	w.add(&item{path: "/x.pxar.didx", kind: catalog.Directory})
	for n := range 100 {
		w.add(&item{path: fmt.Sprintf("/x.pxar.didx/%d", n), kind: catalog.File})
	}
	if _, ok := w.finish(); ok || cap(w.list.records) > 1000 {
		t.Error("it is kept")
	}
}

func sampleList() (cacheKey, []byte) {
	w := listWriter{limit: 1 << 20}
	for _, i := range []item{{"/r", catalog.Directory, 0, 0}, {"/r/d", catalog.Directory, 0, 0}, {"/r/d/f", catalog.File, 7, -1}, {"/r/l", catalog.Symlink, 0, 0}} {
		w.add(&i)
	}
	list, _ := w.finish()
	key := cacheKey{1, 2, 3}
	return key, encodeList(key, list)
}

// TestNoChangedByteOfAFileGoesUnnoticed flips each of its bits.
func TestNoChangedByteOfAFileGoesUnnoticed(t *testing.T) {
	t.Parallel()
	key, data := sampleList()
	if _, err := parseList(key, data); err != nil {
		t.Fatal(err)
	}
	for bit := range len(data) * 8 {
		changed := bytes.Clone(data)
		changed[bit/8] ^= 1 << (bit % 8)
		if _, err := parseList(key, changed); err == nil {
			t.Errorf("bit %d", bit)
		}
	}
	for n := range data {
		if _, err := parseList(key, data[:n]); err == nil {
			t.Errorf("cut at %d", n)
		}
	}
	if _, err := parseList(cacheKey{}, data); err == nil {
		t.Error("another key")
	}
}

// FuzzParseList gives what it makes of the bytes a right checksum, so that the rest is looked at.
func FuzzParseList(f *testing.F) {
	key, data := sampleList()
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= cacheHeader {
			copy(data, cacheMagic)
			copy(data[len(cacheMagic):], key[:])
			sum := cacheSum(data)
			for i := range 4 {
				data[cacheSumAt+i] = byte(sum >> (8 * i))
			}
		}
		list, err := parseList(key, data)
		if err != nil {
			return
		}
		m, err := Compile(Query{Pattern: "**/*"})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		list.scan(m, func(item) bool { n++; return true })
		if n > list.count() {
			t.Errorf("%d of %d", n, list.count())
		}
		if again := encodeList(key, list); !bytes.Equal(again, data) {
			t.Error("it is not written as it was read")
		}
	})
}

package pxar

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/internal/goldenfile"
)

// endless repeats what it has for ever, behind a beginning.
type endless struct {
	begin, again []byte
	at           int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if e.at < len(e.begin) {
			m := copy(p[n:], e.begin[e.at:])
			n, e.at = n+m, e.at+m
			continue
		}
		i := (e.at - len(e.begin)) % len(e.again)
		m := copy(p[n:], e.again[i:])
		n, e.at = n+m, e.at+m
	}
	return n, nil
}

func dirEntry() []byte {
	return Stat{Mode: modeDir | 0o755}.append(header{itemEntry, entrySize}.append(nil))
}

func filenameItem(name string) []byte {
	return append(append(header{itemFilename, uint64(len(name) + 1)}.append(nil), name...), 0)
}

func xattrItem(size int) []byte {
	return append(append(header{itemXattr, uint64(2 + size)}.append(nil), 'a', 0), make([]byte, size)...)
}

// TestEndlessArchivesEndWithAnErrorAndLittleMemory reads archives that go on for ever at places where something is kept.
func TestEndlessArchivesEndWithAnErrorAndLittleMemory(t *testing.T) {
	for name, source := range map[string]*endless{
		"large attributes":           {begin: dirEntry(), again: xattrItem(60000)},
		"small attributes":           {begin: dirEntry(), again: xattrItem(0)},
		"access lists":               {begin: dirEntry(), again: appendWords(nil, itemACLUser, 1, 7)},
		"directories, short names":   {begin: dirEntry(), again: append(filenameItem("d"), dirEntry()...)},
		"directories, long names":    {begin: dirEntry(), again: append(filenameItem(strings.Repeat("d", maxName)), dirEntry()...)},
		"a prelude":                  {begin: header{itemPrelude, 1 << 40}.append(appendWords(nil, itemVersion, 2)), again: make([]byte, 1<<16)},
		"a table, at the very end":   {begin: append(dirEntry(), header{itemGoodbye, 1 << 30}.append(nil)...), again: make([]byte, 1<<16)},
		"content that nobody wanted": {begin: append(append(dirEntry(), filenameItem("f")...), dirEntry()...), again: append(header{itemPayload, 1 << 28}.append(nil), make([]byte, 1<<16)...)},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			after = before
			r, err := NewReader(source, ReaderOptions{})
			for n := 0; err == nil; {
				_, err = r.Next()
				if n++; n%1000 == 0 {
					runtime.ReadMemStats(&after)
				}
				if after.HeapAlloc > before.HeapAlloc+256<<20 {
					t.Fatal("too much memory")
				}
			}
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, io.EOF) {
				t.Errorf("%v", err)
			}
		})
	}
}

// counting counts what is read of an archive.
type counting struct {
	*bytes.Reader
	reads, bytes int
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	c.reads++
	n, err := c.Reader.ReadAt(p, at)
	c.bytes += n
	return n, err
}

// TestLookupReadsLittle finds a file in a large archive, and counts.
func TestLookupReadsLittle(t *testing.T) {
	t.Parallel()
	const files, size = 2000, 10_000
	var out bytes.Buffer
	meta := &Metadata{Stat: Stat{Mode: modeDir | 0o755}}
	w, err := NewWriter(&out, meta, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Add("dir", &Entry{Kind: Directory, Metadata: *meta}, nil); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		name := "file-" + string(rune('a'+i/100)) + "-" + string(rune('a'+i%100))
		if _, err := w.Add(name, &Entry{Kind: File, Size: size}, io.LimitReader(neverEnding('x'), size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Leave(), w.Close()); err != nil {
		t.Fatal(err)
	}
	source := &counting{Reader: bytes.NewReader(out.Bytes())}
	a, err := Open(source, int64(out.Len()), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := a.Lookup("/dir/file-c-d")
	if err != nil {
		t.Fatal(err)
	}
	if e.Size != size || source.reads > 40 || source.bytes > 100_000 {
		t.Errorf("%d bytes; %d reads of %d bytes together", e.Size, source.reads, source.bytes)
	}
	walked(t, a, source)
}

// walked counts what a walk over the same archive reads, which leaps over the contents.
func walked(t *testing.T, a *Archive, source *counting) {
	t.Helper()
	source.bytes = 0
	e, err := a.Lookup("/dir")
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range must(a.Dir(e)).Entries() {
		if err != nil || e.Kind != File {
			t.Fatal(e, err)
		}
	}
	if source.bytes > 20*2000*1000 {
		t.Errorf("a listing reads %d bytes", source.bytes)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

type neverEnding byte

func (b neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

// TestListingNamesWhatIsListedTwice has a table with one child several times, as an
// attack on whoever descends into all of it.
func TestListingNamesWhatIsListedTwice(t *testing.T) {
	t.Parallel()
	var archive []byte
	archive = append(archive, dirEntry()...)
	child := len(archive)
	archive = append(append(archive, filenameItem("d")...), dirEntry()...)
	inner := len(archive)
	archive = header{itemGoodbye, slotSize}.append(archive)
	archive = slot{tailMarker, uint64(inner - child - len(filenameItem("d"))), headerSize + slotSize}.append(archive)
	table := len(archive)
	archive = header{itemGoodbye, 4 * slotSize}.append(archive)
	for range 3 {
		archive = slot{hashName("d"), uint64(table - child), uint64(table - child)}.append(archive)
	}
	archive = slot{tailMarker, uint64(table), headerSize + 4*slotSize}.append(archive)
	a, err := openBytes(archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	good, bad := 0, 0
	for _, err := range a.root.Entries() {
		if err == nil {
			good++
		} else if bad++; !errors.Is(err, ErrCorrupt) {
			t.Error(err)
		}
	}
	if good != 1 || bad != 2 {
		t.Errorf("%d good and %d bad entries", good, bad)
	}
}

func TestErrorsOfTheSourceAreNotTakenForDamage(t *testing.T) {
	t.Parallel()
	archive := goldenfile.Read(t, "pxar", "v1/types.pxar.zst")
	broken := errors.New("the disk is gone")
	for n := 0; n < len(archive); n += 97 {
		source := io.MultiReader(bytes.NewReader(archive[:n]), failing{broken})
		r, err := NewReader(source, ReaderOptions{})
		for err == nil {
			if _, err = r.Next(); err == nil {
				_, err = io.Copy(io.Discard, r)
			}
		}
		if !errors.Is(err, broken) || errors.Is(err, ErrCorrupt) {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

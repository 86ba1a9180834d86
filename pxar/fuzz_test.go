package pxar

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/internal/goldenfile"
)

func addSeeds(f *testing.F) {
	f.Helper()
	for name, g := range golden() {
		if name != "v1-big" && name != "v1-dirs" { // which are large
			archive, payload := g.load(f)
			f.Add(archive, payload)
		}
	}
	files := goldenfile.MalformedTrees(f)
	for _, c := range malformedCases(f) {
		if c.Name != "deep-1500" {
			f.Add(files[c.Archive], files[c.Payload])
		}
	}
}

// FuzzReader reads anything; what it could read, the writer writes, and that reads the same.
func FuzzReader(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, archive, payload []byte) {
		first, err := sequential(archive, payload, withSeek)
		second, err2 := sequential(archive, payload, withoutSeek)
		if (err == nil) != (err2 == nil) || err == nil && !reflect.DeepEqual(first, second) {
			t.Fatalf("with seek %v %v\nwithout %v %v", first, err, second, err2)
		}
		if err != nil || hasError(first) {
			return
		}
		newArchive, _, err := rewrite(archive, payload)
		if err != nil {
			return // hard links that lead nowhere are read, and not written
		}
		again, err := sequential(newArchive, payload, withSeek)
		if err != nil {
			t.Fatal(err)
		}
		if len(again) < len(first)-2 { // a version 1 is not written down, and an empty prelude is none
			t.Fatalf("%d entries, then %d", len(first), len(again))
		}
	})
}

// FuzzArchive opens anything and looks everywhere.
func FuzzArchive(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, archive, payload []byte) {
		a, err := openBytes(archive, payload)
		if err != nil {
			return
		}
		for e, err := range a.root.Entries() {
			if err == nil {
				lookAt(t, a, e)
			}
		}
		root, err := a.Root()
		if err != nil {
			return
		}
		r, err := a.Walk(root)
		for err == nil {
			if _, err = r.Next(); err == nil {
				_, _ = io.Copy(io.Discard, r)
			}
		}
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	})
}

func lookAt(t *testing.T, a *Archive, e *Entry) {
	t.Helper()
	if strings.Count(e.Path, "/") != 1 || e.Name() == ".." {
		t.Fatalf("the path %q leads somewhere", e.Path)
	}
	_, _ = a.Lookup(e.Path)
	if content, err := a.Content(e); err == nil {
		if n, _ := io.Copy(io.Discard, content); uint64(n) > e.Size && e.Kind == File {
			t.Fatalf("%d bytes of %d", n, e.Size)
		}
	}
	if d, err := a.Dir(e); err == nil {
		for range d.Entries() {
		}
	}
}

package pxar

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pbs-like/pbs-like/internal/goldenfile"
)

// golden are all archives that the original wrote, by the name of their lists.
func golden() map[string]goldenArchive {
	all := map[string]goldenArchive{}
	for name := range strings.FieldsSeq("empty types names meta dirs big hardlinks exclude exclude-324 flags crafted") {
		all["v1-"+name] = goldenArchive{archive: "v1/" + name + ".pxar.zst"}
	}
	for name := range strings.FieldsSeq("types crafted") {
		all["split-"+name] = goldenArchive{"split/other/" + name + ".mpxar.zst", "split/other/" + name + ".ppxar.zst"}
	}
	for name := range strings.FieldsSeq("s1 s2 s3 s4") {
		all["chain-a-"+name] = goldenArchive{"split/chain-a/" + name + "/root.mpxar", "split/chain-a/" + name + "/root.ppxar.zst"}
	}
	return all
}

type goldenArchive struct{ archive, payload string }

func (g goldenArchive) load(t testing.TB) (archive, payload []byte) {
	t.Helper()
	archive = goldenfile.Read(t, "pxar", g.archive)
	if g.payload != "" {
		payload = goldenfile.Read(t, "pxar", g.payload)
	}
	return archive, payload
}

// line is one line of a golden list.
type line = map[string]any

func goldenLines(t testing.TB, name string) []line {
	t.Helper()
	var lines []line
	decoder := json.NewDecoder(bytes.NewReader(goldenfile.Read(t, "pxar", name)))
	decoder.UseNumber()
	for decoder.More() {
		var l line
		if err := decoder.Decode(&l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

// normal makes values comparable with what JSON decodes to.
func normal(t testing.TB, l line) line {
	t.Helper()
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out line
	if err := decoder.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// describe gives an entry in the words of the golden lists.
func describe(e *Entry) line {
	l := line{"type": e.Kind.String()}
	setText(l, "path", e.Path)
	switch e.Kind {
	case Hardlink:
		l["offset"] = e.LinkOffset
		setText(l, "target", e.Target)
		return l
	case Symlink:
		setText(l, "target", e.Target)
	case File:
		l["size"] = e.Size
		if e.Split {
			l["payload-offset"] = e.PayloadOffset
		}
	case Device:
		l["type"] = "char"
		if e.IsBlock() {
			l["type"] = "block"
		}
		l["device"] = []uint64{e.Major, e.Minor}
	}
	describeMetadata(l, &e.Metadata)
	return l
}

func describeMetadata(l line, m *Metadata) {
	l["mode"] = fmt.Sprintf("%06o", m.Mode)
	l["flags"], l["uid"], l["gid"] = m.Flags, m.UID, m.GID
	l["mtime"] = []int64{m.Seconds, int64(m.Nanoseconds)}
	var xattrs [][2]string
	for _, x := range m.Xattrs {
		xattrs = append(xattrs, [2]string{x.Name, hex.EncodeToString(x.Value)})
	}
	if xattrs != nil {
		l["xattrs"] = xattrs
	}
	if m.FCaps != nil {
		l["fcaps"] = hex.EncodeToString(m.FCaps)
	}
	if m.QuotaProject != nil {
		l["quota-projid"] = *m.QuotaProject
	}
	if !m.ACL.IsZero() {
		l["acl"] = describeACL(&m.ACL)
	}
}

func describeACL(a *ACL) line {
	pairs := func(entries []ACLEntry) [][2]uint64 {
		out := [][2]uint64{}
		for _, e := range entries {
			out = append(out, [2]uint64{e.ID, e.Perm})
		}
		return out
	}
	l := line{
		"users": pairs(a.Users), "groups": pairs(a.Groups), "group_obj": a.GroupObj, "default": nil,
		"default_users": pairs(a.DefaultUsers), "default_groups": pairs(a.DefaultGroups),
	}
	if d := a.Default; d != nil {
		perm := func(p uint64) any {
			if p == NoPerm {
				return "none"
			}
			return p
		}
		l["default"] = line{"user_obj": perm(d.UserObj), "group_obj": perm(d.GroupObj), "other": perm(d.Other), "mask": perm(d.Mask)}
	}
	return l
}

func setText(l line, key, text string) {
	if utf8.ValidString(text) {
		l[key] = text
	} else {
		l[key+"-hex"] = hex.EncodeToString([]byte(text))
	}
}

// sum reads a content and gives its checksum, or the error.
func sum(l line, r io.Reader) {
	hash := sha256.New()
	if _, err := io.Copy(hash, r); err != nil {
		l["content-error"] = err.Error()
		return
	}
	l["sha256"] = hex.EncodeToString(hash.Sum(nil))
}

// sequential gives what a reader finds, in the words of the golden lists.
func sequential(archive, payload []byte, wrap func(io.Reader) io.Reader) (lines []line, err error) {
	var opts ReaderOptions
	if payload != nil {
		opts.Payload = wrap(bytes.NewReader(payload))
	}
	r, err := NewReader(wrap(bytes.NewReader(archive)), opts)
	if r != nil && r.Version() == 2 {
		lines = append(lines, line{"type": "version", "path": "/", "version": "Version2"})
	}
	if r != nil && r.Prelude() != nil {
		lines = append(lines, line{"type": "prelude", "path": "/", "prelude": string(r.Prelude())})
	}
	if err != nil {
		return lines, err
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, ErrCorrupt) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		l := describe(e)
		if e.Kind == File {
			sum(l, r)
		}
		lines = append(lines, l)
	}
}

func withSeek(r io.Reader) io.Reader    { return r }
func withoutSeek(r io.Reader) io.Reader { return struct{ io.Reader }{r} }

func TestReaderGivesTheListOfEveryGoldenArchive(t *testing.T) {
	t.Parallel()
	for name, g := range golden() {
		for how, wrap := range map[string]func(io.Reader) io.Reader{"seek": withSeek, "stream": withoutSeek} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				archive, payload := g.load(t)
				got, err := sequential(archive, payload, wrap)
				if err != nil {
					t.Fatal(err)
				}
				compareLines(t, got, goldenLines(t, "expected/"+name+".jsonl"))
			})
		}
	}
}

func compareLines(t *testing.T, got, want []line) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got := normal(t, got[i]); !reflect.DeepEqual(got, want[i]) {
			t.Errorf("line %d:\ngot  %.2000v\nwant %.2000v", i+1, got, want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
}

// access gives what random access finds, in the order of the tables.
func access(a *Archive) (lines []line, err error) {
	lines = append(lines, line{"root-entries": a.root.Len()})
	root, err := a.Root()
	if err != nil {
		lines = append(lines, line{"lookup-self-error": err.Error()})
	} else {
		lines = append(lines, describe(root))
	}
	return accessDir(a, a.root, lines)
}

func accessDir(a *Archive, d *Dir, lines []line) ([]line, error) {
	src := d.source()
	for i := range d.Len() {
		s, err := d.slot(i)
		if err != nil {
			return lines, err
		}
		e := &Entry{}
		if err := d.name(src, s, e); err != nil {
			return lines, fmt.Errorf("read_dir item %d: %w", i, err)
		}
		where := []uint64{e.name, src.pos, e.end}
		if err := d.rest(src, e); err != nil {
			lines = append(lines, line{"index": i, "decode-error": err.Error()})
			continue
		}
		l := describe(e)
		l["index"], l["range"] = i, where
		lines = append(lines, accessContent(a, e, l))
		if e.Kind != Directory {
			continue
		}
		child, err := a.Dir(e)
		if err != nil {
			lines = append(lines, line{"path": e.Path, "enter-error": err.Error()})
			continue
		}
		if lines, err = accessDir(a, child, lines); err != nil {
			return lines, err
		}
	}
	return lines, nil
}

func accessContent(a *Archive, e *Entry, l line) line {
	switch e.Kind {
	case File:
		content, err := a.Content(e)
		if err != nil {
			l["content-error"] = err.Error()
			return l
		}
		sum(l, content)
	case Hardlink:
		file, err := a.Resolve(e)
		if err != nil {
			l["follow-error"] = err.Error()
			return l
		}
		resolved := describe(file)
		delete(resolved, "path")
		delete(resolved, "path-hex")
		l["resolved"] = resolved
		content, err := a.Content(e)
		if err != nil {
			l["content-error"] = err.Error()
			return l
		}
		sum(l, content)
	}
	return l
}

func openBytes(archive, payload []byte) (*Archive, error) {
	opts := OpenOptions{}
	if payload != nil {
		opts.Payload, opts.PayloadSize = bytes.NewReader(payload), int64(len(payload))
	}
	return Open(bytes.NewReader(archive), int64(len(archive)), opts)
}

func TestRandomAccessGivesTheListOfEveryGoldenArchive(t *testing.T) {
	t.Parallel()
	for name, g := range golden() {
		if name == "v1-exclude-324" {
			continue // there is no list of it
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, payload := g.load(t)
			a, err := openBytes(archive, payload)
			if err != nil {
				t.Fatal(err)
			}
			got, err := access(a)
			if err != nil {
				t.Fatal(err)
			}
			want := goldenLines(t, "expected/"+name+".access.jsonl")
			for i := range min(len(got), len(want)) {
				if want[i]["sha256"] == nil { // the list leaves some contents out
					delete(got[i], "sha256")
				}
			}
			compareLines(t, got, want)
		})
	}
}

func TestEveryEntryIsFoundByItsPath(t *testing.T) {
	t.Parallel()
	for name, g := range golden() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, payload := g.load(t)
			a, err := openBytes(archive, payload)
			if err != nil {
				t.Fatal(err)
			}
			root, err := a.Root()
			if err != nil {
				t.Fatal(err)
			}
			walk, err := a.Walk(root)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for {
				want, err := walk.Next()
				if errors.Is(err, io.EOF) {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := a.Lookup(want.Path)
				if err != nil {
					t.Fatal(err)
				}
				if !seen[want.Path] && !reflect.DeepEqual(describe(got), describe(want)) {
					t.Errorf("%q: got %+v, want %+v", want.Path, got, want)
				}
				seen[want.Path] = name == "v1-crafted" || name == "split-crafted" // which have names twice
				if _, err := a.Lookup(want.Path + "/no such"); !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrNotDirectory) {
					t.Errorf("below %q: %v", want.Path, err)
				}
			}
		})
	}
}

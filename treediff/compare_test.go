package treediff_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/goldenfile"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/pxar"
	"github.com/pbs-like/pbs-like/treediff"
)

// node is an entry of a tree that a test makes.
type node struct {
	entry    pxar.Entry
	content  []byte
	children map[string]*node
}

// drawMetadata draws from few values, so that they are often equal.
func drawMetadata(t *rapid.T) (m pxar.Metadata) {
	pick := func(label string) uint64 { return rapid.Uint64Range(0, 1).Draw(t, label) }
	m.Mode, m.UID, m.Flags = pick("mode"), uint32(pick("uid")), pick("flags")*0x10000
	m.Seconds, m.Nanoseconds = int64(pick("time")), uint32(pick("nanos"))
	for range pick("xattrs") {
		m.Xattrs = []pxar.Xattr{{Name: "user.a", Value: []byte{byte(pick("value"))}}, {Name: "user.b", Value: nil}}
		if pick("order") == 1 {
			slices.Reverse(m.Xattrs)
		}
	}
	for range pick("acl") {
		perm := 4 * pick("perm")
		m.ACL.Users = []pxar.ACLEntry{{ID: 7, Perm: perm}}
		m.ACL.GroupObj = &perm
	}
	for range pick("caps") {
		m.FCaps = []byte{1, byte(pick("cap"))}
	}
	for range pick("quota") {
		project := 1 + pick("project")
		m.QuotaProject = &project
	}
	return m
}

func drawNode(t *rapid.T, depth int) *node {
	n := &node{entry: pxar.Entry{Metadata: drawMetadata(t)}}
	kinds := []pxar.Kind{pxar.File, pxar.File, pxar.Symlink, pxar.Device, pxar.FIFO, pxar.Socket, pxar.Directory, pxar.Directory}
	switch n.entry.Kind = rapid.SampledFrom(kinds).Draw(t, "kind"); n.entry.Kind {
	case pxar.File:
		n.content = bytes.Repeat([]byte{byte(rapid.IntRange(0, 1).Draw(t, "byte"))}, rapid.IntRange(0, 2).Draw(t, "size"))
		n.entry.Size = uint64(len(n.content))
		n.entry.Mode |= 0o100000
	case pxar.Symlink:
		n.entry.Target = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "target")
		n.entry.Mode |= 0o120000
	case pxar.Device:
		n.entry.Minor = rapid.Uint64Range(0, 1).Draw(t, "minor")
		n.entry.Mode |= 0o20000
	case pxar.FIFO:
		n.entry.Mode |= 0o10000
	case pxar.Socket:
		n.entry.Mode |= 0o140000
	default:
		n.entry.Mode |= 0o40000
		n.children = map[string]*node{}
		for range rapid.IntRange(0, 4).Draw(t, "children") {
			if depth < 3 {
				n.children[rapid.StringMatching(`[a-c.]x?`).Draw(t, "name")] = drawNode(t, depth+1)
			}
		}
		delete(n.children, ".")
	}
	return n
}

func drawTree(t *rapid.T) *node {
	n := drawNode(t, 0)
	for n.entry.Kind != pxar.Directory {
		n = &node{entry: pxar.Entry{Kind: pxar.Directory, Metadata: pxar.Metadata{Stat: pxar.Stat{Mode: 0o40755}}}, children: map[string]*node{"a": n}}
	}
	return n
}

// write makes archives of a tree, with names in any order, for the format does not say that there has to be one.
func write(t fataler, root *node, split bool, seed uint64) archives {
	t.Helper()
	var archive, payload bytes.Buffer
	opts := pxar.WriterOptions{}
	if split {
		opts.Payload = &payload
	}
	w, err := pxar.NewWriter(&archive, &root.entry.Metadata, opts)
	if err != nil {
		t.Fatal(err)
	}
	order := rand.New(rand.NewPCG(seed, 0))
	var below func(n *node)
	below = func(n *node) {
		var names []string
		for name := range n.children {
			names = append(names, name)
		}
		slices.Sort(names)
		order.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			child := n.children[name]
			if _, failed := w.Add(name, &child.entry, bytes.NewReader(child.content)); failed != nil {
				err = failed
			}
			if child.children != nil {
				below(child)
				err = errors.Join(err, w.Leave())
			}
		}
	}
	below(root)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if split {
		return archives{"root.mpxar": archive.Bytes(), "root.ppxar": payload.Bytes()}
	}
	return archives{"root.pxar": archive.Bytes()}
}

// TestTwoTreesDifferInWhatALookAtEverythingFinds has random trees, in both forms and in any order.
func TestTwoTreesDifferInWhatALookAtEverythingFinds(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	time := 0
	open := func(rt *rapid.T, streams archives) (*datastore.Tree, func()) {
		time++
		r, err := backedUp(t, store, testTime(time), streams)
		if err != nil {
			rt.Fatal(err)
		}
		tree, err := r.OpenTree(t.Context(), treeName(rt))
		if err != nil {
			rt.Fatal(err)
		}
		return tree, func() { _ = errors.Join(tree.Close(), r.Close()) }
	}
	rapid.Check(t, func(rt *rapid.T) {
		before, after := drawTree(rt), drawTree(rt)
		if rapid.Bool().Draw(rt, "alike") {
			after = before
		}
		old, closeOld := open(rt, write(rt, before, rapid.Bool().Draw(rt, "split"), 1))
		defer closeOld()
		new, closeNew := open(rt, write(rt, after, rapid.Bool().Draw(rt, "split"), rapid.Uint64().Draw(rt, "seed")))
		defer closeNew()
		want := naive(read(rt, old), read(rt, new))
		got, report := compared(t.Context(), rt, old, new, treediff.Options{Content: true})
		if !slices.Equal(got, want) || report.NotCompared > 0 || report.Equal() != (len(want) == 0) {
			rt.Errorf("%+v: got\n%s\nwant\n%s", report, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		// Without reading contents, nothing else is said but that some of them were not compared.
		unsure := 0
		_, err := treediff.Compare(t.Context(), old, new, treediff.Options{}, func(c treediff.Change) error {
			if c.Content == treediff.NotCompared {
				unsure++
				return nil
			}
			text := fmt.Sprintf("%s %s", c.Path, c.Kind)
			if c.Kind == treediff.Modified {
				text += fmt.Sprintf(" %v", c.Fields)
			}
			if !slices.Contains(want, text) {
				rt.Errorf("%s is wrong", text)
			}
			return nil
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// TestTheOriginalsArchivesDifferInWhatALookAtEverythingFinds compares each with each.
func TestTheOriginalsArchivesDifferInWhatALookAtEverythingFinds(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	var trees []*datastore.Tree
	for i, s := range []archives{
		chain(t, 1), chain(t, 2), chain(t, 3), chain(t, 4),
		{"root.pxar": goldenfile.Read(t, "pxar", "v1/types.pxar.zst")},
		{"root.mpxar": goldenfile.Read(t, "pxar", "split/other/types.mpxar.zst"), "root.ppxar": goldenfile.Read(t, "pxar", "split/other/types.ppxar.zst")},
		{"root.pxar": goldenfile.Read(t, "pxar", "v1/hardlinks.pxar.zst")},
		{"root.pxar": goldenfile.Read(t, "pxar", "v1/meta.pxar.zst")},
		{"root.pxar": goldenfile.Read(t, "pxar", "v1/exclude.pxar.zst")},
		{"root.pxar": goldenfile.Read(t, "pxar", "v1/empty.pxar.zst")},
	} {
		trees = append(trees, openTree(t, backup(t, store, testTime(i+1), s)))
	}
	for i, old := range trees {
		for j, new := range trees {
			want := naive(read(t, old), read(t, new))
			got, report := compared(t.Context(), t, old, new, treediff.Options{Content: true})
			if !slices.Equal(got, want) || report.NotCompared+report.Damaged > 0 {
				t.Errorf("%d and %d: %+v: got\n%s\nwant\n%s", i, j, report, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if i == j && len(got) > 0 {
				t.Errorf("%d differs from itself", i)
			}
		}
	}
}

func chain(t *testing.T, n int) archives {
	t.Helper()
	dir := fmt.Sprintf("split/chain-a/s%d/", n)
	return archives{"root.mpxar": goldenfile.Read(t, "pxar", dir+"root.mpxar"), "root.ppxar": goldenfile.Read(t, "pxar", dir+"root.ppxar.zst")}
}

// file is a file of a tree that a test makes.
func file(content string, time int64) *node {
	return &node{
		entry:   pxar.Entry{Kind: pxar.File, Size: uint64(len(content)), Metadata: pxar.Metadata{Stat: pxar.Stat{Mode: 0o100644, Seconds: time}}},
		content: []byte(content),
	}
}

func dir(children map[string]*node) *node {
	return &node{entry: pxar.Entry{Kind: pxar.Directory, Metadata: pxar.Metadata{Stat: pxar.Stat{Mode: 0o40755}}}, children: children}
}

// TestContentThatWasNotComparedIsNeverCalledTheSame has a touched file, an untouched one, and one of another size.
func TestContentThatWasNotComparedIsNeverCalledTheSame(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	old := openTree(t, backup(t, store, 1, write(t, dir(map[string]*node{"a": file("one", 1), "b": file("one", 1), "c": file("one", 1)}), true, 1)))
	new := openTree(t, backup(t, store, 2, write(t, dir(map[string]*node{"a": file("two", 2), "b": file("one", 1), "c": file("four", 1)}), true, 1)))
	want := map[bool]map[string]treediff.Comparison{
		false: {"/a": treediff.NotCompared, "/c": treediff.OtherContent},
		true:  {"/a": treediff.OtherContent, "/c": treediff.OtherContent},
	}
	for content, want := range want {
		seen := 0
		report, err := treediff.Compare(t.Context(), old, new, treediff.Options{Content: content}, func(c treediff.Change) error {
			if seen++; want[c.Path] != c.Content {
				t.Errorf("--content %v: %s %v", content, c.Path, c.Content)
			}
			return nil
		})
		unsure := 2
		if content {
			unsure = 0
		}
		if err != nil || seen != 2 || report.NotCompared != unsure || report.Equal() {
			t.Errorf("%+v, %d, %v", report, seen, err)
		}
	}
}

func TestNamesThatComeTwiceAreComparedInTheirOrder(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	twice := func(contents ...string) archives {
		var archive bytes.Buffer
		w, err := pxar.NewWriter(&archive, &dir(nil).entry.Metadata, pxar.WriterOptions{})
		for _, content := range contents {
			f := file(content, 1)
			_, failed := w.Add("same", &f.entry, bytes.NewReader(f.content))
			err = errors.Join(err, failed)
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		return archives{"root.pxar": archive.Bytes()}
	}
	old := openTree(t, backup(t, store, 1, twice("a", "bb")))
	new := openTree(t, backup(t, store, 2, twice("a", "b", "c")))
	got, _ := compared(t.Context(), t, old, new, treediff.Options{Content: true})
	if want := []string{"/same added", "/same modified [size content]"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestMalformedArchivesAreComparedAsFarAsTheyGo compares each with itself and with a good one, both ways.
func TestMalformedArchivesAreComparedAsFarAsTheyGo(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	good := openTree(t, backup(t, store, 1, archives{"root.pxar": goldenfile.Read(t, "pxar", "v1/types.pxar.zst")}))
	time := 1
	for name, data := range goldenfile.MalformedTrees(t) {
		if len(data) == 0 || strings.Contains(name, "ppxar") {
			continue
		}
		time++
		kind := "root.pxar"
		if strings.Contains(name, "mpxar") {
			kind = "root.mpxar"
		}
		r, err := backedUp(t, store, testTime(time), archives{kind: data})
		if err != nil {
			t.Fatal(err)
		}
		tree, err := r.OpenTree(t.Context(), treeName(t))
		if err != nil {
			_ = r.Close() // its root can't be found
			continue
		}
		for _, pair := range [][2]*datastore.Tree{{good, tree}, {tree, good}, {tree, tree}} {
			opts := treediff.Options{Content: true, Damaged: func(string, error) error { return nil }}
			_, err := treediff.Compare(t.Context(), pair[0], pair[1], opts, func(treediff.Change) error { return nil })
			if err != nil && !errors.Is(err, pxar.ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_ = errors.Join(tree.Close(), r.Close())
	}
}

// TestWhatIsDamagedHidesWhatMightBeInIt has an entry that can't be read, so that the other side's may or may not be new.
func TestWhatIsDamagedHidesWhatMightBeInIt(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	children := map[string]*node{"a": file("one", 1), "b": file("one", 1)}
	good := write(t, dir(children), false, 1)
	bad := archives{"root.pxar": bytes.Clone(good["root.pxar"])}
	at := bytes.Index(bad["root.pxar"], []byte("b\x00"))
	bad["root.pxar"][at] = '/'
	old := openTree(t, backup(t, store, 1, bad))
	children["c"] = file("one", 1)
	new := openTree(t, backup(t, store, 2, write(t, dir(children), false, 1)))
	if _, err := treediff.Compare(t.Context(), old, new, treediff.Options{}, func(treediff.Change) error { return nil }); !errors.Is(err, pxar.ErrCorrupt) {
		t.Errorf("%v", err)
	}
	got, report := compared(t.Context(), t, old, new, treediff.Options{Damaged: func(path string, err error) error {
		if path != "/" || !errors.Is(err, pxar.ErrCorrupt) {
			t.Errorf("%q: %v", path, err)
		}
		return nil
	}})
	if len(got) > 0 || report.Damaged != 1 || report.Equal() {
		t.Errorf("%q, %+v", got, report)
	}
}

func TestTreesThatAreTooDeepAreComparedAsFarAsIsAllowed(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	deep := func(name string) archives {
		var archive bytes.Buffer
		w, err := pxar.NewWriter(&archive, &dir(nil).entry.Metadata, pxar.WriterOptions{})
		for range treediff.MaxDepth + 10 {
			_, failed := w.Add(name, &dir(nil).entry, nil)
			err = errors.Join(err, failed)
		}
		for range treediff.MaxDepth + 10 {
			err = errors.Join(err, w.Leave())
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		return archives{"root.pxar": archive.Bytes()}
	}
	old := openTree(t, backup(t, store, 1, deep("a")))
	new := openTree(t, backup(t, store, 2, deep("b")))
	_, report := compared(t.Context(), t, old, new, treediff.Options{Damaged: func(string, error) error { return nil }})
	if report.Added != treediff.MaxDepth || report.Removed != treediff.MaxDepth || report.Damaged != 2 {
		t.Errorf("%+v", report)
	}
}

// TestNothingIsRemovedWhileItIsCompared tries to in the middle of it.
func TestNothingIsRemovedWhileItIsCompared(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := backup(t, store, 1, write(t, dir(map[string]*node{"a": file("one", 1)}), true, 1))
	two := backup(t, store, 2, write(t, dir(map[string]*node{"b": file("one", 1)}), true, 1))
	ds := store.Open(datastore.Options{})
	n := 0
	_, err := treediff.Compare(t.Context(), openTree(t, one), openTree(t, two), treediff.Options{}, func(treediff.Change) error {
		for _, r := range []*datastore.SnapshotReader{one, two} {
			if _, err := ds.RemoveSnapshot(t.Context(), r.Snapshot(), datastore.RemoveOptions{}); !errors.Is(err, flock.ErrLocked) {
				t.Error(err)
			}
		}
		n++
		return nil
	})
	if err != nil || n != 2 {
		t.Errorf("%d changes, %v", n, err)
	}
}

func TestAComparisonEndsWithItsContextAndWithItsVisitor(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	old := openTree(t, backup(t, store, 1, write(t, dir(map[string]*node{"a": file("one", 1)}), false, 1)))
	new := openTree(t, backup(t, store, 2, write(t, dir(map[string]*node{"b": file("one", 1)}), false, 1)))
	enough := errors.New("enough")
	if _, err := treediff.Compare(t.Context(), old, new, treediff.Options{}, func(treediff.Change) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := treediff.Compare(ctx, old, new, treediff.Options{}, func(treediff.Change) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestTheSameEntriesWithAnotherPayloadAreNotTheSame has a file that changed without a change of size and time.
func TestTheSameEntriesWithAnotherPayloadAreNotTheSame(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	one := write(t, dir(map[string]*node{"d": dir(map[string]*node{"a": file("one", 1)})}), true, 1)
	two := write(t, dir(map[string]*node{"d": dir(map[string]*node{"a": file("two", 1)})}), true, 1)
	if !bytes.Equal(one["root.mpxar"], two["root.mpxar"]) {
		t.Fatal("the entries are not the same")
	}
	old, new := openTree(t, backup(t, store, 1, one)), openTree(t, backup(t, store, 2, two))
	if got, report := compared(t.Context(), t, old, new, treediff.Options{}); len(got) > 0 || report.NotCompared != 1 || report.Equal() {
		t.Errorf("%q, %+v", got, report)
	}
	if got, _ := compared(t.Context(), t, old, new, treediff.Options{Content: true}); !slices.Equal(got, []string{"/d/a modified [content]"}) {
		t.Errorf("%q", got)
	}
	same := openTree(t, backup(t, store, 3, two))
	if got, report := compared(t.Context(), t, new, same, treediff.Options{}); len(got) > 0 || !report.Equal() {
		t.Errorf("%q, %+v", got, report)
	}
}

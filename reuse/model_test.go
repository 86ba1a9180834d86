package reuse_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/reuse"
)

// modelFile is a file of a tree whose content is told by its version.
type modelFile struct {
	name    string
	size    uint64
	version int
	old     uint64 // where it is in the payload, once that is written
}

func (f modelFile) item() []byte {
	b := binary.LittleEndian.AppendUint64([]byte("PAYLOAD:"), reuse.Header+f.size)
	unit := fmt.Appendf(nil, "%s version %d ", f.name, f.version)
	return append(b, bytes.Repeat(unit, int(f.size)/len(unit)+1)[:f.size]...)
}

// payload is a payload on its way: data that is cut where it is long enough, and chunks of older ones.
type payload struct {
	store    map[digest.Digest][]byte
	data     []byte
	cutTo    int
	index    bytes.Buffer
	writer   *index.DynamicWriter
	longest  int
	injected uint64 // bytes, without padding
}

func (p *payload) cut() {
	if chunk := p.data[p.cutTo:]; len(chunk) > 0 {
		p.add(chunk)
	}
}

func (p *payload) add(chunk []byte) {
	d := digest.Of(chunk)
	p.store[d] = bytes.Clone(chunk)
	p.cutTo += len(chunk)
	if err := p.writer.Add(uint64(p.cutTo), d); err != nil {
		panic(err)
	}
}

func (p *payload) write(b []byte) {
	p.data = append(p.data, b...)
	for len(p.data)-p.cutTo >= p.longest {
		p.add(p.data[p.cutTo : p.cutTo+p.longest])
	}
}

func (p *payload) inject(c reuse.Chunk) {
	p.cut()
	p.data = append(p.data, p.store[c.Digest]...)
	p.add(p.data[p.cutTo:])
	p.injected += c.Size() - c.Padding
}

func (p *payload) reader(t *rapid.T) *index.Reader {
	header, _, err := p.writer.Finish([16]byte{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := append(header, p.index.Bytes()...)
	x, err := index.Open(bytes.NewReader(file), int64(len(file)), index.Dynamic)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// run is one backup of a history.
type run struct {
	*payload

	planner *reuse.Planner
	queue   []*modelFile
	max     int
	reused  uint64
}

func (r *run) file(f *modelFile, unchanged bool) {
	if r.planner == nil || !unchanged || !r.planner.Accepts(f.old, f.size) {
		r.flush(reuse.End)
		r.writeFile(f)
		return
	}
	switch {
	case r.planner.Hole(f.old):
		r.flush(reuse.Pause)
	case len(r.queue) == r.max:
		r.flush(reuse.Full)
	}
	r.planner.Take(f.old, f.size)
	r.queue = append(r.queue, f)
}

func (r *run) writeFile(f *modelFile) {
	f.old = uint64(len(r.data))
	r.write(f.item())
}

func (r *run) flush(why reuse.Why) {
	if r.planner == nil {
		return
	}
	plan := r.planner.Flush(why)
	if plan.Before != nil {
		r.inject(*plan.Before)
	}
	position := uint64(len(r.data))
	for _, f := range r.queue {
		if plan.Reuse {
			f.old = plan.Place(f.old, position)
			r.reused += reuse.Header + f.size
		} else {
			r.writeFile(f)
		}
	}
	r.queue = nil
	for c := range plan.Inject() {
		r.inject(c)
	}
}

func change(t *rapid.T, tree []*modelFile, round int) (next []*modelFile, changed map[*modelFile]bool) {
	changed = map[*modelFile]bool{}
	for i, f := range tree {
		switch rapid.SampledFrom([]string{"keep", "keep", "keep", "keep", "keep", "change", "remove", "insert", "swap"}).Draw(t, "change") {
		case "change":
			f.version, f.size = f.version+1, rapid.Uint64Range(0, 300).Draw(t, "size")
			changed[f] = true
		case "remove":
			continue
		case "insert":
			n := &modelFile{name: fmt.Sprintf("new %d.%d", round, i), size: rapid.Uint64Range(0, 300).Draw(t, "size")}
			next, changed[n] = append(next, n), true
		case "swap": // no walk does that, and a hostile base may look like it
			if len(next) > 0 {
				next = slices.Insert(next, len(next)-1, f)
				continue
			}
		}
		next = append(next, f)
	}
	return next, changed
}

func backup(t *rapid.T, store map[digest.Digest][]byte, tree []*modelFile, changed map[*modelFile]bool, previous *index.Reader) *index.Reader {
	p := &payload{store: store, longest: rapid.IntRange(40, 400).Draw(t, "longest chunk")}
	p.writer = index.NewDynamicWriter(&p.index)
	r := &run{payload: p, max: rapid.IntRange(1, 6).Draw(t, "queue")}
	if previous != nil {
		missing := rapid.IntRange(0, 40).Draw(t, "missing")
		r.planner = reuse.New(previous, reuse.Options{
			MaxPadding: rapid.SampledFrom([]float64{-1, 0, 0.3, 1}).Draw(t, "padding"),
			Exists:     func(c index.Chunk) (bool, error) { return missing == 0 || int(c.Digest[0])%40 != missing, nil },
		})
	}
	r.write([]byte("start marker 16."))
	for _, f := range tree {
		r.file(f, !changed[f])
	}
	r.flush(reuse.End)
	r.write([]byte("tail marker 16.."))
	r.cut()
	if r.injected != r.reused {
		t.Fatalf("%d bytes of chunks were injected that are no padding, for %d bytes of files", r.injected, r.reused)
	}
	last := int64(-1)
	for _, f := range tree {
		if item := f.item(); f.old+uint64(len(item)) > uint64(len(p.data)) || !bytes.Equal(p.data[f.old:][:len(item)], item) {
			t.Fatalf("%q is not at %d of the payload", f.name, f.old)
		}
		if int64(f.old) <= last {
			t.Fatalf("%q at %d is not behind the content before it at %d", f.name, f.old, last)
		}
		last = int64(f.old)
	}
	return p.reader(t)
}

// TestAfterAnyHistoryEveryContentIsWhereItsEntrySays also counts the padding: what is
// injected and is none are the files, whatever chunks are held back in between.
func TestAfterAnyHistoryEveryContentIsWhereItsEntrySays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		store := map[digest.Digest][]byte{}
		var tree []*modelFile
		changed := map[*modelFile]bool{}
		for i := range rapid.IntRange(1, 30).Draw(t, "files") {
			f := &modelFile{name: fmt.Sprintf("file %d", i), size: rapid.Uint64Range(0, 300).Draw(t, "size")}
			tree, changed[f] = append(tree, f), true
		}
		previous := backup(t, store, tree, changed, nil)
		for round := range rapid.IntRange(1, 5).Draw(t, "rounds") {
			tree, changed = change(t, tree, round)
			previous = backup(t, store, tree, changed, previous)
		}
	})
}

package datastore_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// history is a store, and the model of what it should hold.
type history struct {
	t       testing.TB
	dir     string
	model   model
	now     backupinfo.Time
	spoiled map[byte]bool // contents whose chunks the test has damaged, and nobody mended
}

// historyNamespaces are made beforehand.
const historyNamespaces = "ns/a/ns/b"

func newHistory(t testing.TB, fail rapid.TB, parent string) *history {
	t.Helper()
	fail.Helper()
	dir, err := os.MkdirTemp(parent, "store") //nolint:usetesting // one of many in a test, each gone when its history is done
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(dir, ".chunks"), 0o755), os.MkdirAll(filepath.Join(dir, historyNamespaces), 0o755),
			os.WriteFile(filepath.Join(dir, ".lock"), nil, 0o644))
	}
	if err != nil {
		fail.Fatal(err)
	}
	h := &history{t: t, dir: dir, model: newModel(), now: first, spoiled: map[byte]bool{}}
	for _, ns := range []string{"", "a", "a/b"} {
		h.model.namespaces[namespace(ns)] = true
	}
	return h
}

func (h *history) close() { _ = os.RemoveAll(h.dir) }

func (h *history) open(fail rapid.TB) *datastore.Datastore {
	fail.Helper()
	store, err := datastore.Open(h.dir, datastore.Options{OnlyHost: true})
	if err != nil {
		fail.Fatal(err)
	}
	return store
}

// do makes a step and compares what came out with the model.
func (h *history) do(fail rapid.TB, s step) {
	fail.Helper()
	want, wantErr := h.model.after(s, h.isBad)
	if s.Do == "damage" {
		h.spoiled[s.Data[0]] = true
	}
	err := s.run(h.t.Context(), h.dir, nil)
	switch {
	case errors.Is(wantErr, errRefused) && err != nil: // it is of no class
	case s.Do == "damage" && errors.Is(err, fs.ErrNotExist): // no such chunk
	case !errors.Is(err, wantErr):
		fail.Fatalf("%s: %v, want %v", s, err, wantErr)
	}
	got := h.observe(fail)
	if !got.equal(want) {
		fail.Fatalf("%s: is not what it should be: %v", s, got.between(want, want))
	}
	h.model = got
	if s.Do == "collect" {
		h.checkCollected(fail, s)
	}
}

// doWithFailure makes a step that goes wrong somewhere: each thing is as before or as after.
func (h *history) doWithFailure(fail rapid.TB, s step) {
	fail.Helper()
	want, wantErr := h.model.after(s, h.isBad)
	err := h.runDisturbed(fail, s)
	got := h.observe(fail)
	if wrong := got.between(h.model, h.widened(s, want, got)); wrong != nil {
		fail.Fatalf("%s ended in %v: %v", s, err, wrong)
	}
	if s.Do == "merge-group" {
		if err := got.inOnePlace(s, h.model); err != nil {
			fail.Fatalf("%s: %v", s, err)
		}
	}
	whole := s.Do == "remove-group" && !s.Flag || s.Do == "remove-namespace" || strings.HasPrefix(s.Do, "move-")
	switch removed := got.equalSnapshots(want); {
	case whole && !removed && !got.equalSnapshots(h.model):
		fail.Fatalf("%s ended in %v: half of it is left: %+v", s, err, got)
	case err == nil && wantErr == nil && !removed && s.Do != "verify":
		fail.Fatalf("%s: reported as done, and is not: %v", s, got.between(want, want))
	}
	h.model = got
}

func (m model) equalSnapshots(other model) bool {
	return model{m.namespaces, nil, m.snapshots}.equal(model{other.namespaces, nil, other.snapshots})
}

// widened is what may be there after a backup that went wrong: an unfinished snapshot, and its group.
func (h *history) widened(s step, want, got model) model {
	if s.Do != "backup" {
		return want
	}
	want = want.clone()
	if is, ok := got.snapshots[s.snapshot()]; !ok || !is.finished {
		delete(want.snapshots, s.snapshot())
		if ok {
			want.snapshots[s.snapshot()] = snapshotModel{}
		}
	}
	if group, ok := got.groups[s.group()]; ok && group == (groupModel{owner: backupinfo.AuthID(s.Text)}) {
		want.groups[s.group()] = group
	}
	return want
}

// errKilled is how a step ends whose process was killed.
var errKilled = errors.New("killed")

// runDisturbed runs a step with what its script does to the disk, in a process of
// its own where that kills it.
func (h *history) runDisturbed(fail rapid.TB, s step) error {
	fail.Helper()
	if !strings.HasPrefix(s.Disk, "kill") {
		script, err := fsoptest.Parse(s.Disk, nil, nil)
		if err != nil {
			fail.Fatal(err)
		}
		return s.run(h.t.Context(), h.dir, script.Disk())
	}
	p := helperproc.Start(h.t, "history step", h.dir, s.String())
	line, ok := <-p.Lines()
	if err := p.Wait(); err != nil && !ok {
		return errKilled
	}
	if line != "ended: <nil>" {
		return errors.New(line)
	}
	return nil
}

// observe reads everything that the store lists.
func (h *history) observe(fail rapid.TB) model {
	fail.Helper()
	m, store, ctx := newModel(), h.open(fail), h.t.Context()
	for ns, err := range store.Namespaces(ctx, backupinfo.Namespace{}, -1) {
		must(fail, err)
		m.namespaces[ns] = true
		for group, err := range store.Groups(ctx, ns) {
			must(fail, err, group.Err)
			text, err := store.Notes(ctx, backupinfo.Object{Group: group.Group})
			must(fail, err)
			m.groups[group.Group] = groupModel{owner: group.Owner, notes: text}
			for info, err := range store.Snapshots(ctx, group.Group) {
				must(fail, err, info.Err)
				m.snapshots[info.Snapshot] = h.observeSnapshot(ctx, fail, store, info)
			}
		}
	}
	return m
}

func must(fail rapid.TB, errs ...error) {
	fail.Helper()
	if err := errors.Join(errs...); err != nil {
		fail.Fatalf("listing: %v", err)
	}
}

func (h *history) observeSnapshot(ctx context.Context, fail rapid.TB, store *datastore.Datastore, info datastore.SnapshotInfo) (is snapshotModel) {
	fail.Helper()
	var err error
	is.finished = info.Finished
	is.protection, err = store.Protection(ctx, info.Snapshot)
	must(fail, err)
	if !is.finished {
		return is
	}
	is.notes, err = store.Notes(ctx, backupinfo.Object{Group: info.Snapshot.Group, Time: info.Snapshot.Time, IsSnapshot: true})
	must(fail, err)
	if info.Verification != nil {
		is.verdict = info.Verification.State
	}
	for _, file := range info.Files {
		if digit, ok := strings.CutPrefix(file.Name, "disk"); ok {
			is.data += digit[:1]
		}
	}
	digits := []byte(is.data)
	slices.Sort(digits)
	is.data = string(digits)
	return is
}

// check is what holds after every step.
func (h *history) check(fail rapid.TB) {
	fail.Helper()
	watched := testds.Store{T: h.t, Dir: h.dir, Damaged: true, Leftovers: true}
	for _, problem := range watched.Problems() {
		fail.Errorf("%s", problem)
	}
	for snapshot, is := range h.model.snapshots {
		if is.finished {
			h.checkRestore(fail, snapshot, is.data)
		}
	}
	for digit := range h.spoiled {
		if !h.isBad(digit) {
			delete(h.spoiled, digit)
		}
	}
}

func (h *history) checkRestore(fail rapid.TB, snapshot backupinfo.Snapshot, data string) {
	fail.Helper()
	reader, err := h.open(fail).OpenSnapshot(h.t.Context(), snapshot, datastore.ReadOptions{})
	if err != nil {
		fail.Fatalf("%s: %v", snapshot, err)
	}
	defer reader.Close()
	for _, digit := range []byte(data) {
		var got bytes.Buffer
		archive, err := reader.OpenArchive(h.t.Context(), mustArchive("disk"+string(digit)+".img"))
		if err == nil {
			_, err = archive.CopyTo(h.t.Context(), &got, datastore.RestoreOptions{})
			err = errors.Join(err, archive.Close())
		}
		switch {
		case err == nil && !bytes.Equal(got.Bytes(), storedContent(digit)):
			fail.Errorf("%s restores to other bytes", snapshot)
		case err != nil && !h.spoiled[digit]:
			fail.Errorf("%s does not restore: %v", snapshot, err)
		case err == nil && h.isBad(digit):
			fail.Errorf("%s restores from a chunk that is damaged", snapshot)
		}
	}
}

func (h *history) chunk(digit byte) string {
	name := contentDigest(digit).String()
	return filepath.Join(h.dir, ".chunks", name[:4], name)
}

// isBad tells, without the package that is tested, whether a content can't be read from its chunk.
func (h *history) isBad(digit byte) bool {
	stored, err := os.ReadFile(h.chunk(digit))
	if err != nil {
		return true
	}
	decoder := blob.NewDecoder()
	defer decoder.Close()
	data, err := decoder.Decode(nil, stored, 1<<20)
	return err != nil || digest.Of(data) != contentDigest(digit)
}

// checkCollected makes sure that a collection took everything that it should.
func (h *history) checkCollected(fail rapid.TB, s step) {
	fail.Helper()
	left, err := filepath.Glob(filepath.Join(h.dir, ".pbs-like-leftover", "*"))
	hidden, err2 := filepath.Glob(filepath.Join(h.dir, ".pbs-like-leftover", ".*"))
	if left = append(left, hidden...); len(left) > 0 || errors.Join(err, err2) != nil {
		fail.Errorf("left after a collection: %q", left)
	}
	for _, is := range h.model.snapshots {
		if !is.finished {
			return // its chunks may be there
		}
	}
	for digit := byte('0'); digit < '0'+contents && s.Flag; digit++ {
		h.checkSwept(fail, digit)
	}
}

func (h *history) checkSwept(fail rapid.TB, digit byte) {
	fail.Helper()
	files, err := filepath.Glob(h.chunk(digit) + "*")
	if err != nil {
		fail.Fatal(err)
	}
	_, missing := os.Stat(h.chunk(digit))
	for _, file := range files {
		if !h.model.uses(digit) || file != h.chunk(digit) && (missing == nil || !strings.HasSuffix(file, ".bad")) {
			fail.Errorf("left after a collection: %s", filepath.Base(file))
		}
	}
}

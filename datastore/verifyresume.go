package datastore

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/index"
)

const (
	// rememberedFor is how long proofs count: what was good long ago may be bad today.
	rememberedFor = 7 * 24 * time.Hour
	// settled is how old a file's time of modification must be when the run begins: a
	// later change could have the same time, on file systems that count in seconds.
	settled = 2 * time.Second
)

// resumption is what a verification knows from those that were cut off, and what it
// will leave to the next one. A nil one knows nothing and keeps nothing.
//
// The examiners share it; they take turns, and each adds under its own lock.
type resumption struct {
	memory  VerifyMemory
	store   StoreID
	events  Events
	start   time.Time
	saved   VerifyProgress
	current SnapshotProgress // the snapshot that is being verified, with what was known of it before
	fresh   []Proof          // what is known of it now
}

// newResumption loads what is remembered. A dry run, or one that reads only a sample,
// leaves it alone.
func newResumption(d *Datastore, opts VerifyOptions, start time.Time) *resumption {
	if opts.Memory == nil || opts.DryRun || !newSample(opts).all {
		return nil
	}
	r := &resumption{memory: opts.Memory, store: d.storeID(), events: d.opts.Events, start: start}
	progress, err := r.memory.Load(r.store)
	if err != nil {
		r.events.notice("", "what a verification before has proven is not known", err)
		return r
	}
	for _, s := range progress.Snapshots {
		if age := start.Sub(s.Since); age < 0 || age > rememberedFor {
			r.events.notice(s.Name, fmt.Sprintf("what was proven of it since %s no longer counts: that is not within the last %v",
				s.Since.UTC().Format(time.RFC3339), rememberedFor), nil)
			continue
		}
		r.saved.Snapshots = append(r.saved.Snapshots, s)
	}
	return r
}

// knows tells whether something is remembered of a snapshot. Those come first: what
// was proven of them counts for some days only.
func (r *resumption) knows(snapshot backupinfo.Snapshot) bool {
	return r != nil && r.find(snapshot.Dir()) >= 0
}

func (r *resumption) find(name string) int {
	return slices.IndexFunc(r.saved.Snapshots, func(s SnapshotProgress) bool { return s.Name == name })
}

// begin takes up a snapshot. What is remembered of one of that name with other content is about something else.
func (r *resumption) begin(reader *SnapshotReader) {
	if r == nil {
		return
	}
	name, content := reader.snapshot.Dir(), contentOf(reader.manifest)
	r.current, r.fresh = SnapshotProgress{Name: name, Content: content, Since: r.start}, nil
	if i := r.find(name); i >= 0 && r.saved.Snapshots[i].Content == content {
		r.current = r.saved.Snapshots[i]
	}
}

func contentOf(manifest *backupinfo.Manifest) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, f := range manifest.Files() {
		_, _ = fmt.Fprintf(h, "%q %q %d %s\n", f.Name, f.CryptMode, f.Size, f.Checksum)
	}
	h.Sum(sum[:0])
	return sum
}

// keep saves what is known of the snapshot that was cut off. A failure costs the
// next run time, and is no failure of this one.
func (r *resumption) keep() {
	if r == nil || len(r.fresh)+len(r.current.Proofs) == 0 {
		return
	}
	r.current.Proofs = slices.Concat(r.current.Proofs, r.fresh)
	slices.SortFunc(r.current.Proofs, compareProofs)
	r.current.Proofs = slices.Compact(r.current.Proofs)
	r.drop(r.current.Name)
	r.saved.Snapshots = append(r.saved.Snapshots, r.current)
	for r.tooMuch() {
		r.saved.Snapshots = r.saved.Snapshots[1:] // the one that was cut off least recently
	}
	r.save()
}

func (r *resumption) tooMuch() bool {
	proofs := 0
	for _, s := range r.saved.Snapshots {
		proofs += len(s.Proofs)
	}
	return len(r.saved.Snapshots) > 1 && (len(r.saved.Snapshots) > maxRemembered || proofs > maxProofs)
}

func (r *resumption) drop(name string) {
	r.saved.Snapshots = slices.DeleteFunc(r.saved.Snapshots, func(s SnapshotProgress) bool { return s.Name == name })
}

// forget is for a snapshot whose verdict was recorded: the next verification of it reads all.
func (r *resumption) forget(snapshot backupinfo.Snapshot) {
	if r.knows(snapshot) {
		r.drop(snapshot.Dir())
		r.save()
	}
}

func (r *resumption) save() {
	if err := r.memory.Save(r.store, r.saved); err != nil {
		r.events.notice("", "what was proven is not remembered for the next verification", err)
	}
}

// proven tells whether a chunk's file is one that was proven before.
func (e *examiner) proven(j job, info chunkstore.Info) bool {
	return e.resume != nil && len(e.resume.current.Proofs) > 0 && e.resume.current.has(proofOf(e.kind, j.digest, j.size, info))
}

// remember notes that the chunk was good that the loader read. The caller holds the lock.
func (e *examiner) remember(j job, info chunkstore.Info) {
	r := e.resume
	if r == nil || len(r.fresh)+len(r.current.Proofs) >= maxProofs || r.start.Sub(info.Modified) < settled {
		return
	}
	r.fresh = append(r.fresh, proofOf(e.kind, j.digest, j.size, info))
}

// countResumed counts the entries of an index that were taken from a verification
// before, in this snapshot or in another one of this run.
func (e *examiner) countResumed(ctx context.Context, x *index.Reader) error {
	if e.resumed.count == 0 {
		return nil
	}
	for chunk, err := range x.Chunks(ctx) {
		if err != nil {
			return err
		}
		if e.resumed.has(e.remembered(chunk.Digest, chunk.Size())) {
			e.resumedEntries++
		}
	}
	return nil
}

// resumedEntries counts what was taken from a verification before.
func (v *verification) resumedEntries() (n int) {
	for _, e := range v.examiners() {
		n += e.resumedEntries
	}
	return n
}

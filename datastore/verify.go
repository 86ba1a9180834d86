package datastore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/keys"
)

// VerifyOptions are what is verified, and how.
type VerifyOptions struct {
	// Snapshots, or else Groups, are what to verify. Without both it is the groups of
	// Namespace and of the namespaces below it down to Depth; negative is all.
	Snapshots []backupinfo.Snapshot
	Groups    []backupinfo.Group
	Namespace backupinfo.Namespace
	Depth     int
	// SkipVerified passes over snapshots whose last verification found them good;
	// OutdatedAfter does too, but only for that long after it. With a Key, of what was
	// made with it only a verification with the same key counts.
	SkipVerified  bool
	OutdatedAfter time.Duration
	// MaxDuration is the time after which no chunk is read any more; 0 is no limit.
	// Snapshots that were verified least recently come first, so that the next run goes
	// on. One that was cut off is read from its beginning then, unless there is a Memory.
	MaxDuration time.Duration
	// Sample is the part of the chunks to read, such as 0.05; 0 is all. Which ones says
	// Seed, and the digest: the same seed chooses the same chunks, in all snapshots.
	Sample float64
	Seed   uint64
	// Key opens what it encrypted, and checks what it signed. Snapshots of other keys
	// are verified as without one.
	Key *keys.Key
	// Memory, if not nil, keeps what was proven of a snapshot when the time was up, or the
	// context ended, within it. The next run with the same memory takes those chunks as
	// proven for 7 days, as long as their files have the same inode, size and time of
	// modification: damage that leaves all of that as it was, on the medium below the file system
	// say, is not seen until the snapshot is verified once more. A run with a Sample, or a
	// DryRun, makes no use of it.
	Memory VerifyMemory
	// DryRun reads everything, records no verdict and renames no chunk.
	DryRun bool
	// Each, if not nil, is called with the verdict on each snapshot, as it comes.
	Each func(SnapshotVerdict)
	// Now tells the time; nil is the clock.
	Now func() time.Time
}

// Verdict is what became of one snapshot.
type Verdict string

// The verdicts. Only the first two are recorded in the snapshot.
const (
	VerdictOK         Verdict = "ok"
	VerdictFailed     Verdict = "failed"       // something was read to its end and is wrong, or is missing
	VerdictUnsure     Verdict = "not-verified" // something could not be read: that says nothing about it
	VerdictBusy       Verdict = "busy"         // somebody is removing it
	VerdictVanished   Verdict = "vanished"     // removed since it was listed
	VerdictUnfinished Verdict = "unfinished"   // has no manifest
	VerdictRecent     Verdict = "skipped"      // verified before, as the options say
	VerdictNotReached Verdict = "not-reached"  // the time was up before
	VerdictPartly     Verdict = "partly-read"  // the time was up within, and nothing was wrong until then
	VerdictSampled    Verdict = "sampled"      // nothing was wrong with those of its chunks that were chosen
)

// SnapshotVerdict is the result for one snapshot.
type SnapshotVerdict struct {
	Snapshot backupinfo.Snapshot
	Verdict  Verdict
	// Archives are those with something wrong.
	Archives []ArchiveVerdict
	// Encrypted says that data in it was checked as far as that goes without a key:
	// what is stored is what was written, but not that it is what was backed up.
	Encrypted bool
	// Skipped is how many chunks of it were not read, because they were not chosen for the sample.
	Skipped int
	// Resumed is how many chunks of it were not read, because a verification that was
	// cut off had proven them; see [VerifyOptions].
	Resumed int
	// Signature is what is known about that of the manifest.
	Signature Signature
	// Err is why the snapshot as a whole could not be verified, such as a damaged manifest or the holders of a lock.
	Err error
	// Unrecorded is why the verdict could not be written into the manifest.
	Unrecorded error
}

// ArchiveVerdict is what is wrong with one archive.
type ArchiveVerdict struct {
	Name string // on disk
	// Err is what is wrong with the file itself. If it is no [ErrCorrupt], the file could not be read.
	Err error
	// Damaged are the first ranges that are lost or could not be read, Lost and Unread how many chunks there are of each.
	Damaged      []DamagedChunk
	Lost, Unread int
}

// DamagedChunk is a range of an archive without good data.
type DamagedChunk struct {
	Digest     digest.Digest
	Start, End uint64
	Lost       bool // else it could not be read, which says nothing
	Err        error
}

// VerifyReport counts what a verification did.
type VerifyReport struct {
	UPID     backupinfo.UPID
	Duration time.Duration
	// Verdicts counts the snapshots by verdict.
	Verdicts map[Verdict]int
	// Unrecorded is the number of verdicts that could not be written.
	Unrecorded int
	// Chunks is how many distinct chunks were read, with Bytes of data in the archives. Encrypted is how many of them could not be decoded, for want of their key.
	Chunks, Encrypted int
	Bytes             uint64
	// Resumed is how many were not read, because a verification that was cut off had proven them.
	Resumed int
	// Renamed are the names under which damaged chunks were put aside.
	Renamed []string
	// Recovered are the names under which good chunks had been put aside, by a
	// verification that was cut off. They have their own names again.
	Recovered []string
	// Unlisted is what could not be listed, and so not verified.
	Unlisted []error
}

// Verify reads snapshots and compares all that is in them: indexes and blobs with
// the manifest, every chunk with its checksum and, where it is not encrypted or the
// key is at hand, with its digest. With the key, a signature is checked too. A chunk
// is read once, however many snapshots share it. The verdict goes into the manifest.
//
// Each snapshot is locked for reading while it is verified. One that is being
// removed, or is gone, is passed over. A file that can't be read is neither good nor
// bad. A chunk whose content is wrong is renamed, so that the next backup stores
// it anew; see [chunkstore.Store.Condemn]. Of one that is missing, a good file among
// those that were renamed before gets its name back; see [chunkstore.Store.Recover].
//
// What is wrong with the snapshots is in their verdicts; the error is for what
// ended the verification as a whole. The report is good in both cases.
func (d *Datastore) Verify(ctx context.Context, opts VerifyOptions) (report VerifyReport, err error) {
	d, ctx, end := d.beginBound(ctx)
	defer end(&err)
	root, err := d.openRoot()
	if err != nil {
		return report, err
	}
	defer root.Close()
	if !opts.DryRun {
		if err := d.changeable(root); err != nil {
			return report, err
		}
	}
	disk, err := d.disk(root)
	if err != nil {
		return report, err
	}
	chunks, err := chunkstore.Open(root, chunkstore.Options{Disk: disk})
	if err != nil {
		return report, err
	}
	keyed, err := chunkstore.Open(root, chunkstore.Options{Disk: disk, Key: opts.Key})
	if err != nil {
		return report, errors.Join(err, chunks.Close())
	}
	v := newVerification(d, opts, disk, chunks, keyed)
	err = v.run(ctx)
	return v.report, errors.Join(err, v.plain.Close(), v.sealed.Close(), v.keyed.Close(), chunks.Close(), keyed.Close())
}

// verification is one run of Verify.
type verification struct {
	*Datastore
	opts   VerifyOptions
	disk   *fsop.Disk
	now    func() time.Time
	start  time.Time
	report VerifyReport
	// plain is for archives that are not encrypted, and the others for those that are:
	// sealed has no key, and keyed has one, for snapshots that were made with it. They
	// share no results: what passes without the key is not proven, and in an archive that
	// is not encrypted it is damage.
	plain, sealed, keyed *examiner
	resume               *resumption
}

func newVerification(d *Datastore, opts VerifyOptions, disk *fsop.Disk, chunks, keyed *chunkstore.Store) *verification {
	v := &verification{Datastore: d, opts: opts, disk: disk, now: opts.Now}
	v.plain, v.sealed, v.keyed = newExaminer(chunks, !opts.DryRun), newExaminer(chunks, !opts.DryRun), newExaminer(keyed, !opts.DryRun)
	v.sealed.sealed = true
	if v.now == nil {
		v.now = time.Now
	}
	v.start = v.now()
	v.resume = newResumption(d, opts, v.start)
	for _, e := range v.examiners() {
		e.stop, e.sample, e.resume = v.timeUp, newSample(opts), v.resume
	}
	v.plain.kind, v.sealed.kind, v.keyed.kind = []byte("plain"), []byte("crc"), kindOfKey(opts.Key)
	v.report = VerifyReport{UPID: d.newUPID(taskVerify, v.start), Verdicts: map[Verdict]int{}}
	return v
}

func (v *verification) examiners() []*examiner { return []*examiner{v.plain, v.sealed, v.keyed} }

func (v *verification) run(ctx context.Context) error {
	defer func() {
		v.report.Duration = v.now().Sub(v.start)
		for _, e := range v.examiners() {
			v.report.Chunks += e.chunks
			v.report.Encrypted += e.encrypted
			v.report.Bytes += e.bytes
			v.report.Resumed += e.resumed.count
			v.report.Renamed = append(v.report.Renamed, e.renamed...)
			v.report.Recovered = append(v.report.Recovered, e.recovered...)
		}
	}()
	list, err := v.candidates(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		verdict := c.verdict
		if verdict.Verdict == "" {
			verdict = v.verify(ctx, c.verdict.Snapshot)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		v.conclude(verdict)
	}
	return nil
}

func (v *verification) conclude(verdict SnapshotVerdict) {
	v.report.Verdicts[verdict.Verdict]++
	if verdict.Unrecorded != nil {
		v.report.Unrecorded++
	}
	if v.opts.Each != nil {
		v.opts.Each(verdict)
	}
}

// candidate is a snapshot that was asked for. Its verdict is there already where nothing has to be read for it.
type candidate struct {
	verdict SnapshotVerdict
	turn    int   // before 0 is what was begun already
	last    int64 // when it was verified, 0 for never
}

// candidates lists what is to be verified: first what a run before was cut off in, then what was verified least recently.
func (v *verification) candidates(ctx context.Context) ([]candidate, error) {
	var list []candidate
	err := v.each(ctx, func(info SnapshotInfo) { list = append(list, v.candidate(info)) })
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.last, b.last)) })
	return list, err
}

func (v *verification) candidate(info SnapshotInfo) candidate {
	c := candidate{verdict: SnapshotVerdict{Snapshot: info.Snapshot}}
	if v.resume.knows(info.Snapshot) {
		c.turn = -1
	}
	var good bool
	if c.last, good = v.lastVerification(info); good && v.isRecent(c.last) {
		c.verdict.Verdict = VerdictRecent
	}
	if !info.Finished && info.Err == nil {
		c.verdict.Verdict = VerdictUnfinished
	}
	return c
}

func (v *verification) isRecent(start int64) bool {
	if v.opts.OutdatedAfter > 0 {
		return v.start.Sub(time.Unix(start, 0)) < v.opts.OutdatedAfter
	}
	return v.opts.SkipVerified
}

// each calls visit for everything that was asked for. What can't be listed is in the report.
func (v *verification) each(ctx context.Context, visit func(SnapshotInfo)) error {
	switch {
	case len(v.opts.Snapshots) > 0:
		for _, snapshot := range v.opts.Snapshots {
			info, err := v.Snapshot(ctx, snapshot)
			if err != nil {
				return err
			}
			visit(info)
		}
		return nil
	case len(v.opts.Groups) > 0:
		for _, group := range v.opts.Groups {
			if err := v.eachOfGroup(ctx, group, visit); err != nil {
				return err
			}
		}
		return nil
	}
	return v.eachOfNamespaces(ctx, visit)
}

func (v *verification) eachOfNamespaces(ctx context.Context, visit func(SnapshotInfo)) error {
	for ns, err := range v.Namespaces(ctx, v.opts.Namespace, v.opts.Depth) {
		if err != nil {
			if err := v.unlisted(ctx, err); err != nil {
				return err
			}
			continue
		}
		for group, err := range v.Groups(ctx, ns) {
			if err == nil {
				err = ignoreNotFound(v.eachOfGroup(ctx, group.Group, visit))
			}
			if err := v.unlisted(ctx, err); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *verification) eachOfGroup(ctx context.Context, group backupinfo.Group, visit func(SnapshotInfo)) error {
	for info, err := range v.Snapshots(ctx, group) {
		if err == nil {
			visit(info)
		} else if err := v.unlisted(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

// unlisted notes what stands for one entry of a listing; other errors end it.
func (v *verification) unlisted(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*EntryError](err); !ok || ctx.Err() != nil {
		return err
	}
	v.report.Unlisted = append(v.report.Unlisted, err)
	return nil
}

// verify verifies one snapshot, under its lock.
func (v *verification) verify(ctx context.Context, snapshot backupinfo.Snapshot) (verdict SnapshotVerdict) {
	verdict = SnapshotVerdict{Snapshot: snapshot}
	if v.timeUp() {
		verdict.Verdict = VerdictNotReached
		return verdict
	}
	reader, err := v.openUnchecked(ctx, snapshot, nil)
	if err != nil {
		verdict.Verdict, verdict.Err = verdictOf(err), err
		return verdict
	}
	defer func() {
		if err := reader.Close(); err != nil {
			verdict.Unrecorded = errors.Join(verdict.Unrecorded, err)
		}
	}()
	v.authenticate(reader, &verdict)
	v.resume.begin(reader)
	partly := v.verifyFiles(ctx, reader, &verdict)
	if ctx.Err() != nil || partly && verdict.Verdict != VerdictFailed {
		v.resume.keep()
	}
	if ctx.Err() != nil || v.opts.DryRun || verdict.Verdict != VerdictOK && verdict.Verdict != VerdictFailed {
		return verdict
	}
	if verdict.Unrecorded = v.record(ctx, reader, verdict.Verdict); verdict.Unrecorded == nil {
		v.resume.forget(snapshot)
	}
	return verdict
}

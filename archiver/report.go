package archiver

import (
	"errors"
	"fmt"
	"maps"
	"sync"

	"golang.org/x/sys/unix"
)

// Kind is what a [Warning] is about.
type Kind int

// The kinds; the zero value is none of them.
const (
	Vanished   Kind = iota + 1 // it was there in the listing and is gone: nothing is missing
	Denied                     // we may not read it; left out, a directory with its contents
	Unreadable                 // it can't be read; left out
	Changed                    // something else stood in its place each time we looked; left out
	TooDeep                    // its path is longer than an archive's reader takes; the directory's contents are left out
	Shrunk                     // the file became shorter while it was read; zeros stand for what is missing
	Grown                      // the file became longer while it was read; what came later is not there
	Metadata                   // extended attributes are missing, for they are too big
	BadPattern                 // a file with patterns, or a line of it, can't be used, and excludes nothing
	MountPoint                 // another file system; the directory stands there empty, as it should
	KeptOut                    // one of [Options.KeepOut]; likewise
	Written                    // the file was written to while it was read: what is there may be a mixture
)

// String says in a few words, for people, what became of it.
func (k Kind) String() string {
	names := [...]string{
		"unknown", "vanished meanwhile", "left out", "left out", "left out", "left empty, for its path is too long",
		"became shorter while it was read; zeros stand in place of the rest", "became longer while it was read; what came later is not there",
		"stored without some of its extended attributes", "excludes nothing", "mount point, not entered", "left empty",
		"was written to while it was read; it may be a mixture of before and after",
	}
	if k < 0 || int(k) >= len(names) {
		return names[0]
	}
	return names[k]
}

// Incomplete tells that the archive lacks something of what is there.
func (k Kind) Incomplete() bool {
	switch k {
	case Denied, Unreadable, Changed, TooDeep, Shrunk, Metadata:
		return true
	case Vanished, Grown, BadPattern, MountPoint, KeptOut, Written:
	}
	return false
}

// Warning is something that the archive lacks, or that the user should know of.
type Warning struct {
	Kind Kind
	// Path begins with a slash, which stands for the directory that is walked. It may hold any bytes.
	Path string
	// Err is what the system said, nil where there is nothing more to say than the kind.
	Err error
}

func (w Warning) String() string {
	if w.Err == nil || w.Kind == Vanished {
		return fmt.Sprintf("%q: %v", w.Path, w.Kind)
	}
	return fmt.Sprintf("%q: %v: %v", w.Path, w.Kind, w.Err)
}

// Report is what came of a run.
type Report struct {
	// Directories counts them without the root; Others are symbolic links, devices, FIFOs and sockets.
	Directories, Files, HardLinks, Others uint64
	// Bytes is the sum of the files' sizes, hard links not counted.
	Bytes uint64
	// Excluded counts what patterns left out; what is in such a directory is not counted.
	Excluded uint64
	// Warnings counts them by kind.
	Warnings map[Kind]uint64
	// Incomplete counts the warnings that are [Kind.Incomplete], and First are the first few of them.
	Incomplete uint64
	First      []Warning
}

// maxFirst is how many warnings a report repeats.
const maxFirst = 10

// Report tells how far it is. It is final when the sink has closed all contents, and may be called at any time.
func (a *Archiver) Report() Report {
	a.notes.mu.Lock()
	defer a.notes.mu.Unlock()
	r := a.notes.report
	r.Warnings = maps.Clone(r.Warnings)
	r.First = append([]Warning(nil), r.First...)
	return r
}

// notes is the report in the making.
type notes struct {
	mu     sync.Mutex
	report Report
	tell   func(Warning)
}

func (n *notes) count(add func(r *Report)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	add(&n.report)
}

func (n *notes) warn(w Warning) {
	n.count(func(r *Report) {
		if r.Warnings == nil {
			r.Warnings = map[Kind]uint64{}
		}
		r.Warnings[w.Kind]++
		if w.Kind.Incomplete() {
			r.Incomplete++
			if len(r.First) < maxFirst {
				r.First = append(r.First, w)
			}
		}
	})
	if n.tell != nil {
		n.tell(w)
	}
}

// maxUnreadable is after how many entries that can't be read a source counts as failing: a
// backup that lacks most of it, and is the newest, would be worse than none.
const maxUnreadable = 100

// leaveOut notes that an entry is not in the archive. An error is one of the whole source, or of this process.
func (n *notes) leaveOut(path string, err error) error {
	w := Warning{Kind: kindOf(err), Path: path, Err: err}
	switch {
	case isOurs(err):
		return fmt.Errorf("%q: %w", path, err)
	case w.Kind == Unreadable && n.unreadable() >= maxUnreadable:
		return fmt.Errorf("more than %d entries can't be read, so the whole source seems to be failing; the last one is %q: %w", maxUnreadable, path, err)
	}
	n.warn(w)
	return nil
}

func (n *notes) unreadable() (count uint64) {
	n.count(func(r *Report) { count = r.Warnings[Unreadable] })
	return count
}

// errChanged means that a name led to one thing when it was looked at and to another when it was opened.
var errChanged = errors.New("something else stood there when it was opened")

func kindOf(err error) Kind {
	switch {
	case errors.Is(err, errChanged), errors.Is(err, errMoved), errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return Changed
	case errors.Is(err, unix.ENOENT):
		return Vanished
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return Denied
	}
	return Unreadable
}

// isOurs tells of errors that say nothing of the entry: the next one would fail as well.
func isOurs(err error) bool {
	for _, ours := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENOTCONN, unix.ESHUTDOWN} {
		if errors.Is(err, ours) {
			return true
		}
	}
	return false
}

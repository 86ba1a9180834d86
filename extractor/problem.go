package extractor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/filemeta"
	"github.com/pbs-like/pbs-like/pxar"
)

// KindEntry is the kind of a problem with an entry as a whole.
const KindEntry = "entry"

// Problem is something that was not restored.
type Problem struct { //nolint:errname // it is told as a value, and an error only in a strict run
	// Path is the entry's in the archive.
	Path string
	// Kind is [KindEntry], or the piece of metadata: owner, xattr, fcaps, quota, acl, mode, times or flags.
	Kind string
	Err  error
	// Loss tells that the user would miss it.
	Loss bool
}

func (p Problem) Error() string {
	if p.Kind == KindEntry {
		return fmt.Sprintf("%q: %v", p.Path, p.Err)
	}
	return fmt.Sprintf("%q: without its %v", p.Path, p.Err)
}

func (p Problem) Unwrap() error { return p.Err }

var (
	// ErrExists is wrapped by the problem of an entry whose place is taken.
	ErrExists = errors.New("is there already")
	// ErrName is wrapped by the problem of an entry whose name no archive should have, or has twice.
	ErrName = errors.New("not a name to restore")
	// ErrLink is wrapped by the problem of a hard link that leads to no file of the archive.
	ErrLink = errors.New("not a hard link that can be followed")
	// ErrBusy means that another restore goes into the same directory.
	ErrBusy = errors.New("another restore into it is running")
	// ErrMoved means that a directory was taken from its place while it was restored.
	ErrMoved = errors.New("the directory was moved meanwhile")
)

// entryFailed notes that an entry was not restored.
func (r *run) entryFailed(e *pxar.Entry, err error) {
	loss := !r.opts.IgnoreDeviceErrors || e.Kind != pxar.Device
	if e.Kind == pxar.File {
		r.files.fail(e.Position())
	}
	r.failed(e.Path, err, loss)
}

func (r *run) failed(path string, err error, loss bool) {
	if ended := context.Cause(r.ctx); ended != nil {
		return // not the entry's fault
	}
	r.change(func(s *Stats) {
		s.Failed++
		if errors.Is(err, pxar.ErrCorrupt) || errors.Is(err, errDamaged) {
			s.Damaged++
		}
	})
	r.problem(Problem{Path: path, Kind: KindEntry, Err: err, Loss: loss})
	if isFatal(err) {
		r.cancel(fmt.Errorf("%q: %w", path, err))
	}
}

// isFatal tells of errors that the next entry meets as well.
func isFatal(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EROFS) || errors.Is(err, ErrMoved)
}

// metadataFailed notes pieces of metadata that were not applied.
func (r *run) metadataFailed(path string, errs []*filemeta.Error) {
	for _, err := range errs {
		kind := err.Step.String()
		r.change(func(s *Stats) { s.NotApplied[kind]++ })
		r.problem(Problem{Path: path, Kind: kind, Err: err, Loss: r.isLoss(err)})
	}
}

func (r *run) isLoss(err *filemeta.Error) bool {
	switch err.Step {
	case filemeta.StepFlags, filemeta.StepQuota:
		return false
	case filemeta.StepOwner, filemeta.StepCapabilities:
		return r.root
	case filemeta.StepMode:
		return !errors.Is(err, filemeta.ErrForeign) || r.root && !r.opts.IgnoreOwnership
	case filemeta.StepXattr:
		return r.root || strings.HasPrefix(err.Detail, `"user.`)
	case filemeta.StepACL, filemeta.StepTime:
	}
	return true
}

func (r *run) problem(p Problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.Loss {
		r.stats.Losses++
		if r.opts.Strict {
			r.cancel(p)
		}
	}
	if r.opts.Events.Problem != nil {
		r.opts.Events.Problem(p)
	}
}

func (r *run) change(f func(*Stats)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.stats)
}

// progressEvery is how far apart reports are.
const progressEvery = 100 * time.Millisecond

func (r *run) progress() {
	if r.opts.Events.Progress == nil {
		return
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.reported) >= progressEvery {
		r.reported = now
		r.opts.Events.Progress(r.snapshot())
	}
}

// snapshot is a copy for somebody else; the lock is held.
func (r *run) snapshot() Stats {
	s := r.stats
	s.NotApplied = maps.Clone(r.stats.NotApplied)
	s.Duration = time.Since(r.begun)
	return s
}

package extractor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/filemeta"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/pxar"
)

// Extract restores what is in the archive into the directory target, which is made if it is not there. Problems with single entries are told to
// [Options].Events and counted, and are no error. An error means that the run ended early, because of the context, of
// the target, or of the first loss when [Options].Strict asks for that; what was restored until then stays,
// and directories have their metadata.
func Extract(ctx context.Context, archive *pxar.Archive, target string, opts Options) (Stats, error) {
	top, err := archive.Root()
	if err != nil {
		return Stats{}, err
	}
	dir, made, err := openTarget(target)
	if err != nil {
		return Stats{}, err
	}
	defer dir.Close()
	r := newRun(ctx, archive, dir, opts)
	defer r.cancel(nil)
	if r.system, err = filemeta.FileSystemOf(int(dir.Fd())); err != nil {
		return Stats{}, fmt.Errorf("%q: %w", target, err)
	}
	r.start()
	r.descend(top, made)
	r.wait()
	r.stats.Unmatched = r.matched.missing()
	if context.Cause(r.ctx) == nil && !opts.NoSync { //nolint:contextcheck // it is the run that has it
		if err := (*fsop.Disk)(nil).SyncFS(dir); err != nil {
			r.cancel(err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snapshot(), context.Cause(r.ctx) //nolint:contextcheck // as above
}

// run is one call of Extract.
type run struct {
	ctx     context.Context //nolint:containedctx // of this call alone
	cancel  context.CancelCauseFunc
	archive *pxar.Archive
	target  *os.File
	opts    Options
	apply   filemeta.ApplyOptions
	system  filemeta.FileSystem // of the target
	dev     uint64              // of the target
	root    bool                // we are
	files   *record
	matched *matched
	pool

	reserved int // names that look like temporary ones, in all directories

	mu       sync.Mutex
	stats    Stats
	begun    time.Time
	reported time.Time
}

func newRun(ctx context.Context, archive *pxar.Archive, target *os.File, opts Options) *run {
	r := &run{archive: archive, target: target, opts: opts, root: os.Geteuid() == 0, files: newRecord(), matched: newMatched(opts.Patterns), begun: time.Now()}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.stats.NotApplied = map[string]uint64{}
	r.apply = filemeta.ApplyOptions{
		IgnoreOwner: opts.IgnoreOwnership, IgnoreXattrs: opts.IgnoreXattrs, IgnoreACLs: opts.IgnoreACLs, IgnoreMode: opts.IgnorePermissions,
	}
	r.opts.AllowExistingDirs = opts.AllowExistingDirs || opts.Continue
	if opts.Workers <= 0 {
		r.opts.Workers = max(2, min(runtime.GOMAXPROCS(0), 8))
	}
	return r
}

// openTarget opens the directory, making it first if it is not there. Links in the path are the user's own.
func openTarget(path string) (dir *os.File, made bool, err error) {
	err = os.Mkdir(path, 0o700)
	made = err == nil
	if err != nil && !errors.Is(err, os.ErrExist) {
		return nil, false, err
	}
	dir, err = os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, false, err
	}
	if unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) == unix.EWOULDBLOCK { // some file systems know no locks
		return nil, false, errors.Join(fmt.Errorf("%q: %w", path, ErrBusy), dir.Close())
	}
	return dir, made, nil
}

// again repeats a call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

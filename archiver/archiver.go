package archiver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/exclude"
	"github.com/pbs-like/pbs-like/internal/filemeta"
	"github.com/pbs-like/pbs-like/pxar"
)

// ErrPseudo means that the directory is on a file system that the kernel makes up, such as /proc.
var ErrPseudo = errors.New("on a pseudo file system, whose files are made up by the kernel")

// Archiver walks one directory, once.
type Archiver struct {
	opts     Options
	dir      *os.File
	patterns exclude.List
	notes    notes
	systems  fileSystems
	device   uint64 // of the directory
	links    links
	buffers  sync.Pool // of *buffer
}

// New checks the directory and the options. The directory stays the caller's, who closes it after [Archiver.Run].
func New(dir *os.File, opts Options) (*Archiver, error) {
	a := &Archiver{opts: opts, dir: dir, notes: notes{tell: opts.Warning}, links: links{}}
	var err error
	if a.patterns, err = opts.patterns(); err != nil {
		return nil, err
	}
	return a, withFD(dir, a.inspect)
}

func (a *Archiver) inspect(fd int) error {
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return &os.PathError{Op: "fstat", Path: a.dir.Name(), Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return &os.PathError{Op: "walk", Path: a.dir.Name(), Err: unix.ENOTDIR}
	}
	a.device = uint64(st.Dev)
	system, err := a.systems.of(fd, a.device)
	if err == nil && isPseudo(system) {
		err = ErrPseudo
	}
	if err != nil {
		return fmt.Errorf("%q: %w", a.dir.Name(), err)
	}
	return nil
}

// inFlight is how many entries are looked at ahead of the sink, and workers how many of them at a time.
const (
	inFlight = 64
	workers  = 4
)

// Run gives the tree to the sink. After nil the sink has all of it but for what [Archiver.Report] names. After an
// error, which is the first one of the sink, of the context or of the directory itself, what it has is no whole tree.
// Contents that the sink still has stay good until it closes them, or until ctx ends.
func (a *Archiver) Run(ctx context.Context, sink Sink) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &walk{a: a, ctx: inner, ordered: make(chan *item, inFlight), work: make(chan *item, inFlight)}
	loaded := a.startWorkers(ctx, inner, w.work)
	failed := make(chan error, 1)
	go func() {
		defer close(w.ordered)
		defer close(w.work)
		failed <- w.run()
	}()
	err := a.deliver(w.ordered, sink)
	cancel(err)
	for it := range w.ordered {
		it.discard()
	}
	loaded.Wait()
	if walkErr := <-failed; err == nil {
		err = walkErr
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return a.addPatternsFile(sink)
}

// addPatternsFile keeps the patterns in an archive that has no other place for them.
func (a *Archiver) addPatternsFile(sink Sink) error {
	if !a.opts.PatternsFile || len(a.patterns) == 0 {
		return nil
	}
	text := []byte(a.patterns.Text())
	m := pxar.Metadata{Stat: pxar.Stat{Mode: unix.S_IFREG | 0o600, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}}
	return sink.AddFile(cliPatternsFile, &m, uint64(len(text)), inMemory(text), false)
}

// metadata reads what belongs to an open entry. What is too big for the kernel to give is told and left out.
func (a *Archiver) metadata(fd int, st *unix.Stat_t, path func() string) (pxar.Metadata, error) {
	system, err := a.systems.of(fd, uint64(st.Dev))
	if err != nil {
		return pxar.Metadata{}, err
	}
	m, err := filemeta.Read(fd, st, filemeta.ReadOptions{FileSystem: system})
	if errors.Is(err, unix.E2BIG) {
		a.notes.warn(Warning{Kind: Metadata, Path: path(), Err: err})
		err = nil
	}
	return m, err
}

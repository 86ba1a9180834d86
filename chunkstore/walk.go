package chunkstore

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
)

// Walk reads the chunk directories in order of name, each once, and calls visit
// with one after the other; which, if not nil, tells the numbers of those to read.
// A Directory is good until visit returns. Directories that are missing are
// passed over. The first error ends the walk: of visit, of ctx, or of reading; one
// that unwraps to [ErrForeign] says that something else has a directory's name.
//
// Names that appear or vanish while a directory is read may be missed. Who
// removes chunks holds [Store.LockExclusive].
func (s *Store) Walk(ctx context.Context, which func(number int) bool, visit func(*Directory) error) error {
	return s.WalkParallel(ctx, 1, which, func(_ int, d *Directory) error { return visit(d) })
}

// WalkParallel is [Store.Walk] by several workers, each of which calls visit with
// its own number, from 0 on, for one directory after the other. What is near to each other is
// read at about the same time; that is all that is known of the order.
func (s *Store) WalkParallel(ctx context.Context, workers int, which func(number int) bool, visit func(worker int, d *Directory) error) error {
	numbers, err := s.directories()
	if err != nil {
		return err
	}
	if which != nil {
		numbers = slices.DeleteFunc(numbers, func(number int) bool { return !which(number) })
	}
	w := walk{store: s, ctx: ctx, numbers: numbers, visit: visit}
	var group sync.WaitGroup
	for worker := range max(1, min(workers, len(numbers))) {
		group.Go(func() { w.stop(w.run(worker)) })
	}
	group.Wait()
	return w.err
}

// walk is the common state of its workers.
type walk struct {
	store *Store
	ctx   context.Context
	visit func(worker int, d *Directory) error

	mu      sync.Mutex
	numbers []int // that nobody has taken yet
	err     error // the first one
}

// stretch is how many directories a worker takes at once.
const stretch = 16

func (w *walk) take() (numbers []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		n := min(stretch, len(w.numbers))
		numbers, w.numbers = w.numbers[:n], w.numbers[n:]
	}
	return numbers
}

func (w *walk) stop(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

func (w *walk) run(worker int) error {
	buf := make([]byte, 32<<10)
	return beneath.OpenDirs(w.store.chunks, func(open func(string) (int, error)) error {
		for numbers := w.take(); len(numbers) > 0; numbers = w.take() {
			for _, number := range numbers {
				if err := w.ctx.Err(); err != nil {
					return err
				}
				if err := w.one(worker, number, open, buf); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (w *walk) one(worker, number int, open func(string) (int, error), buf []byte) error {
	fd, err := open(prefixName(number))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return foreign(err)
	}
	d := &Directory{Number: number, store: w.store, fd: fd}
	defer d.close()
	names, err := beneath.Names(fd, buf)
	if errors.Is(err, unix.ENOENT) {
		return nil // it was removed since it was opened
	}
	if err != nil {
		return &fs.PathError{Op: "getdents", Path: d.path(), Err: err}
	}
	d.read(names)
	return w.visit(worker, d)
}

// directories lists the chunk directories that there are.
func (s *Store) directories() ([]int, error) {
	dir, err := beneath.OpenDir(s.chunks, ".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	numbers := make([]int, 0, len(names))
	for _, name := range names {
		if number, ok := prefixNumber(name); ok {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

func prefixNumber(name string) (number int, ok bool) {
	if len(name) != prefixLen {
		return 0, false
	}
	for _, c := range []byte(name) {
		digit := strings.IndexByte(hexDigits, c)
		if digit < 0 {
			return 0, false
		}
		number = number<<4 | digit
	}
	return number, true
}

const hexDigits = "0123456789abcdef"

func prefixName(number int) string {
	return string([]byte{hexDigits[number>>12&15], hexDigits[number>>8&15], hexDigits[number>>4&15], hexDigits[number&15]})
}

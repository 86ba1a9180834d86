package archiver

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/exclude"
)

// fill lists a directory. failure is what the system said, after which there is what could be read; err ends the run.
func (w *walk) fill(l *level) (failure, err error) {
	more, size := w.a.readPatterns(l.dir.fd, l.where, l.budget)
	l.list = append(slices.Clip(l.list), more...)
	l.budget -= size
	var refused error
	l.listing, failure = list(w.ctx, l.dir.fd, func(name []byte, kind uint8) (bool, error) {
		wanted := w.wanted(l, name, kind)
		if wanted {
			w.count++
		}
		if w.count > w.a.opts.entriesMax() {
			refused = fmt.Errorf("%q: more than %d entries in the directories on the way to here, which is the limit (entries-max)",
				l.where.path(), w.a.opts.entriesMax())
		}
		return wanted, refused
	})
	switch {
	case refused != nil:
		return nil, refused
	case w.ctx.Err() != nil:
		return nil, failure
	}
	return failure, nil
}

// wanted asks the patterns.
func (w *walk) wanted(l *level, name []byte, kind uint8) bool {
	if len(w.levels) == 1 && string(name) == cliPatternsFile {
		return false // of an earlier restore; ours takes its place
	}
	if len(l.list) == 0 {
		return true
	}
	dir := kind == unix.DT_DIR
	if kind == unix.DT_UNKNOWN {
		st, err := look(l.dir.fd, string(name))
		dir = err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
	}
	path := append(append(w.path, '/'), name...)
	if l.list.Match(string(path), dir) != exclude.Exclude {
		return true
	}
	w.a.notes.count(func(r *Report) { r.Excluded++ })
	return false
}

package mount

import (
	"errors"
	"io"
	"sync"

	"github.com/pbs-like/pbs-like/pxar"
)

// links counts the names of files. An archive tells of a file's other names only where they stand.
type links struct {
	mu    sync.Mutex
	known bool
	count map[uint64]uint32 // of those with several names, by the place of the first
}

// maxCounted is the size of archive that is read as a whole for this. That of a split one has names only.
const maxCounted = 64 << 20

// unknownLinks makes programs that copy look for other names.
const unknownLinks = 2

// of gives the number of names of a file.
func (l *links) of(t *tree, position uint64) uint32 {
	if t.entries.size > maxCounted {
		return unknownLinks
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known {
		l.known = true
		l.read(t)
	}
	switch n, several := l.count[position]; {
	case l.count == nil:
		return unknownLinks
	case several:
		return n
	}
	return 1
}

func (l *links) read(t *tree) {
	root, err := t.pxar.Root()
	if err != nil {
		return
	}
	walk, err := t.pxar.Walk(root)
	if err != nil {
		return
	}
	count := map[uint64]uint32{}
	for {
		e, err := walk.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, pxar.ErrCorrupt) {
			l.count = count
			return
		}
		if err != nil {
			return // what is damaged is told where it is used
		}
		if e.Kind == pxar.Hardlink && e.LinkOffset <= e.Position() {
			first := e.Position() - e.LinkOffset
			count[first] = max(count[first], 1) + 1
		}
	}
}

package treefind

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/pbs-like/pbs-like/catalog"
	"github.com/pbs-like/pbs-like/pxar"
)

// item is one entry of a tree. Its path begins with "/" and the archive's file name.
type item struct {
	path    string
	kind    catalog.Kind
	size    uint64 // of files only, as modTime
	modTime int64
}

// name is the last part of the path.
func (i *item) name() string { return i.path[strings.LastIndexByte(i.path, '/')+1:] }

// nameList is what the names of a tree look like in the cache.
type nameList struct {
	names   []byte // "/" before each, and one behind the last
	records []byte
}

const (
	recordSize = 1 + 4 + 4 + 8 + 8
	noParent   = 1<<32 - 1
)

func (l *nameList) count() int { return len(l.records) / recordSize }

func (l *nameList) kind(i int) catalog.Kind { return catalog.Kind(l.records[i*recordSize]) }
func (l *nameList) parent(i int) uint32 {
	return binary.LittleEndian.Uint32(l.records[i*recordSize+1:])
}

// nameAt is where the slash before the name stands.
func (l *nameList) nameAt(i int) int {
	return int(binary.LittleEndian.Uint32(l.records[i*recordSize+5:]))
}

// sizes are the size and time of an entry.
func (l *nameList) sizes(i int) (size uint64, modTime int64) {
	r := l.records[i*recordSize+9:]
	return binary.LittleEndian.Uint64(r), int64(binary.LittleEndian.Uint64(r[8:]))
}

// listWriter makes a list of the entries of a tree, which come in its order. One that becomes too large is given up.
type listWriter struct {
	list  nameList
	limit int
	full  bool
	dirs  []listedDir // that the next entry may be in
}

type listedDir struct {
	path   string
	number uint32
}

func (w *listWriter) add(e *item) {
	name := e.name()
	w.full = w.full || len(w.list.names)+len(name)+2+len(w.list.records)+recordSize > w.limit
	if w.full {
		w.list, w.dirs = nameList{}, nil
		return
	}
	number := uint32(w.list.count())
	r := append(w.list.records, byte(e.kind))
	r = binary.LittleEndian.AppendUint32(r, w.parent(e.path[:len(e.path)-len(name)-1]))
	r = binary.LittleEndian.AppendUint32(r, uint32(len(w.list.names)))
	r = binary.LittleEndian.AppendUint64(r, e.size)
	w.list.records = binary.LittleEndian.AppendUint64(r, uint64(e.modTime))
	w.list.names = append(append(w.list.names, '/'), name...)
	if e.kind == catalog.Directory {
		w.dirs = append(w.dirs, listedDir{e.path, number})
	}
}

// parent finds the directory with a path, which came last of all with that path.
func (w *listWriter) parent(path string) uint32 {
	for last, dir := range slices.Backward(w.dirs) {
		if dir.path == path {
			return dir.number
		}
		w.dirs = w.dirs[:last]
	}
	return noParent
}

// finish gives the list, or false for one that was given up.
func (w *listWriter) finish() (*nameList, bool) {
	w.list.names = append(w.list.names, '/')
	return &w.list, !w.full
}

// checkName is for names from a catalog, which may hold anything.
func checkName(name string) error { return pxar.CheckName(name) }

package archiver

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// directory is an open directory. Whoever works on what is in it holds it, and the last one closes it.
type directory struct {
	fd      int
	holders atomic.Int32
}

// newDirectory takes the descriptor over, for one holder.
func newDirectory(fd int) *directory {
	d := &directory{fd: fd}
	d.holders.Store(1)
	return d
}

func (d *directory) hold() *directory {
	d.holders.Add(1)
	return d
}

func (d *directory) release() {
	if d.holders.Add(-1) == 0 {
		_ = unix.Close(d.fd) // only read from
	}
}

// place is where a directory is, without its path, which would take a lot of memory in deep trees.
type place struct {
	parent *place // nil for the root
	name   string
	length int // of the path
}

func (p *place) child(name string) *place {
	return &place{parent: p, name: name, length: p.lengthOf(name)}
}

// lengthOf is the length of the path, without a slash at the front, of a name in p.
func (p *place) lengthOf(name string) int {
	if p.length == 0 {
		return len(name)
	}
	return p.length + len("/") + len(name)
}

// pathOf is the path of a name in p, with a slash at the front.
func (p *place) pathOf(name string) string {
	path := make([]byte, len("/")+p.lengthOf(name))
	end := len(path)
	put := func(name string) {
		end -= len(name)
		copy(path[end:], name)
		end--
		path[end] = '/'
	}
	put(name)
	for ; p.parent != nil; p = p.parent {
		put(p.name)
	}
	return string(path)
}

// path is that of the directory itself.
func (p *place) path() string {
	if p.parent == nil {
		return "/"
	}
	return p.parent.pathOf(p.name)
}

package flock

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// searchTime bounds a search through all processes. What was not found by then
// is unknown: the caller is to be told that a file is busy, not why the machine is.
const searchTime = time.Second

// procfs is the root of a proc file system; tests make one of their own.
type procfs struct{ root string }

// owner is a lock and a process: the one that has it, or, in a lock line, the one
// that took it.
type owner struct {
	pid  int
	kind Kind
	mode Mode
}

// census is what a search has found about one file.
type census struct {
	file   ident
	owners map[owner]bool // who has a lock on it
	seen   map[owner]bool // lock lines met on some descriptor, by who took the lock
}

// search finds the holders of locks on the file id, which fd has open.
//
// /proc/locks names the process that took a lock. Mostly that one still has it,
// and its fdinfo confirms it; then nothing else is read. Otherwise (a lock of an
// open file has no process there; a process that passed its file on to a child
// is gone; another namespace's is left out) the fdinfo of every process is read.
func (p procfs) search(fd int, id ident) []owner {
	lines := p.listed(fd, id)
	c := census{id, map[owner]bool{}, map[owner]bool{}}
	for _, l := range lines {
		c.add(p.process(l.pid, id))
	}
	if len(lines) == 0 || !c.explainsAll(lines) {
		p.scan(c)
		p.unconfirmed(lines, c)
	}
	return slices.SortedFunc(maps.Keys(c.owners), compareOwners)
}

func compareOwners(a, b owner) int {
	return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.kind, b.kind), cmp.Compare(a.mode, b.mode))
}

// add counts what was seen on the descriptors of a process.
func (c census) add(seen []sighting, _ bool) {
	for _, s := range seen {
		c.seen[s.taken] = true
		c.owners[s.owner] = true
	}
}

func (c census) explains(l lockLine) bool { return c.seen[owner{l.pid, l.kind, l.mode}] }

func (c census) explainsAll(lines []lockLine) bool {
	return !slices.ContainsFunc(lines, func(l lockLine) bool { return !c.explains(l) })
}

// listed returns the lines of /proc/locks about the file. On btrfs and others the
// device in them is not the one of stat.
func (p procfs) listed(fd int, id ident) []lockLine {
	data, _ := os.ReadFile(p.root + "/locks")
	device := sync.OnceValue(func() uint64 { return p.deviceOf(fd) })
	var lines []lockLine
	for text := range strings.Lines(string(data)) {
		l, ok := parseLockLine(text)
		if ok && l.id.ino == id.ino && (l.id.dev == id.dev || l.id.dev == device()) {
			lines = append(lines, l)
		}
	}
	return lines
}

// scan looks at the descriptors of every process that may be looked at.
func (p procfs) scan(c census) {
	deadline := time.Now().Add(searchTime)
	for _, pid := range numbers(p.root) {
		c.add(p.process(pid, c.file))
		if time.Now().After(deadline) {
			return
		}
	}
}

// unconfirmed adds what /proc/locks tells and no process admits to: it belongs
// to another user, or to nobody who can be seen.
func (p procfs) unconfirmed(lines []lockLine, c census) {
	for _, l := range lines {
		if c.explains(l) {
			continue
		}
		pid := l.pid
		if _, readable := p.process(pid, c.file); readable || !p.alive(pid) {
			pid = -1 // it took the lock and has it no more
		}
		c.owners[owner{pid, l.kind, l.mode}] = true
	}
}

// alive tells whether there is such a process, also one that /proc hides.
func (p procfs) alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	_, err := os.Stat(p.root + "/" + strconv.Itoa(pid))
	return err == nil || unix.Kill(pid, 0) != unix.ESRCH
}

// numbers returns the names in a directory that are numbers.
func numbers(dir string) []int {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // what was read before an error is as good
	var all []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			all = append(all, n)
		}
	}
	return all
}

package flock

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Survey is what one look at all processes has told about the locks on some file
// systems. Where [Holders] looks for those of one file, a survey costs the same for
// any number of files. It is for one goroutine.
type Survey struct {
	p       procfs
	kernel  map[uint64]bool // devices, as lock lines have them
	found   map[ident]map[owner]bool
	path    map[ident]string
	lines   map[lockLine]bool     // what no process has admitted to yet
	taker   map[int]bool          // who took a lock that is in lines: whether it could be looked at
	byInode map[uint64][]lockLine // the same, for the search
	hidden  int
	known   map[int]Holder
	devices map[uint64]bool // as stat has them
}

// SurveyOptions change where a survey looks.
type SurveyOptions struct {
	// Proc is a proc file system; empty is /proc.
	Proc string
}

// NewSurvey looks at the locks on the file systems on which the open files are, and
// those that are mounted below them. It ends early only when the context does.
// Processes that may not be looked at are counted, see [Survey.Hidden].
func NewSurvey(ctx context.Context, o SurveyOptions, trees ...*os.File) (*Survey, error) {
	s := &Survey{
		p: procfs{o.Proc}, kernel: map[uint64]bool{}, devices: map[uint64]bool{}, found: map[ident]map[owner]bool{},
		path: map[ident]string{}, lines: map[lockLine]bool{}, taker: map[int]bool{}, known: map[int]Holder{},
	}
	if o.Proc == "" {
		s.p.root = "/proc"
	}
	for _, tree := range trees {
		if err := s.addTree(tree); err != nil {
			return nil, err
		}
	}
	s.readLines()
	buf := make([]byte, maxInfo)
	for _, pid := range numbers(s.p.root) {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		s.look(pid, buf)
	}
	s.byInode = make(map[uint64][]lockLine, len(s.lines))
	for l := range s.lines {
		s.byInode[l.id.ino] = append(s.byInode[l.id.ino], l)
	}
	return s, nil
}

// addTree notes the devices of a directory and of what is mounted below it.
func (s *Survey) addTree(tree *os.File) error {
	err := withFD(tree, func(fd int) error {
		var st unix.Stat_t
		if err := fstat(fd, &st); err != nil {
			return err
		}
		s.devices[uint64(st.Dev)], s.kernel[uint64(st.Dev)] = true, true
		if device := s.p.deviceOf(fd); device != 0 {
			s.kernel[device] = true
		}
		return nil
	})
	if err != nil {
		return pathError("fstat", tree.Name(), err)
	}
	for m := range s.p.mountsBelow(tree.Name()) {
		var st unix.Stat_t
		if unix.Stat(m.point, &st) == nil {
			s.devices[uint64(st.Dev)], s.kernel[uint64(st.Dev)], s.kernel[m.device] = true, true, true
		}
	}
	return nil
}

// readLines keeps what /proc/locks tells of these file systems. The rest would be
// of no use, and there may be a lot of it.
func (s *Survey) readLines() {
	data, _ := os.ReadFile(s.p.root + "/locks")
	for text := range strings.Lines(string(data)) {
		if l, ok := parseLockLine(text); ok && s.kernel[l.id.dev] {
			s.lines[l] = true
			s.taker[l.pid] = false
		}
	}
}

// look reads the locks of a process.
func (s *Survey) look(pid int, buf []byte) {
	visible := s.p.eachLock(pid, buf, s.devices, func(file ident, path string, l lockLine) {
		if s.found[file] == nil {
			s.found[file] = map[owner]bool{}
		}
		s.found[file][owner{pid, l.kind, l.mode}] = true
		s.path[file] = path
		delete(s.lines, l)
	})
	if !visible && s.p.alive(pid) && !s.p.isOver(pid, buf) {
		s.hidden++
	}
	if _, took := s.taker[pid]; took {
		s.taker[pid] = visible
	}
}

// Hidden is how many processes there are that this one may not look at. Their locks
// are found as far as /proc/locks has them.
func (s *Survey) Hidden() int { return s.hidden }

// Empty tells whether there is no lock on any of the file systems.
func (s *Survey) Empty() bool { return len(s.found) == 0 && len(s.lines) == 0 }

// Holders lists who holds locks on the file with this device and inode number, as
// stat(2) has them, ordered as those of the function [Holders].
func (s *Survey) Holders(dev, ino uint64) []Holder {
	id := ident{dev, ino}
	owners := maps.Clone(s.found[id])
	for _, l := range s.unclaimed(dev, ino) {
		if owners == nil {
			owners = map[owner]bool{}
		}
		owners[s.unconfirmed(l)] = true
	}
	var holders []Holder
	for _, o := range slices.SortedFunc(maps.Keys(owners), compareOwners) {
		holders = append(holders, s.describe(o))
	}
	return holders
}

// Has tells whether there is any lock on the file, see [Survey.Holders].
func (s *Survey) Has(dev, ino uint64) bool {
	return len(s.found[ident{dev, ino}]) > 0 || len(s.unclaimed(dev, ino)) > 0
}

// unclaimed are the lines about a file that no process admits to. Where stat has
// another device than the lines, as on btrfs, any of the devices counts.
func (s *Survey) unclaimed(dev, ino uint64) (lines []lockLine) {
	for _, l := range s.byInode[ino] {
		if l.id.dev == dev || !s.devices[l.id.dev] && s.kernel[l.id.dev] {
			lines = append(lines, l)
		}
	}
	return lines
}

// unconfirmed is the owner in a line that no process admits to.
func (s *Survey) unconfirmed(l lockLine) owner {
	if s.taker[l.pid] || !s.p.alive(l.pid) {
		l.pid = -1 // it took the lock and has it no more
	}
	return owner{l.pid, l.kind, l.mode}
}

// describe reads about each process once: one may hold thousands of locks.
func (s *Survey) describe(o owner) Holder {
	h, ok := s.known[o.pid]
	if !ok {
		h = s.p.describe(o)
		s.known[o.pid] = h
	}
	h.Mode, h.Kind = o.mode, o.kind
	return h
}

// LockedFile is a file on which there are locks.
type LockedFile struct {
	Dev, Ino uint64
	// Path is how a holder has it open, in the holder's own tree of mounts.
	Path string
}

// Files lists the locked files that could be seen in their holders, by path.
func (s *Survey) Files() []LockedFile {
	var files []LockedFile
	for id, path := range s.path {
		files = append(files, LockedFile{id.dev, id.ino, path})
	}
	slices.SortFunc(files, func(a, b LockedFile) int { return strings.Compare(a.Path, b.Path) })
	return files
}

package export

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"path"
	"strings"

	"github.com/pbs-like/pbs-like/pxar"
)

// Options are how a tree is exported.
type Options struct {
	// LeftOut is called for each entry that the format can't hold, with the reason. It may be nil.
	LeftOut func(path string, why error)
	// PassOver is called when the content of a file can't be read. If it says true, zeros are written
	// for the rest of the file, or it is left out where its content is not found at all, and the export goes on. nil is never.
	PassOver func(path string, err error) bool
}

// Stats is what an export came to.
type Stats struct {
	// Entries were written.
	Entries int
	// Bytes of contents were written.
	Bytes uint64
	// LeftOut are entries that were not written.
	LeftOut int
	// Damaged are files with zeros in the place of what could not be read, and those among the left out that were not found.
	Damaged int
}

// format writes entries in one of the formats. An error of class errLeftOut means that it did not.
type format interface {
	// entry writes an entry that is no hard link. The content of a file has its size exactly.
	entry(e *pxar.Entry, content io.Reader) error
	// link writes a hard link to a file that was written at a position, as the path says; without room for it, errNoLinks.
	link(e *pxar.Entry, to *pxar.Entry, first uint64) error
	close() error
}

var (
	// errLeftOut marks an entry that the format can't hold.
	errLeftOut = errors.New("left out")
	// errNoLinks says that the format has no hard links, so that the content is to be written again.
	errNoLinks = errors.New("no hard links")
)

func leftOut(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errLeftOut, fmt.Sprintf(format, args...))
}

// maxSeen bounds the memory for the files that hard links may lead to. What is not
// remembered is looked up in the archive, which is slower.
const maxSeen = 4 << 20

// exporter walks over a tree.
type exporter struct {
	archive *pxar.Archive
	out     format
	opts    Options
	stats   Stats
	top     string
	seed    maphash.Seed
	seen    map[uint64]uint64 // files that were written: place of the name, hash of the path
	full    bool
	names   siblings
}

func run(a *pxar.Archive, top *pxar.Entry, out format, opts Options) (Stats, error) {
	x := &exporter{archive: a, out: out, opts: opts, top: top.Path, seed: maphash.MakeSeed(), seen: map[uint64]uint64{}}
	x.names.seed = x.seed
	r, err := a.Walk(top)
	if err != nil {
		return x.stats, err
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, pxar.ErrCorrupt) {
			return x.stats, out.close()
		}
		if err != nil {
			return x.stats, err
		}
		if err := x.add(e); err != nil {
			return x.stats, fmt.Errorf("%q: %w", e.Path, err)
		}
	}
}

func (x *exporter) add(e *pxar.Entry) error {
	err := x.write(e)
	if errors.Is(err, errLeftOut) {
		x.stats.LeftOut++
		if x.opts.LeftOut != nil {
			x.opts.LeftOut(e.Path, err)
		}
		return nil
	}
	if err == nil {
		x.stats.Entries++
	}
	return err
}

func (x *exporter) write(e *pxar.Entry) error {
	if strings.Contains(e.Path, "\x00") {
		return leftOut("its name has a NUL in it")
	}
	if e.Path != x.top {
		if err := x.names.check(x.top, e); err != nil {
			return err
		}
	}
	switch e.Kind { //nolint:exhaustive // what has no content is written alike
	case pxar.Hardlink:
		return x.link(e)
	case pxar.File:
		if err := x.file(e); err != nil {
			return err
		}
		x.remember(e)
		return nil
	}
	return x.out.entry(e, nil)
}

func (x *exporter) remember(e *pxar.Entry) {
	if x.full = len(x.seen) >= maxSeen; !x.full {
		x.seen[e.Position()] = maphash.String(x.seed, e.Path)
	}
}

// link writes a hard link, or the file again if what the archive says of it does not hold.
func (x *exporter) link(e *pxar.Entry) error {
	file, err := x.archive.Resolve(e)
	if err != nil {
		return leftOut("%v", err)
	}
	first := file.Position()
	if target := "/" + e.Target; x.wasWritten(target, first) {
		to := *file
		to.Path = target
		if err := x.out.link(e, &to, first); !errors.Is(err, errNoLinks) {
			return err
		}
	}
	return x.file(file)
}

// wasWritten tells whether the file of that path was written, and is the one at that place of the archive.
func (x *exporter) wasWritten(target string, first uint64) bool {
	if path.Clean(target) != target || !below(x.top, target) {
		return false
	}
	if hash, ok := x.seen[first]; ok || !x.full {
		return ok && hash == maphash.String(x.seed, target)
	}
	file, err := x.archive.Lookup(target)
	return err == nil && file.Kind == pxar.File && file.Position() == first
}

func below(dir, name string) bool {
	return dir == "/" || name == dir || strings.HasPrefix(name, dir+"/")
}

func (x *exporter) file(e *pxar.Entry) error {
	section, err := x.archive.Content(e)
	if err != nil {
		// No zeros here: how large the file is may be what is wrong.
		if x.opts.PassOver != nil && x.opts.PassOver(e.Path, err) {
			x.stats.Damaged++
			return leftOut("%v", err)
		}
		return err
	}
	content := &filled{r: section, x: x, path: e.Path, left: e.Size}
	if err := x.out.entry(e, content); err != nil {
		return err
	}
	x.stats.Bytes += e.Size
	if content.damaged {
		x.stats.Damaged++
	}
	return nil
}

// filled is a content of a known size, with zeros behind what can't be read.
type filled struct {
	r       io.Reader
	x       *exporter
	path    string
	left    uint64
	damaged bool
}

func (f *filled) passOver(err error) bool {
	f.damaged = f.x.opts.PassOver != nil && f.x.opts.PassOver(f.path, err)
	return f.damaged
}

func (f *filled) Read(p []byte) (n int, err error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(uint64(len(p)), f.left)]
	if f.damaged {
		clear(p)
		n = len(p)
	} else if n, err = f.r.Read(p); err != nil && n == 0 {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if !f.passOver(err) {
			return 0, err
		}
		return f.Read(p)
	}
	f.left -= uint64(n)
	return n, nil
}

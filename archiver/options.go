package archiver

import (
	"bytes"
	"encoding/json"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/exclude"
)

// DefaultEntriesMax is how many entries the directories on the way to the current one may have together.
const DefaultEntriesMax = 1 << 20

// Options are how a directory is walked. The zero value takes all of its own file system.
type Options struct {
	// Exclude are patterns that count for the whole tree, before those of the files named .pxarexclude in it.
	Exclude exclude.List
	// SkipLostAndFound leaves out what is named lost+found, anywhere.
	SkipLostAndFound bool
	// PatternsFile adds a file with these patterns to the root, as archives of version 1 have it. Split archives
	// have [Archiver.Prelude] instead.
	PatternsFile bool
	// AllFileSystems enters everything that is mounted, but for pseudo file systems.
	AllFileSystems bool
	// Devices are further file systems, as st_dev has them, that are entered besides the directory's own.
	Devices []uint64
	// KeepOut are directories that stand in the archive empty, such as the store that it is written to.
	KeepOut []Inode
	// EntriesMax bounds the entries of the directories on the way to the current one, and with them memory: 0 is [DefaultEntriesMax].
	EntriesMax int
	// ReadAhead reads small files before the sink asks for them. It is for sinks that want all contents.
	ReadAhead bool
	// Warning is called with what is not as it should be. It may be called by several goroutines at a time.
	Warning func(Warning)
}

// Inode is which file something is, under whatever name: st_dev and st_ino of stat(2).
type Inode struct{ Device, Number uint64 }

func inodeOf(st *unix.Stat_t) Inode { return Inode{uint64(st.Dev), st.Ino} }

func (o Options) entriesMax() int {
	if o.EntriesMax <= 0 {
		return DefaultEntriesMax
	}
	return o.EntriesMax
}

// patterns are those that count for the whole tree.
func (o Options) patterns() (exclude.List, error) {
	list := slices.Clip(o.Exclude)
	if !o.SkipLostAndFound {
		return list, nil
	}
	p, err := exclude.ParseArgument("lost+found")
	return append(list, p), err
}

// Prelude is what a split archive begins with: the patterns that count for the whole tree, nil if there are none.
func (a *Archiver) Prelude() ([]byte, error) {
	if len(a.patterns) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // the original writes < > & as they are
	err := enc.Encode(struct {
		Patterns string `json:"exclude-patterns"`
	}{a.patterns.Text()})
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

package command

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/treediff"
)

// diffImages compares two images, and tells whether they are known to be equal.
func (p *program) diffImages(
	c *cli.Context, format outputFormat, name backupinfo.ArchiveName, old, new *datastore.SnapshotReader,
) (equal bool, err error) {
	if c.IsSet(flagPattern) {
		return false, usageErrorf("--pattern is for directory trees, and %q is an image", name.Display())
	}
	oldImage, err := old.OpenArchive(c.Context, name)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, oldImage.Close()) }()
	newImage, err := new.OpenArchive(c.Context, name)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, newImage.Close()) }()
	equal, err = p.diffRanges(c, format, oldImage, newImage)
	if errors.Is(err, datastore.ErrIncomparable) && c.Bool(flagContent) {
		return p.diffBytes(c, format, oldImage, newImage)
	}
	return equal, err
}

func (p *program) diffRanges(c *cli.Context, format outputFormat, old, new *datastore.Archive) (equal bool, err error) {
	out := newListing(p, format, rangeColumns(), rangeRow, newRangeJSON)
	changed := uint64(0)
	for r, err := range old.ChangedRanges(c.Context, new) {
		if err == nil {
			err = out.add(r)
		}
		if errors.Is(err, datastore.ErrIncomparable) { // it is the first that comes
			return false, err
		}
		if err != nil {
			return false, closeListing(out, err)
		}
		changed += r.End - r.Start
	}
	if err := out.close(); err != nil {
		return false, err
	}
	text := fmt.Sprintf("%s of %s in changed chunks", humanize.IBytes(changed), humanize.IBytes(max(old.Size(), new.Size())))
	return changed == 0, p.differs(format, text)
}

// diffBytes reads both images where their chunks tell nothing.
func (p *program) diffBytes(c *cli.Context, format outputFormat, old, new *datastore.Archive) (equal bool, err error) {
	const block = 4 << 20
	out := newListing(p, format, rangeColumns(), rangeRow, newRangeJSON)
	common, longest := min(old.Size(), new.Size()), max(old.Size(), new.Size())
	changed := uint64(0)
	add := func(start, end uint64) error {
		changed += end - start
		return out.add(datastore.ChangedRange{Start: start, End: end})
	}
	for at := uint64(0); at < common && err == nil; at += block {
		size := min(block, common-at)
		var like datastore.Likeness
		like, err = treediff.CompareReaders(c.Context, section(old, at, size), section(new, at, size), size)
		if err == nil && like == datastore.Different {
			err = add(at, at+size)
		}
	}
	if err == nil && common < longest {
		err = add(common, longest)
	}
	if err = closeListing(out, err); err != nil {
		return false, err
	}
	text := fmt.Sprintf("%s of %s in changed blocks of 4 MiB", humanize.IBytes(changed), humanize.IBytes(longest))
	return changed == 0, p.differs(format, text)
}

func section(a *datastore.Archive, at, size uint64) io.Reader {
	return io.NewSectionReader(a, int64(at), int64(size))
}

func rangeColumns() []column {
	return []column{{title: "start", right: true}, {title: "end", right: true}, {title: "bytes", right: true}}
}

func rangeRow(r datastore.ChangedRange) []string {
	return []string{strconv.FormatUint(r.Start, 10), strconv.FormatUint(r.End, 10), strconv.FormatUint(r.End-r.Start, 10)}
}

type rangeJSON struct {
	Bytes uint64 `json:"bytes"`
	End   uint64 `json:"end"`
	Start uint64 `json:"start"`
}

func newRangeJSON(r datastore.ChangedRange) any {
	return rangeJSON{Bytes: r.End - r.Start, End: r.End, Start: r.Start}
}

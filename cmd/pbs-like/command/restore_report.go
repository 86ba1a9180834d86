package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/extractor"
)

func (p *program) printTree(format outputFormat, tree *datastore.Tree, target string, s extractor.Stats) error {
	if format != formatText {
		p.progress.finish()
		return writeJSON(p.out, newExtractionJSON(tree, target, s), format == formatJSONPretty)
	}
	lines := []string{fmt.Sprintf("%s to %q: %s", tree.Name().Display(), target, treeCounts(s))}
	if s.Unchanged > 0 {
		lines = append(lines, fmt.Sprintf("there already, and equal: %d", s.Unchanged))
	}
	if s.LinksCopied > 0 {
		lines = append(lines, fmt.Sprintf("hard links as files of their own: %d", s.LinksCopied))
	}
	if s.Skipped > 0 {
		lines = append(lines, fmt.Sprintf("left out as asked: %d", s.Skipped))
	}
	if len(s.NotApplied) > 0 {
		lines = append(lines, "could not be set: "+strings.Join(stepCounts(s.NotApplied), ", "))
	}
	if s.Failed > 0 {
		lines = append(lines, fmt.Sprintf("not restored: %d", s.Failed))
	}
	return p.summary(lines...)
}

func treeCounts(s extractor.Stats) string {
	var counts []string
	for _, c := range []struct {
		n    uint64
		noun string
	}{
		{s.Directories, "directory"},
		{s.Files, "file"},
		{s.Symlinks, "symlink"},
		{s.Hardlinks, "hard link"},
		{s.Devices, "device"},
		{s.FIFOs, "named pipe"},
		{s.Sockets, "socket"},
	} {
		if c.n > 0 {
			counts = append(counts, plural(int(c.n), c.noun))
		}
	}
	text := strings.Join(counts, ", ") + ", " + humanize.IBytes(s.Bytes)
	if s.Holes > 0 {
		text += fmt.Sprintf(" (%s of it as holes)", humanize.IBytes(s.Holes))
	}
	return text + fmt.Sprintf(" in %v", s.Duration.Round(time.Millisecond))
}

func stepCounts(counts map[string]uint64) (texts []string) {
	for _, step := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%s %d", step, counts[step]))
	}
	return texts
}

type extractionJSON struct {
	Archive     string            `json:"archive"`
	Bytes       uint64            `json:"bytes"`
	Damaged     uint64            `json:"damaged"`
	Devices     uint64            `json:"devices"`
	Directories uint64            `json:"directories"`
	Duration    float64           `json:"duration"` // seconds
	Failed      uint64            `json:"failed"`
	FIFOs       uint64            `json:"fifos"`
	Files       uint64            `json:"files"`
	Hardlinks   uint64            `json:"hardlinks"`
	HoleBytes   uint64            `json:"hole-bytes"`
	LinksCopied uint64            `json:"links-copied"`
	Losses      uint64            `json:"losses"`
	NotApplied  map[string]uint64 `json:"not-applied"`
	Skipped     uint64            `json:"skipped"`
	Sockets     uint64            `json:"sockets"`
	Symlinks    uint64            `json:"symlinks"`
	Target      string            `json:"target"`
	Unchanged   uint64            `json:"unchanged"`
}

func newExtractionJSON(tree *datastore.Tree, target string, s extractor.Stats) extractionJSON {
	return extractionJSON{
		Archive: tree.Name().File(), Bytes: s.Bytes, Damaged: s.Damaged, Devices: s.Devices, Directories: s.Directories,
		Duration: s.Duration.Seconds(), Failed: s.Failed, FIFOs: s.FIFOs, Files: s.Files, Hardlinks: s.Hardlinks,
		HoleBytes: s.Holes, LinksCopied: s.LinksCopied, Losses: s.Losses, NotApplied: s.NotApplied, Skipped: s.Skipped,
		Sockets: s.Sockets, Symlinks: s.Symlinks, Target: target, Unchanged: s.Unchanged,
	}
}

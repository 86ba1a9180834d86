package command

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
)

// treeLines say what became of a directory.
func treeLines(t treeResult) (lines []string) {
	for _, a := range t.stats.Archives {
		lines = append(lines, archiveLine(a))
	}
	r := t.report
	parts := []string{plural(int(r.Files), "file") + " (" + humanize.IBytes(r.Bytes) + ")"}
	if n := t.stats.ReusedFiles; n > 0 {
		parts = append(parts, fmt.Sprintf("%d of them (%s) unchanged and not read", n, humanize.IBytes(t.stats.ReusedBytes)))
	}
	for _, more := range []struct {
		n    uint64
		what string
	}{{r.Directories, "directory"}, {r.HardLinks, "hard link"}, {r.Others, "other entry"}} {
		if more.n > 0 {
			parts = append(parts, plural(int(more.n), more.what))
		}
	}
	if r.Excluded > 0 {
		parts = append(parts, fmt.Sprintf("%d excluded", r.Excluded))
	}
	lines = append(lines, t.name+": "+strings.Join(parts, ", "))
	return append(lines, incompleteLines(t)...)
}

func incompleteLines(t treeResult) (lines []string) {
	if t.report.Incomplete == 0 {
		return nil
	}
	text := t.name + ": " + plural(int(t.report.Incomplete), "entry") + " left out or incomplete"
	if int(t.report.Incomplete) > len(t.report.First) {
		text += ", the first of them"
	}
	lines = append(lines, text+":")
	for _, w := range t.report.First {
		lines = append(lines, "  "+w.String())
	}
	return lines
}

// treesIncomplete is the error for what the archives lack.
func treesIncomplete(trees []treeResult) error {
	var count uint64
	for _, t := range trees {
		count += t.report.Incomplete
	}
	if count == 0 {
		return nil
	}
	return fmt.Errorf("%w: the snapshot is there, and %s left out or incomplete", errPartly, plural(int(count), "entry"))
}

type treeJSON struct {
	Archive     string   `json:"archive"`
	Bytes       uint64   `json:"bytes"`
	Directories uint64   `json:"directories"`
	Excluded    uint64   `json:"excluded"`
	Files       uint64   `json:"files"`
	HardLinks   uint64   `json:"hard-links"`
	LeftOut     uint64   `json:"left-out"`       // or incomplete
	FirstOut    []string `json:"left-out-first"` // the first few, with the reasons
	Others      uint64   `json:"other-entries"`
	ReusedBytes uint64   `json:"reused-bytes"`
	ReusedFiles int      `json:"reused-files"`
}

func newTreeJSON(t treeResult) treeJSON {
	r := t.report
	out := treeJSON{
		Archive: t.name, Bytes: r.Bytes, Directories: r.Directories, Excluded: r.Excluded, Files: r.Files, HardLinks: r.HardLinks,
		LeftOut: r.Incomplete, FirstOut: []string{}, Others: r.Others, ReusedBytes: t.stats.ReusedBytes, ReusedFiles: t.stats.ReusedFiles,
	}
	for _, w := range r.First {
		out.FirstOut = append(out.FirstOut, w.String())
	}
	return out
}

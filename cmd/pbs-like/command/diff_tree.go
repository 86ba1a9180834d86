package command

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/catalog"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/pxar"
	"github.com/pbs-like/pbs-like/treediff"
	"github.com/pbs-like/pbs-like/treefind"
)

// diffTrees compares two trees, and tells whether they are known to be equal.
func (p *program) diffTrees(
	c *cli.Context, format outputFormat, name backupinfo.ArchiveName, old, new *datastore.SnapshotReader,
) (equal bool, err error) {
	opts := treediff.Options{Content: c.Bool(flagContent), Damaged: func(path string, err error) error {
		p.log.Warn().Msg(fmt.Sprintf("can't be compared: %q: %v", path, err))
		return nil
	}}
	if opts.Wanted, err = wantedPaths(c.StringSlice(flagPattern)); err != nil {
		return false, asUsage(err)
	}
	oldTree, err := old.OpenTree(c.Context, name)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, oldTree.Close()) }()
	newTree, err := new.OpenTree(c.Context, name)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, newTree.Close()) }()
	out := newListing(p, format, changeColumns(), changeRow, newChangeJSON)
	report, err := treediff.Compare(c.Context, oldTree, newTree, opts, out.add)
	if err = closeListing(out, err); err != nil {
		return false, err
	}
	return report.Equal(), p.diffReport(format, report, c.StringSlice(flagPattern))
}

// wantedPaths tells what one of the patterns matches; nil is everything.
func wantedPaths(patterns []string) (func(*pxar.Entry) bool, error) {
	var matchers []*treefind.Matcher
	for _, pattern := range patterns {
		m, err := treefind.Compile(treefind.Query{Pattern: pattern})
		if err != nil {
			return nil, err
		}
		matchers = append(matchers, m)
	}
	if len(matchers) == 0 {
		return nil, nil
	}
	return func(e *pxar.Entry) bool {
		return slices.ContainsFunc(matchers, func(m *treefind.Matcher) bool { return m.Matches(e.Path, catalog.File) })
	}, nil
}

func (p *program) diffReport(format outputFormat, r treediff.Report, patterns []string) error {
	text := changedText(r.Added, r.Removed, r.Modified)
	if len(patterns) > 0 {
		text += fmt.Sprintf(" in what matches %q", patterns)
	}
	if err := p.differs(format, text); err != nil {
		return err
	}
	if r.NotCompared > 0 {
		p.log.Warn().Msg("the contents of " + plural(r.NotCompared, "file") +
			" were not compared; most of them may well be equal, and --" + flagContent + " reads them")
	}
	if r.Damaged > 0 {
		return fmt.Errorf("%w: %s can't be compared", errPartly, plural(r.Damaged, "entry"))
	}
	return nil
}

func changeColumns() []column {
	return []column{{title: "change"}, {title: "fields"}, {title: "content"}, {title: "size", right: true}, {title: "path"}}
}

func changeRow(c treediff.Change) []string {
	var fields []string
	for _, f := range c.Fields {
		fields = append(fields, string(f))
	}
	sign := map[treediff.Kind]string{treediff.Added: "+", treediff.Removed: "-", treediff.Modified: "*"}[c.Kind]
	return []string{sign, strings.Join(fields, ","), c.Content.String(), changedSize(c), c.Path + changedTarget(c)}
}

// changedSize is the size, or both where it changed.
func changedSize(c treediff.Change) string {
	var sizes []string
	for _, e := range []*pxar.Entry{c.Old, c.New} {
		if e != nil && e.Kind == pxar.File {
			sizes = append(sizes, strconv.FormatUint(e.Size, 10))
		}
	}
	if len(sizes) == 2 && sizes[0] == sizes[1] {
		sizes = sizes[:1]
	}
	return strings.Join(sizes, ">")
}

func changedTarget(c treediff.Change) string {
	for _, e := range []*pxar.Entry{c.New, c.Old} {
		if e != nil && e.Kind == pxar.Symlink {
			return " -> " + e.Target
		}
	}
	return ""
}

type changeJSON struct {
	Change  string           `json:"change"`
	Content string           `json:"content,omitempty"`
	Fields  []treediff.Field `json:"fields,omitempty"`
	New     any              `json:"new,omitempty"`
	Old     any              `json:"old,omitempty"`
	Path    string           `json:"path"`
	PathHex string           `json:"path-hex,omitempty"`
}

func newChangeJSON(c treediff.Change) any {
	out := changeJSON{Change: c.Kind.String(), Content: c.Content.String(), Fields: c.Fields, Path: c.Path, PathHex: hexIfBinary(c.Path)}
	if c.Old != nil {
		out.Old = newEntryJSON(c.Old)
	}
	if c.New != nil {
		out.New = newEntryJSON(c.New)
	}
	return out
}

package command

import (
	"errors"
	"fmt"
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
	if pattern := c.String("pattern"); c.IsSet("pattern") {
		m, err := treefind.Compile(treefind.Query{Pattern: pattern})
		if err != nil {
			return false, asUsage(err)
		}
		opts.Wanted = func(e *pxar.Entry) bool { return m.Matches(e.Path, catalog.File) }
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
	return report.Equal(), p.diffReport(format, report)
}

func (p *program) diffReport(format outputFormat, r treediff.Report) error {
	if err := p.differs(format, changedText(r.Added, r.Removed, r.Modified)); err != nil {
		return err
	}
	if r.NotCompared > 0 {
		p.log.Warn().Msg("the contents of " + plural(r.NotCompared, "file") + " were not compared; most of them may well be equal")
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

package command

import (
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) sizesCommand() *cli.Command {
	const args = "[GROUP]"
	return &cli.Command{
		Name:      "sizes",
		Usage:     "what groups, or the snapshots of a group, take, and what removing them would free",
		ArgsUsage: args,
		Description: "LOGICAL is what a restore writes. STORED is what the data takes on disk; SHARED is the part of it that\n" +
			"something else needs too. FREED is what the removal of this one alone would free, after gc. All indexes of\n" +
			"the datastore are read, and no data. Of a GROUP the snapshots are listed, each by itself: removing two\n" +
			"that share data with each other only frees more than both figures say.",
		Flags:  append(walkFlags(), formatFlag()),
		Action: withArgs(args, p.sizes),
	}
}

func (p *program) sizes(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	where, err := walkScope(c)
	if err != nil {
		return err
	}
	var group *backupinfo.Group
	if c.NArg() > 0 {
		g, err := groupArg(c, 0)
		if err != nil {
			return err
		}
		group = &g
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	if group != nil {
		if _, err := ds.Group(c.Context, *group); err != nil {
			return err
		}
	}
	report, err := ds.Sizes(c.Context)
	if err != nil {
		return err
	}
	p.progress.finish()
	unread := unreadable{p: p}
	for _, entry := range report.Unread {
		if err := unread.skip(c.Context, entry); err != nil {
			return err
		}
	}
	if group != nil {
		err = p.printSizes(format, snapshotSizes(report, *group), "snapshot")
	} else if err = p.printSizes(format, groupSizes(report, where), "group"); err == nil && format == formatText {
		err = p.summary(totalText(report))
	}
	return unread.result(err)
}

// sized is a row: something, and how large it is.
type sized struct {
	group    backupinfo.Group
	snapshot *backupinfo.Snapshot
	count    int
	datastore.Size
}

func groupSizes(report datastore.SizeReport, where scope) (rows []sized) {
	for _, g := range report.Groups {
		if where.covers(g.Group.Namespace) {
			rows = append(rows, sized{group: g.Group, count: g.Snapshots, Size: g.Size})
		}
	}
	return rows
}

func snapshotSizes(report datastore.SizeReport, group backupinfo.Group) (rows []sized) {
	for _, s := range report.Snapshots {
		if s.Snapshot.Group == group {
			rows = append(rows, sized{group: group, snapshot: &s.Snapshot, count: 1, Size: s.Size})
		}
	}
	return rows
}

// covers tells whether a namespace is in the scope.
func (s scope) covers(ns backupinfo.Namespace) bool {
	if s.depth == 0 {
		return ns == s.ns
	}
	return s.ns.Contains(ns)
}

func (p *program) printSizes(format outputFormat, rows []sized, title string) error {
	columns := []column{{title: title}}
	for _, number := range []string{"logical", "stored", "shared", "freed", "chunks", "missing"} {
		columns = append(columns, column{title: number, right: true})
	}
	columns = append(columns, column{title: "ns"})
	out := newListing(p, format, columns, sizeRow, newSizeJSON)
	for _, row := range rows {
		if err := out.add(row); err != nil {
			return err
		}
	}
	return out.close()
}

func (s sized) name() string {
	if s.snapshot != nil {
		return s.snapshot.String()
	}
	return s.group.String()
}

func sizeRow(s sized) []string {
	return []string{
		s.name(), humanize.IBytes(s.Logical), humanize.IBytes(s.Stored), humanize.IBytes(s.Shared()), humanize.IBytes(s.Freed()),
		fmt.Sprint(s.Chunks), fmt.Sprint(s.Missing), s.group.Namespace.String(),
	}
}

func totalText(r datastore.SizeReport) string {
	factor := ""
	if r.Total.Stored > 0 {
		factor = fmt.Sprintf(" (%.1f times)", float64(r.Total.Logical)/float64(r.Total.Stored))
	}
	return fmt.Sprintf("all: %s in %s for %s in %s%s", humanize.IBytes(r.Total.Stored), plural(r.Total.Chunks, "chunk"),
		humanize.IBytes(r.Total.Logical), plural(len(r.Snapshots), "snapshot"), factor)
}

type sizeJSON struct {
	Count     int             `json:"backup-count"`
	ID        string          `json:"backup-id"`
	Time      int64           `json:"backup-time,omitempty"`
	Type      backupinfo.Type `json:"backup-type"`
	Chunks    int             `json:"chunks"`
	Files     uint64          `json:"file-bytes"`
	Freed     uint64          `json:"freed-bytes"`
	Logical   uint64          `json:"logical-bytes"`
	Missing   int             `json:"missing-chunks"`
	Namespace string          `json:"ns,omitempty"`
	Shared    uint64          `json:"shared-bytes"`
	Stored    uint64          `json:"stored-bytes"`
	Unique    uint64          `json:"unique-bytes"`
}

func newSizeJSON(s sized) any {
	out := sizeJSON{
		Count: s.count, ID: s.group.ID, Type: s.group.Type, Chunks: s.Chunks, Files: s.Files, Freed: s.Freed(), Logical: s.Logical,
		Missing: s.Missing, Namespace: s.group.Namespace.String(), Shared: s.Shared(), Stored: s.Stored, Unique: s.Unique,
	}
	if s.snapshot != nil {
		out.Time = int64(s.snapshot.Time)
	}
	return out
}

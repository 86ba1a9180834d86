package command

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) statusCommand() *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "room, counts and the last garbage collection of the datastore",
		Description: "Tells how many bytes and inodes are left, how many namespaces, groups and snapshots there are, what the\n" +
			"last garbage collection found, and whether locks on this file system reach everybody. Takes no locks,\n" +
			"writes nothing, and reads directories only.",
		Flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "chunks", Usage: "count the chunks too, which reads 65,536 directories"},
			formatFlag(),
		},
		Action: withArgs("", p.status),
	}
}

func (p *program) status(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	s, err := ds.Status(c.Context, datastore.StatusOptions{Chunks: c.Bool("chunks")})
	if err != nil {
		return err
	}
	unread := unreadable{p: p}
	for _, entry := range s.Unread {
		if err := unread.skip(c.Context, entry); err != nil {
			return err
		}
	}
	if format != formatText {
		err = writeJSON(p.out, newStatusJSON(ds.Path(), s), format == formatJSONPretty)
	} else {
		err = p.printFacts(statusFacts(ds.Path(), s))
	}
	return unread.result(err)
}

// fact is one line of a description: what, and what it is.
type fact struct{ name, value string }

func (p *program) printFacts(facts []fact) error {
	width := 0
	for _, f := range facts {
		width = max(width, len(f.name))
	}
	for _, f := range facts {
		if _, err := fmt.Fprintf(p.out, "%-*s  %s\n", width, f.name, printable(f.value)); err != nil {
			return err
		}
	}
	return nil
}

func statusFacts(path string, s datastore.Status) []fact {
	facts := []fact{
		{"datastore", path},
		{"file system", s.FileSystem.Name + ", " + reachText(s)},
		{"room", fmt.Sprintf("%s free of %s, %s used (%s)", humanize.IBytes(s.Available), humanize.IBytes(s.Total), humanize.IBytes(s.Used), share(s.Used, s.Total))},
		{"inodes", inodesText(s)},
		{"namespaces", fmt.Sprint(s.Namespaces)},
		{"groups", fmt.Sprint(s.Groups)},
		{"snapshots", fmt.Sprintf("%d, and %d unfinished", s.Snapshots, s.Unfinished)},
	}
	if s.Newest != 0 {
		facts = append(facts, fact{"newest", s.Newest.String()})
	}
	if s.Chunks >= 0 {
		facts = append(facts, fact{"chunks", fmt.Sprint(s.Chunks)})
	}
	return append(facts, collectionFacts(s.Collection)...)
}

func reachText(s datastore.Status) string {
	if s.FileSystem.Local {
		return "on which locks exclude everybody"
	}
	return "on which locks may not reach other hosts"
}

func inodesText(s datastore.Status) string {
	if s.Inodes == 0 {
		return "no fixed number"
	}
	return fmt.Sprintf("%d free of %d (%s used)", s.InodesFree, s.Inodes, share(s.Inodes-s.InodesFree, s.Inodes))
}

func share(part, whole uint64) string { return fmt.Sprintf("%.0f %%", percent(part, whole)) }

func collectionFacts(c datastore.CollectionStatus) []fact {
	facts := []fact{{"last gc", collectionText(c)}}
	if f := c.Figures; f != nil {
		saved := ""
		if f.DiskBytes > 0 {
			saved = fmt.Sprintf(" (%.1f times)", float64(f.IndexBytes)/float64(f.DiskBytes))
		}
		facts = append(facts,
			fact{"  in use", fmt.Sprintf("%s, %s, for %s in %s%s", plural(f.DiskChunks, "chunk"), humanize.IBytes(f.DiskBytes),
				humanize.IBytes(f.IndexBytes), plural(f.IndexFiles, "archive"), saved)},
			fact{"  removed", fmt.Sprintf("%s, %s", plural(f.RemovedChunks, "chunk"), humanize.IBytes(f.RemovedBytes))},
			fact{"  pending", fmt.Sprintf("%s, %s", plural(f.PendingChunks, "chunk"), humanize.IBytes(f.PendingBytes))},
		)
		if f.StillBad > 0 {
			facts = append(facts, fact{"  damaged", plural(f.StillBad, "chunk")})
		}
	}
	return facts
}

func collectionText(c datastore.CollectionStatus) string {
	when := c.Time.UTC().Format(time.RFC3339)
	switch c.State {
	case datastore.CollectionNever:
		return "never"
	case datastore.CollectionDone:
		return when
	case datastore.CollectionRunning:
		return "running since " + when
	case datastore.CollectionAborted:
		return "aborted: it began at " + when + " and did not come to its end"
	case datastore.CollectionUnknown:
	}
	return "unknown: " + oneLine(c.Err.Error())
}

type statusJSON struct {
	Avail          uint64                       `json:"avail"`
	Chunks         *int                         `json:"chunks,omitempty"`
	FileSystem     string                       `json:"file-system"`
	Collection     gcStateJSON                  `json:"gc"`
	GCStatus       *datastore.CollectionFigures `json:"gc-status,omitempty"`
	Groups         int                          `json:"groups"`
	Inodes         uint64                       `json:"inodes"`
	InodesFree     uint64                       `json:"inodes-free"`
	LocksReachAll  bool                         `json:"locks-reach-all"`
	Namespaces     int                          `json:"namespaces"`
	NewestSnapshot int64                        `json:"newest-snapshot,omitempty"`
	Path           string                       `json:"path"`
	Snapshots      int                          `json:"snapshots"`
	Total          uint64                       `json:"total"`
	Unfinished     int                          `json:"unfinished-snapshots"`
	Unread         int                          `json:"unreadable"`
	Used           uint64                       `json:"used"`
}

type gcStateJSON struct {
	State string `json:"state"`
	Time  int64  `json:"time,omitempty"`
	Error string `json:"error,omitempty"`
}

func newStatusJSON(path string, s datastore.Status) statusJSON {
	out := statusJSON{
		Avail: s.Available, FileSystem: s.FileSystem.Name, Groups: s.Groups, Inodes: s.Inodes, InodesFree: s.InodesFree,
		LocksReachAll: s.FileSystem.Local, Namespaces: s.Namespaces, NewestSnapshot: int64(s.Newest), Path: path,
		Snapshots: s.Snapshots, Total: s.Total, Unfinished: s.Unfinished, Unread: len(s.Unread), Used: s.Used,
		Collection: gcStateJSON{State: string(s.Collection.State)}, GCStatus: s.Collection.Figures,
	}
	if s.Chunks >= 0 {
		out.Chunks = &s.Chunks
	}
	if !s.Collection.Time.IsZero() {
		out.Collection.Time = s.Collection.Time.Unix()
	}
	if s.Collection.Err != nil {
		out.Collection.Error = s.Collection.Err.Error()
	}
	return out
}

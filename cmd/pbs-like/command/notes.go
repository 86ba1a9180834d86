package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
)

const (
	flagNotes     = "notes"
	flagNotesFile = "from-file"

	// maxNotes is more than the library takes; it keeps a wrong file from being read whole.
	maxNotes = 2 << 20
)

func (p *program) notesCommand() *cli.Command {
	const showArgs, updateArgs = "SNAPSHOT|GROUP...", "SNAPSHOT|GROUP..."
	return &cli.Command{
		Name:  "notes",
		Usage: "show or replace the notes of snapshots and groups",
		Subcommands: []*cli.Command{
			{
				Name:        "show",
				Usage:       "show notes",
				ArgsUsage:   showArgs,
				Description: "Takes no locks and writes nothing. Of several objects, each has its name before its notes.",
				Flags:       []cli.Flag{namespaceFlag("the `NAMESPACE` of the objects"), formatFlag()},
				Action:      withArgs(showArgs, p.showNotes),
			}, {
				Name:      "update",
				Usage:     "replace notes",
				ArgsUsage: updateArgs,
				Description: "Replaces the notes of each object by --" + flagNotes + ", or by the content of --" + flagNotesFile + "; empty ones take them away.\n" +
					"\"notes update SNAPSHOT TEXT\" works too. A restore or backup that uses the snapshot goes on meanwhile; the\n" +
					"notes of a group that is being backed up or removed are refused.",
				Flags: []cli.Flag{
					namespaceFlag("the `NAMESPACE` of the objects"),
					&cli.StringFlag{Name: flagNotes, Usage: "the new notes, `TEXT`"},
					&cli.StringFlag{Name: flagNotesFile, Usage: "take the new notes from `FILE`; - is standard input", TakesFile: true},
					lockWaitFlag(),
				},
				Action: withArgs(updateArgs, p.updateNotes),
			},
		},
	}
}

type notesJSON struct {
	ID        string          `json:"backup-id"`
	Time      *int64          `json:"backup-time,omitempty"`
	Type      backupinfo.Type `json:"backup-type"`
	Notes     string          `json:"notes"`
	Namespace string          `json:"ns,omitempty"`
}

func newNotesJSON(o backupinfo.Object, text string) notesJSON {
	out := notesJSON{ID: o.Group.ID, Type: o.Group.Type, Notes: text, Namespace: o.Group.Namespace.String()}
	if s, ok := o.Snapshot(); ok {
		at := int64(s.Time)
		out.Time = &at
	}
	return out
}

func (p *program) showNotes(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	objects, err := parseArgs(c, c.NArg(), objectArg)
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	list := jsonList{out: p.out, pretty: format == formatJSONPretty}
	err = forEach(p, c, objects, func(o backupinfo.Object) error {
		text, err := ds.Notes(c.Context, o)
		switch {
		case err != nil:
			return err
		case format != formatText:
			return list.add(newNotesJSON(o, text))
		}
		return p.printNotes(o, text, len(objects) > 1)
	})
	if format != formatText {
		return errors.Join(err, list.close())
	}
	return err
}

// printNotes prints them as they are, but for what a terminal would obey.
func (p *program) printNotes(o backupinfo.Object, text string, named bool) error {
	var out strings.Builder
	if named {
		out.WriteString(withNamespace(o.Group.Namespace, o.String()) + ":\n")
	}
	for line := range strings.Lines(text) {
		out.WriteString(printable(strings.TrimRight(line, "\r\n")) + "\n")
	}
	_, err := io.WriteString(p.out, out.String())
	return err
}

func (p *program) updateNotes(c *cli.Context) error {
	text, n, err := p.newNotes(c)
	if err != nil {
		return err
	}
	objects, err := parseArgs(c, n, objectArg)
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	return forEach(p, c, objects, func(o backupinfo.Object) error {
		if err := ds.SetNotes(c.Context, o, text); err != nil {
			return err
		}
		return p.summary("new notes for " + withNamespace(o.Group.Namespace, o.String()))
	})
}

// newNotes gives the text, and how many of the arguments are objects.
func (p *program) newNotes(c *cli.Context) (string, int, error) {
	switch given, fromFile := c.IsSet(flagNotes), c.IsSet(flagNotesFile); {
	case given && fromFile:
		return "", 0, usageErrorf("--%s and --%s exclude each other", flagNotes, flagNotesFile)
	case given:
		return c.String(flagNotes), c.NArg(), nil
	case fromFile:
		text, err := p.readNotes(c.String(flagNotesFile))
		return text, c.NArg(), err
	case c.NArg() < 2:
		return "", 0, usageErrorf("no notes given: use --%s TEXT or --%s FILE", flagNotes, flagNotesFile)
	}
	last := c.Args().Get(c.NArg() - 1)
	if _, err := objectArg(c, c.NArg()-1); err == nil {
		return "", 0, usageErrorf("%q can be an object or notes: use --%s", last, flagNotes)
	}
	return last, c.NArg() - 1, nil
}

func (p *program) readNotes(path string) (string, error) {
	in := p.streams.In
	if path != standardInput {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxNotes))
	if err != nil {
		return "", fmt.Errorf("notes: %w", err)
	}
	return string(text), nil
}

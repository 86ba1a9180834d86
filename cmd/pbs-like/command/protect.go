package command

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) protectCommand() *cli.Command {
	const args = "SNAPSHOT..."
	return &cli.Command{
		Name:      "protect",
		Usage:     "protect snapshots from being removed",
		ArgsUsage: args,
		Description: "A protected snapshot stays, whatever prune decides and whoever forces its removal, until it is\n" +
			"unprotected. --until and --reason are kept beside the protection for those who meet it later. When that\n" +
			"time has come, nothing happens by itself: see unprotect --expired. Refused while the snapshot is in use.",
		Flags: []cli.Flag{
			namespaceFlag("the `NAMESPACE` of the snapshots"),
			&cli.StringFlag{Name: "until", Usage: "note that the protection may end at `TIME`: a date, to its end, or a time as in a snapshot's name"},
			&cli.StringFlag{Name: "reason", Usage: "note why, `TEXT`"},
			lockWaitFlag(),
			formatFlag(),
		},
		Action: withArgs(args, p.protect),
	}
}

func (p *program) protect(c *cli.Context) error {
	until, err := untilOf(c.String("until"), time.Now(), time.Local)
	if err != nil {
		return err
	}
	opts := datastore.ProtectOptions{Until: until, Reason: c.String("reason")}
	return p.forSnapshots(c, func(ds *datastore.Datastore, s backupinfo.Snapshot, done *changes) error {
		changed, err := ds.Protect(c.Context, s, opts)
		if err != nil {
			return err
		}
		return done.add(protectionLine(s, changed, "protected", "was protected already"), newChangedProtection(s, changed))
	})
}

// untilOf reads the end of a protection. A date means the end of that day.
func untilOf(text string, now time.Time, zone *time.Location) (backupinfo.Time, error) {
	if text == "" {
		return 0, nil
	}
	until, err := backupinfo.ParseTimeLoose(text)
	if day, dayErr := time.ParseInLocation(time.DateOnly, text, zone); dayErr == nil {
		until, err = backupinfo.TimeOf(day.AddDate(0, 0, 1)), nil
	}
	if err != nil {
		return 0, usageErrorf("--until: %v; a date such as 2027-01-31 will do", err)
	}
	if until <= backupinfo.TimeOf(now) {
		return 0, usageErrorf("--until %q is over", text)
	}
	return until, nil
}

func (p *program) unprotectCommand() *cli.Command {
	const args = "SNAPSHOT..."
	return &cli.Command{
		Name:        "unprotect",
		Usage:       "let snapshots be removed again",
		ArgsUsage:   args,
		Description: "Ends the protection of snapshots. Refused while a snapshot is in use.",
		Flags: []cli.Flag{
			namespaceFlag("the `NAMESPACE` of the snapshots"),
			&cli.BoolFlag{DisableDefaultText: true, Name: "expired", Usage: "only where protect --until named a time that has come"},
			lockWaitFlag(),
			formatFlag(),
		},
		Action: withArgs(args, p.unprotect),
	}
}

func (p *program) unprotect(c *cli.Context) error {
	opts := datastore.UnprotectOptions{OnlyExpired: c.Bool("expired")}
	otherwise := "was not protected"
	if opts.OnlyExpired {
		otherwise = "has no protection that is over"
	}
	return p.forSnapshots(c, func(ds *datastore.Datastore, s backupinfo.Snapshot, done *changes) error {
		changed, err := ds.Unprotect(c.Context, s, opts)
		if err != nil {
			return err
		}
		return done.add(protectionLine(s, changed, "unprotected", otherwise), newChangedProtection(s, changed))
	})
}

func protectionLine(s backupinfo.Snapshot, changed bool, done, otherwise string) string {
	name := withNamespace(s.Group.Namespace, s.String())
	if changed {
		return done + " snapshot " + name
	}
	return "snapshot " + name + " " + otherwise
}

// forSnapshots does something with each snapshot that is an argument.
func (p *program) forSnapshots(c *cli.Context, do func(*datastore.Datastore, backupinfo.Snapshot, *changes) error) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	snapshots, err := parseArgs(c, c.NArg(), snapshotArg)
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	done := p.newChanges(format)
	return done.close(forEach(p, c, snapshots, func(s backupinfo.Snapshot) error { return do(ds, s, done) }))
}

// protectedCommand has the spellings of the original's client.
func (p *program) protectedCommand() *cli.Command {
	return &cli.Command{
		Name:  "protected",
		Usage: "whether a snapshot is protected",
		Subcommands: []*cli.Command{
			{
				Name: "show", Usage: "show whether a snapshot is protected, and what was noted about that", ArgsUsage: "SNAPSHOT",
				Flags:  []cli.Flag{namespaceFlag("the `NAMESPACE` of the snapshot"), formatFlag()},
				Action: withArgs("SNAPSHOT", p.showProtection),
			}, {
				Name: "update", Usage: "protect a snapshot, or end that", ArgsUsage: "SNAPSHOT true|false",
				Flags:  []cli.Flag{namespaceFlag("the `NAMESPACE` of the snapshot"), lockWaitFlag()},
				Action: withArgs("SNAPSHOT true|false", p.updateProtection),
			},
		},
	}
}

type protectionJSON struct {
	Protected bool   `json:"protected"`
	Reason    string `json:"reason,omitempty"`
	Until     int64  `json:"until,omitempty"`
}

func (p *program) showProtection(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	snapshot, err := snapshotArg(c, 0)
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	is, err := ds.Protection(c.Context, snapshot)
	if err != nil {
		return err
	}
	if format != formatText {
		return writeJSON(p.out, protectionJSON{is.Protected, is.Reason, int64(is.Until)}, format == formatJSONPretty)
	}
	_, err = fmt.Fprintln(p.out, printable(protectionText(is)))
	return err
}

func protectionText(is datastore.Protection) string {
	if !is.Protected {
		return "not protected"
	}
	text := "protected"
	if is.Until != 0 {
		text += " until " + is.Until.String()
	}
	if is.Expired(time.Now()) {
		text += " (which is over: unprotect --expired)"
	}
	if is.Reason != "" {
		text += ": " + is.Reason
	}
	return text
}

func (p *program) updateProtection(c *cli.Context) error {
	snapshot, err := snapshotArg(c, 0)
	if err != nil {
		return err
	}
	wanted := c.Args().Get(1)
	if wanted != "true" && wanted != "false" {
		return usageErrorf("%q: must be true or false", wanted)
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	if wanted == "true" {
		_, err = ds.Protect(c.Context, snapshot, datastore.ProtectOptions{})
	} else {
		_, err = ds.Unprotect(c.Context, snapshot, datastore.UnprotectOptions{})
	}
	return err
}

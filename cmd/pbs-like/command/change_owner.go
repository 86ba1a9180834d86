package command

import (
	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) changeOwnerCommand() *cli.Command {
	return &cli.Command{
		Name:      "change-owner",
		Usage:     "give groups to another owner",
		ArgsUsage: "GROUP... OWNER",
		Description: "OWNER is a user, such as root@pam, or a token, such as root@pam!name. Refused while a group is being\n" +
			"backed up or removed. With --expected-owner a group that belongs to anybody else stays as it is, also\n" +
			"when several change it at once.",
		Flags: []cli.Flag{
			namespaceFlag("the `NAMESPACE` of the groups"),
			&cli.StringFlag{Name: "expected-owner", Usage: "only if the group belongs to `OWNER` now"},
			lockWaitFlag(),
			formatFlag(),
		},
		Action: p.changeOwner,
	}
}

func (p *program) changeOwner(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	last := c.NArg() - 1
	if last < 1 {
		return usageErrorf("missing argument; usage: %s", usageLine(c.Command))
	}
	groups, err := parseArgs(c, last, groupArg)
	if err != nil {
		return err
	}
	owner, err := backupinfo.ParseAuthID(c.Args().Get(last))
	if err != nil {
		return asUsage(err)
	}
	opts := datastore.ChangeOwnerOptions{}
	if c.IsSet("expected-owner") {
		if opts.Expected, err = backupinfo.ParseAuthID(c.String("expected-owner")); err != nil {
			return asUsage(err)
		}
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	done := p.newChanges(format)
	return done.close(forEach(p, c, groups, func(g backupinfo.Group) error {
		if err := ds.ChangeOwner(c.Context, g, owner, opts); err != nil {
			return err
		}
		line := "group " + withNamespace(g.Namespace, g.String()) + " belongs to " + owner.String()
		return done.add(line, changedOwnerJSON{g.ID, g.Type, g.Namespace.String(), owner.String()})
	}))
}

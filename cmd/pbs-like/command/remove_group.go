package command

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) removeGroupCommand(name string) *cli.Command {
	const args = "GROUP"
	return &cli.Command{
		Name:      name,
		Usage:     "remove a group with all its snapshots",
		ArgsUsage: args,
		Description: "Removes all or nothing: where one snapshot is in use or protected, it is refused and names what stands\n" +
			"in the way. With --keep-protected the others go and the protected ones stay, with the group; the exit\n" +
			"code is then 3. The data stays in the store until a garbage collection.\n\n" + unfinishedRule,
		Flags:  append([]cli.Flag{namespaceFlag("the `NAMESPACE` of the group")}, removeWholeFlags()...),
		Action: withArgs(args, p.removeGroup),
	}
}

func (p *program) removeGroup(c *cli.Context) error {
	group, err := groupArg(c, 0)
	if err != nil {
		return err
	}
	keep, force := c.Bool("keep-protected"), c.Bool(flagForce)
	return p.remove(c, removal{
		run: func(ctx context.Context, ds *datastore.Datastore, dryRun bool) (datastore.RemovalReport, error) {
			return ds.RemoveGroup(ctx, group, datastore.RemoveGroupOptions{DryRun: dryRun, KeepProtected: keep, Force: force})
		},
		describe: func(plan datastore.RemovalReport) string { return describeGroup(group, plan) },
	})
}

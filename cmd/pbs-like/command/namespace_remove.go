package command

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) removeNamespaceCommand() *cli.Command {
	const args = "NAMESPACE"
	return &cli.Command{
		Name:      "remove",
		Aliases:   []string{"delete"},
		Usage:     "remove a namespace with all those below it",
		ArgsUsage: args,
		Description: "Refused where there are groups in one of them, unless --" + flagDeleteGroups + " removes these too. Removes all or nothing:\n" +
			"where one snapshot is in use or protected, it is refused and names what stands in the way. With\n" +
			"--keep-protected the others go and the protected ones stay, with their groups and namespaces; the exit\n" +
			"code is then 3. The data stays in the store until a garbage collection.\n\n" + unfinishedRule,
		Flags: append([]cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: flagDeleteGroups, Usage: "remove the groups in it and below it too"},
		}, removeWholeFlags()...),
		Action: withArgs(args, p.removeNamespace),
	}
}

func (p *program) removeNamespace(c *cli.Context) error {
	ns, err := namespaceArg(c, 0)
	if err != nil {
		return err
	}
	opts := datastore.RemoveNamespaceOptions{
		DeleteGroups: c.Bool(flagDeleteGroups), KeepProtected: c.Bool("keep-protected"), Force: c.Bool(flagForce),
	}
	if (opts.KeepProtected || opts.Force) && !opts.DeleteGroups {
		return usageErrorf("--keep-protected and --%s are about groups, which only --%s removes", flagForce, flagDeleteGroups)
	}
	return p.remove(c, removal{
		run: func(ctx context.Context, ds *datastore.Datastore, dryRun bool) (datastore.RemovalReport, error) {
			opts.DryRun = dryRun
			return ds.RemoveNamespace(ctx, ns, opts)
		},
		describe: func(plan datastore.RemovalReport) string {
			what := "namespace"
			if len(plan.Protected) > 0 {
				what = "what is not protected in namespace"
			}
			return fmt.Sprintf("%s %s (%s%s)", what, ns, counts(plan), span(plan.Snapshots))
		},
	})
}

package command

import (
	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

const (
	flagParents      = "parents"
	flagDeleteGroups = "delete-groups"
	flagMaxDepth     = "max-depth"
)

func (p *program) namespaceCommand() *cli.Command {
	return &cli.Command{
		Name:  "namespace",
		Usage: "list, make, remove and move namespaces",
		Subcommands: []*cli.Command{
			p.listNamespacesCommand(),
			p.createNamespaceCommand(),
			p.removeNamespaceCommand(),
			p.moveNamespaceCommand(),
		},
	}
}

func (p *program) listNamespacesCommand() *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "show the tree of namespaces",
		Description: "Shows the namespaces below --ns, or all. Takes no locks and writes nothing. What can't be read is named on\n" +
			"standard error, and the exit code is then 3.",
		Flags: []cli.Flag{
			namespaceFlag("begin at `NAMESPACE`"),
			&cli.IntFlag{Name: flagMaxDepth, Value: -1, DefaultText: "all", Usage: "show `N` levels below it; 0 is that namespace alone"},
			formatFlag(),
		},
		Action: withArgs("", p.listNamespaces),
	}
}

type namespaceJSON struct {
	Name string `json:"ns"`
}

func (p *program) listNamespaces(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	parent, err := namespaceOf(c)
	if err != nil {
		return err
	}
	depth := c.Int(flagMaxDepth)
	if c.IsSet(flagMaxDepth) && (depth < 0 || depth > backupinfo.MaxNamespaceDepth) {
		return usageErrorf("--%s %d: must be from 0 to %d", flagMaxDepth, depth, backupinfo.MaxNamespaceDepth)
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	var found []backupinfo.Namespace
	unread := unreadable{p: p}
	for ns, err := range ds.Namespaces(c.Context, parent, depth) {
		if err == nil {
			found = append(found, ns)
		} else {
			err = unread.skipEntry(c.Context, err)
		}
		if err != nil {
			return err
		}
	}
	return unread.result(p.printNamespaces(format, found))
}

func (p *program) printNamespaces(format outputFormat, found []backupinfo.Namespace) error {
	if format == formatText {
		return writeTree(p.out, found)
	}
	list := jsonList{out: p.out, pretty: format == formatJSONPretty}
	for _, ns := range found {
		if err := list.add(namespaceJSON{ns.String()}); err != nil {
			return err
		}
	}
	return list.close()
}

func (p *program) createNamespaceCommand() *cli.Command {
	const args = "NAMESPACE"
	return &cli.Command{
		Name:      "create",
		Usage:     "make an empty namespace",
		ArgsUsage: args,
		Description: "NAMESPACE is a name such as a/b, of up to 7 parts and 256 characters. What is above it has to be there,\n" +
			"unless --parents makes that too.",
		Flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: flagParents, Aliases: []string{"p"}, Usage: "make the namespaces above it too"},
			lockWaitFlag(),
		},
		Action: withArgs(args, p.createNamespace),
	}
}

func (p *program) createNamespace(c *cli.Context) error {
	ns, err := namespaceArg(c, 0)
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	if err := ds.CreateNamespace(c.Context, ns, datastore.CreateNamespaceOptions{Parents: c.Bool(flagParents)}); err != nil {
		return err
	}
	return p.summary("new namespace " + ns.String())
}

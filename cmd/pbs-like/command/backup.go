package command

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/keys"
)

func (p *program) backupCommand() *cli.Command {
	const args = "NAME:PATH..."
	return &cli.Command{
		Name:      "backup",
		Usage:     "make a new snapshot of a group",
		ArgsUsage: args,
		Description: "Each NAME:PATH becomes one archive of the snapshot. The end of NAME says how it is stored: .img is a\n" +
			"disk image in chunks of one size; .pxar, .mpxar, .ppxar, .pcat1 and .didx are streams, cut by their\n" +
			"content; .conf, .json, .key, .log and .blob are small files that are stored whole. PATH is a file, a\n" +
			"block device, a FIFO, or - for standard input; for a .pxar also a directory, which is stored with all\n" +
			"that is in it on its file system. Files named .pxarexclude in it hold patterns of what is left out, a line\n" +
			"each. In a pattern, /cache is what has this path below the directory that is backed up, and cache what has this\n" +
			"name wherever it is. What can't be read is left out too, and named at the end; the exit code is then 3.\n\n" +
			"While it runs, the group, the new snapshot and the base are locked: other backups of the group and the\n" +
			"removal of these are refused. The snapshot counts from the moment in which all of it is on disk; until\n" +
			"then an error or an interruption leaves nothing behind.\n\n" +
			"With a key all data is encrypted, and the list of the archives is signed. Names, sizes, times and\n" +
			"notes are not secret. Where proxmox-backup-client has a default key, that one is used unless another\n" +
			"one is named, or --" + flagCryptMode + " none; so is its default master key.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "backup-type", Value: string(backupinfo.Host), Usage: "`TYPE` of the group: vm, ct or host"},
			&cli.StringFlag{Name: "backup-id", Usage: "`ID` of the group; for the type host the host's name serves"},
			&cli.StringFlag{Name: "backup-time", Usage: "`TIME` of the snapshot, as RFC 3339 or as seconds since 1970; else now"},
			namespaceFlag("the `NAMESPACE` of the group"),
			&cli.StringFlag{
				Name: "base", Value: "auto",
				Usage: "the `SNAPSHOT` whose chunks are known already; \"none\", or \"auto\" for the newest finished one that has not failed a verification",
			},
			&cli.StringFlag{
				Name: "owner", Value: string(backupinfo.DefaultOwner),
				Usage: "`USER` who makes the backup; a group that belongs to somebody else is refused",
			},
			&cli.StringFlag{Name: "notes", Usage: "`TEXT` to be kept with the snapshot"},
			lockWaitFlag(),
			formatFlag(),
		}, append(directoryFlags(), cryptFlags()...)...),
		Action: withArgs(args, p.backup),
	}
}

func (p *program) backup(c *cli.Context) error {
	order, err := readBackupOrder(c)
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	if err := p.protectBackup(c, &order.options); err != nil {
		return err
	}
	defer closeSources(order.sources)
	if err := openSources(order.sources, p.streams.In); err != nil {
		return err
	}
	if err := checkTreeFlags(c, order.sources); err != nil {
		return err
	}
	p.warnOfDoubts(order.sources, c.StringSlice(flagExclude))
	order.trees.tell = p.tellTree
	result, err := runBackup(c.Context, ds, order)
	if err != nil {
		return err
	}
	if err := p.printBackup(order.format, result); err != nil {
		return err
	}
	return treesIncomplete(result.trees)
}

// backupOrder is what a command line asks to be backed up.
type backupOrder struct {
	group   backupinfo.Group
	options datastore.BackupOptions
	sources []*source
	trees   treeOrder
	format  outputFormat
}

func readBackupOrder(c *cli.Context) (order backupOrder, err error) {
	if order.format, err = outputFormatOf(c); err != nil {
		return order, err
	}
	if order.sources, err = parseSources(c.Args().Slice()); err != nil {
		return order, err
	}
	if order.group, err = backupGroup(c); err != nil {
		return order, err
	}
	if order.trees, err = readTreeOrder(c); err != nil {
		return order, err
	}
	order.options, err = backupOptions(c, order.group)
	return order, err
}

func backupGroup(c *cli.Context) (backupinfo.Group, error) {
	ns, err := namespaceOf(c)
	if err != nil {
		return backupinfo.Group{}, err
	}
	kind, err := backupinfo.ParseType(c.String("backup-type"))
	if err != nil {
		return backupinfo.Group{}, asUsage(err)
	}
	id := c.String("backup-id")
	if id == "" {
		if id, err = defaultID(kind); err != nil {
			return backupinfo.Group{}, err
		}
	}
	g := backupinfo.Group{Namespace: ns, Type: kind, ID: id}
	return g, asUsage(g.Validate())
}

func defaultID(kind backupinfo.Type) (string, error) {
	if kind != backupinfo.Host {
		return "", usageErrorf("--backup-id is missing; only the type host has a default")
	}
	return os.Hostname()
}

func backupOptions(c *cli.Context, group backupinfo.Group) (opts datastore.BackupOptions, err error) {
	if text := c.String("backup-time"); text != "" {
		if opts.Time, err = backupinfo.ParseTimeLoose(text); err != nil {
			return opts, asUsage(err)
		}
		if opts.Time < 1 {
			return opts, usageErrorf("--backup-time %s: has to be after 1970-01-01T00:00:00Z", text)
		}
	}
	if opts.Owner, err = backupinfo.ParseAuthID(c.String("owner")); err != nil {
		return opts, asUsage(err)
	}
	opts.Notes = c.String("notes")
	opts.Base, err = baseChoice(c.String("base"), group)
	return opts, err
}

// baseChoice reads a snapshot with its group, or only its time.
func baseChoice(text string, group backupinfo.Group) (datastore.BaseChoice, error) {
	switch {
	case text == "auto":
		return datastore.BaseChoice{}, nil
	case text == "none":
		return datastore.BaseChoice{None: true}, nil
	case !strings.Contains(text, "/"):
		text = group.String() + "/" + text
	}
	base, err := backupinfo.ParseSnapshot(group.Namespace, text)
	if err == nil && base.Group != group {
		err = fmt.Errorf("base %q is not of the group %q", text, group)
	}
	if err != nil {
		return datastore.BaseChoice{}, asUsage(fmt.Errorf("%w; or \"auto\" or \"none\"", err))
	}
	return datastore.BaseChoice{Snapshot: &base}, nil
}

// backupResult is what was stored.
type backupResult struct {
	snapshot backupinfo.Snapshot
	base     *backupinfo.Snapshot
	mode     backupinfo.CryptMode
	key      *keys.Key
	archives []datastore.ArchiveStats // of all but the directories
	trees    []treeResult
}

func runBackup(ctx context.Context, ds *datastore.Datastore, order backupOrder) (result backupResult, err error) {
	w, err := ds.Backup(ctx, order.group, order.options)
	if err != nil {
		return result, err
	}
	defer func() {
		if closeErr := w.Close(); err == nil {
			err = closeErr
		}
	}()
	result.snapshot, result.mode, result.key = w.Snapshot(), w.CryptMode(), order.options.Key
	if base, ok := w.Base(); ok {
		result.base = &base
	}
	for _, s := range order.sources {
		if err := result.add(ctx, w, ds, s, order.trees); err != nil {
			return result, err
		}
	}
	_, err = w.Commit(ctx)
	return result, err
}

// add stores one source.
func (r *backupResult) add(ctx context.Context, w *datastore.SnapshotWriter, ds *datastore.Datastore, s *source, trees treeOrder) error {
	if s.dir {
		tree, err := s.storeTree(ctx, w, ds, trees)
		r.trees = append(r.trees, tree)
		return err
	}
	stats, err := s.store(ctx, w)
	r.archives = append(r.archives, stats)
	return err
}

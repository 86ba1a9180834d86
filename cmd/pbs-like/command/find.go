package command

import (
	"context"
	"errors"
	"iter"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/treefind"
)

func (p *program) findCommand() *cli.Command {
	const args = "PATTERN"
	return &cli.Command{
		Name:      "find",
		Usage:     "find names in the directory trees of all snapshots, and in which snapshots they are",
		ArgsUsage: args,
		Description: "PATTERN is a glob that has to match the name of a file or directory, or its whole path if PATTERN has a\n" +
			"slash: * and ? stop at slashes, ** does not, [^a] is any byte but a, and \\ takes the next one as it is. So\n" +
			"'*.conf' finds names, '/etc/**/*.conf' and '**/nginx/*.conf' find paths. Each row is a path as it was, without\n" +
			"a change of kind, size or time, from the snapshot FIRST to LAST; size and time are of files only. Only names are read:\n" +
			"catalogs, and .mpxar archives. They are kept in a cache of this user, so that the next search is faster; those\n" +
			"of encrypted trees only with --cache-encrypted. What can't be searched, because it is in use, unfinished, damaged or\n" +
			"encrypted with a key that is not given, is named on standard error, and the exit code is then 3.",
		Flags:  findFlags(),
		Action: withArgs(args, p.find),
	}
}

func findFlags() []cli.Flag {
	own := []cli.Flag{
		&cli.StringFlag{Name: "group", Usage: "only this `GROUP`, in the namespace --" + flagNamespace + " or in the root"},
		&cli.StringFlag{Name: "snapshot", Usage: "only this `SNAPSHOT`, in the same way"},
		&cli.BoolFlag{Name: "newest", DisableDefaultText: true, Usage: "only the newest finished snapshot of each group"},
		&cli.StringFlag{Name: "type", Usage: "only this `KIND`: f for files, hard links among them, d for directories, l for symbolic links"},
		&cli.StringFlag{Name: "path-glob", Usage: "only what has a path that this `GLOB` matches as a whole, besides PATTERN"},
		&cli.BoolFlag{Name: "ignore-case", Aliases: []string{"i"}, DisableDefaultText: true, Usage: "take large and small letters for the same"},
	}
	return append(append(append(walkFlags(), own...), cacheFlags()...), append(keyFlags(), lockWaitFlag(), formatFlag())...)
}

func (p *program) find(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	matcher, err := matcherOf(c)
	if err != nil {
		return err
	}
	walk, err := findWalk(c)
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	cache, err := p.nameCache(c, ds.Path())
	if err != nil {
		return err
	}
	defer cache.Close() //nolint:errcheck // it gives its own notices
	search := &treefind.Search{
		Store: ds, Matcher: matcher, Newest: c.Bool("newest"), Key: (&keyring{p: p, c: c}).key,
		Cache: cache, CacheEncrypted: c.Bool(flagCacheEncrypted), Progress: p.searching(),
	}
	out := newListing(p, format, foundColumns(), foundRow, nil)
	unread := unreadable{p: p}
	err = walk(c.Context, search, &unread, func(m treefind.Match) error {
		p.progress.finish()
		return addFound(out, format, m)
	})
	return unread.result(closeListing(out, err))
}

// searching shows how many snapshots of a group were searched.
func (p *program) searching() func(backupinfo.Snapshot) {
	done := map[backupinfo.Group]uint64{}
	return func(s backupinfo.Snapshot) {
		done[s.Group]++
		p.showProgress(datastore.Progress{Operation: "search", Object: s.Group.Dir(), Done: done[s.Group], Items: true})
	}
}

func matcherOf(c *cli.Context) (*treefind.Matcher, error) {
	q := treefind.Query{Pattern: c.Args().First(), PathGlob: c.String("path-glob"), IgnoreCase: c.Bool("ignore-case")}
	switch kind := c.String("type"); kind {
	case "":
	case "f":
		q.Kinds = treefind.Files
	case "d":
		q.Kinds = treefind.Directories
	case "l":
		q.Kinds = treefind.Symlinks
	default:
		return nil, usageErrorf("--type %q: must be f, d or l", kind)
	}
	m, err := treefind.Compile(q)
	return m, asUsage(err)
}

type findWalker func(context.Context, *treefind.Search, *unreadable, func(treefind.Match) error) error

// findWalk is the search in one snapshot, one group, or all groups of the scope.
func findWalk(c *cli.Context) (findWalker, error) {
	switch {
	case c.IsSet("group") && c.IsSet("snapshot"):
		return nil, usageErrorf("--group and --snapshot exclude each other")
	case c.IsSet("snapshot"):
		snapshot, err := snapshotText(c, c.String("snapshot"))
		return func(ctx context.Context, s *treefind.Search, unread *unreadable, visit func(treefind.Match) error) error {
			return visitMatches(ctx, s.Snapshot(ctx, snapshot), unread, visit)
		}, err
	case c.IsSet("group"):
		group, err := groupText(c, c.String("group"))
		return func(ctx context.Context, s *treefind.Search, unread *unreadable, visit func(treefind.Match) error) error {
			return visitMatches(ctx, s.Group(ctx, group), unread, visit)
		}, err
	}
	where, err := walkScope(c)
	return func(ctx context.Context, s *treefind.Search, unread *unreadable, visit func(treefind.Match) error) error {
		return walkGroups(ctx, s.Store, where, unread, func(g datastore.GroupInfo) error {
			err := visitMatches(ctx, s.Group(ctx, g.Group), unread, visit)
			if errors.Is(err, datastore.ErrNotFound) { // removed meanwhile, or without a finished snapshot
				return nil
			}
			return err
		})
	}, err
}

func visitMatches(ctx context.Context, matches iter.Seq2[treefind.Match, error], unread *unreadable, visit func(treefind.Match) error) error {
	for m, err := range matches {
		_, skipped := errors.AsType[*treefind.SkippedError](err)
		switch {
		case err == nil:
			err = visit(m)
		case skipped:
			err = unread.skip(ctx, err)
		default:
			err = unread.skipEntry(ctx, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

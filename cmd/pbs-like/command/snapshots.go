package command

import (
	"context"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) snapshotsCommand(name string) *cli.Command {
	const args = "[GROUP]"
	return &cli.Command{
		Name:      name,
		Usage:     "list the snapshots of a group, or of all groups",
		ArgsUsage: args,
		Description: "Lists snapshots, oldest first: finished ones, unfinished ones and broken ones. Takes no locks and\n" +
			"writes nothing. A GROUP is looked for in the namespace --ns, or in the root. What can't be read at all\n" +
			"is named on standard error, and the exit code is then 3.",
		Flags:  append(walkFlags(), formatFlag()),
		Action: withArgs(args, p.snapshots),
	}
}

func (p *program) snapshots(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	walk, err := snapshotWalk(c)
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	out := newListing(p, format, snapshotColumns(), snapshotRow, newSnapshotJSON)
	unread := unreadable{p: p}
	err = walk(c.Context, ds, &unread, func(s datastore.SnapshotInfo) error {
		p.reportBroken(format, s.Snapshot.Dir(), s.Err)
		return out.add(s)
	})
	return unread.result(closeListing(out, err))
}

type snapshotVisitor func(datastore.SnapshotInfo) error

// snapshotWalk is the walk over one group or over all groups of the scope.
func snapshotWalk(c *cli.Context) (func(context.Context, *datastore.Datastore, *unreadable, snapshotVisitor) error, error) {
	if c.NArg() > 0 {
		group, err := groupArg(c, 0)
		return func(ctx context.Context, ds *datastore.Datastore, unread *unreadable, visit snapshotVisitor) error {
			return snapshotsOf(ctx, ds, group, unread, visit)
		}, err
	}
	where, err := walkScope(c)
	return func(ctx context.Context, ds *datastore.Datastore, unread *unreadable, visit snapshotVisitor) error {
		return walkSnapshots(ctx, ds, where, unread, visit)
	}, err
}

// walkSnapshots goes over the snapshots of all groups. A group that can't be
// read does not hide the others.
func walkSnapshots(ctx context.Context, ds *datastore.Datastore, where scope, unread *unreadable, visit snapshotVisitor) error {
	return walkGroups(ctx, ds, where, unread, func(g datastore.GroupInfo) error {
		var outputErr error
		err := snapshotsOf(ctx, ds, g.Group, unread, func(s datastore.SnapshotInfo) error {
			outputErr = visit(s)
			return outputErr
		})
		if err == nil || outputErr != nil {
			return outputErr
		}
		return unread.skip(ctx, err)
	})
}

func snapshotsOf(ctx context.Context, ds *datastore.Datastore, group backupinfo.Group, unread *unreadable, visit snapshotVisitor) error {
	for s, err := range ds.Snapshots(ctx, group) {
		if err == nil {
			err = visit(s)
		} else {
			err = unread.skipEntry(ctx, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func snapshotColumns() []column {
	return []column{{title: "snapshot"}, {title: "size", right: true}, {title: "state"}, {title: "owner"}, {title: "ns"}, {title: "files"}, {title: "comment"}}
}

func snapshotRow(s datastore.SnapshotInfo) []string {
	var names []string
	for _, f := range s.Files {
		names = append(names, f.Name)
	}
	return []string{
		s.Snapshot.String(), sizeText(s.Size, s.SizeKnown), snapshotState(s), s.Owner.String(),
		s.Snapshot.Group.Namespace.String(), displayNames(names), remark(withProtection(s), s.Err),
	}
}

// withProtection puts what is known about a protection before the comment.
func withProtection(s datastore.SnapshotInfo) string {
	if s.Protection.Until == 0 && s.Protection.Reason == "" {
		return s.Comment
	}
	return strings.TrimSpace("(" + protectionText(s.Protection) + ") " + s.Comment)
}

func sizeText(size uint64, known bool) string {
	if !known {
		return ""
	}
	return humanize.IBytes(size)
}

// snapshotState is what a user has to know before relying on a snapshot.
func snapshotState(s datastore.SnapshotInfo) string {
	var words []string
	switch {
	case s.Err != nil:
		words = append(words, "broken")
	case !s.Finished:
		words = append(words, "unfinished")
	case s.Verification == nil:
		words = append(words, "finished")
	case s.Verification.State == backupinfo.VerifyOK:
		words = append(words, "verified")
	default:
		words = append(words, "verify-failed")
	}
	if s.Protected {
		words = append(words, "protected")
	}
	return strings.Join(words, ",")
}

package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// scope is the part of a datastore that a listing covers.
type scope struct {
	ns    backupinfo.Namespace
	depth int // below ns; negative is all
}

func walkFlags() []cli.Flag {
	return []cli.Flag{
		namespaceFlag("only this `NAMESPACE`; \"\" is the root. Without this flag all namespaces are listed"),
		&cli.BoolFlag{DisableDefaultText: true, Name: "recursive", Usage: "with --" + flagNamespace + ": also the namespaces below it"},
	}
}

// walkScope is everything unless --ns says otherwise: backups must not look
// lost because they are in a namespace.
func walkScope(c *cli.Context) (scope, error) {
	ns, err := namespaceOf(c)
	if err != nil {
		return scope{}, err
	}
	if c.IsSet(flagNamespace) && !c.Bool("recursive") {
		return scope{ns: ns}, nil
	}
	return scope{ns: ns, depth: -1}, nil
}

// unreadable counts the entries of a listing that could not be read at all.
type unreadable struct {
	p     *program
	count int
}

// skip names the entry and lets the walk go on, unless all is lost. What was
// removed while the walk came near is no error.
func (u *unreadable) skip(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, datastore.ErrNotFound) {
		return nil
	}
	u.count++
	u.p.log.Warn().Msg("can't be read: " + err.Error())
	return nil
}

// skipEntry is skip for errors of one entry; others end the walk.
func (u *unreadable) skipEntry(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*datastore.EntryError](err); !ok {
		return err
	}
	return u.skip(ctx, err)
}

// result is the error of the whole walk.
func (u *unreadable) result(err error) error {
	if err != nil || u.count == 0 {
		return err
	}
	return fmt.Errorf("%w: %s can't be read", errPartly, plural(u.count, "entry"))
}

// reportBroken names what is wrong with a listed entry, where its row does not.
func (p *program) reportBroken(format outputFormat, object string, broken error) {
	if broken != nil && format != formatText {
		p.log.Warn().Msg(object + ": " + broken.Error())
	}
}

// walkGroups calls visit for each group of the scope. A namespace that was asked
// for must exist; one that was come across may be gone again.
func walkGroups(ctx context.Context, ds *datastore.Datastore, where scope, unread *unreadable, visit func(datastore.GroupInfo) error) error {
	for ns, err := range ds.Namespaces(ctx, where.ns, where.depth) {
		if err == nil {
			err = groupsOf(ctx, ds, ns, unread, visit)
		} else {
			err = unread.skipEntry(ctx, err)
		}
		if err != nil && (ns == where.ns || !errors.Is(err, datastore.ErrNotFound)) {
			return err
		}
	}
	return nil
}

func groupsOf(ctx context.Context, ds *datastore.Datastore, ns backupinfo.Namespace, unread *unreadable, visit func(datastore.GroupInfo) error) error {
	for g, err := range ds.Groups(ctx, ns) {
		if err == nil {
			err = visit(g)
		} else {
			err = unread.skipEntry(ctx, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// closeListing ends the output, also after an error: JSON must stay JSON. A table
// that has come to nothing has no title either.
func closeListing[T any](l *listing[T], err error) error {
	if err != nil && l.table != nil && l.table.isEmpty() {
		return err
	}
	if closeErr := l.close(); err == nil {
		return closeErr
	}
	return err
}

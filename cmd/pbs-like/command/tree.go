package command

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/pxar"
)

// treeFlags are of all commands that look into an archive.
func treeFlags(own ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{namespaceFlag("the `NAMESPACE` of the snapshot")}, append(append(own, lockWaitFlag()), keyFlags()...)...)
}

// withTree calls act with the directory tree that the first two arguments name.
func (p *program) withTree(c *cli.Context, act func(*datastore.Datastore, *datastore.Tree) error) (err error) {
	object, err := objectArg(c, 0)
	if err != nil {
		return err
	}
	name, err := backupinfo.ParseArchiveName(c.Args().Get(1))
	if err != nil {
		return asUsage(err)
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	snapshot, err := p.snapshotOf(c.Context, ds, object)
	if err != nil {
		return err
	}
	key, err := p.keyToRead(c, ds, snapshot)
	if err != nil {
		return err
	}
	r, err := ds.OpenSnapshot(c.Context, snapshot, datastore.ReadOptions{Key: key})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	tree, err := r.OpenTree(c.Context, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	return act(ds, tree)
}

// lookupFile finds a file and its content, behind a hard link too.
func lookupFile(tree *datastore.Tree, path string) (*pxar.Entry, error) {
	e, err := tree.Lookup(path)
	if err != nil {
		return nil, err
	}
	return tree.Resolve(e)
}

package command

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// store opens the datastore that the line so far would use, or gives nil.
func (c *completer) store() *datastore.Datastore {
	given := settings{datastore: cmp.Or(c.value(flagDatastore), c.value(flagRepository))}
	if given.datastore == "" {
		given.datastore = os.Getenv(envDatastore)
	}
	path, err := given.storePath()
	if err != nil {
		return nil
	}
	ds, err := datastore.Open(path, datastore.Options{})
	if err != nil {
		return nil
	}
	return ds
}

// namespace is the one of --ns; a bad one is the root, whose objects help no less.
func (c *completer) namespace() backupinfo.Namespace {
	ns, err := backupinfo.ParseNamespace(c.value(flagNamespace))
	if err != nil {
		return backupinfo.Namespace{}
	}
	return ns
}

func (c *completer) namespaces(ctx context.Context) []string {
	ds := c.store()
	if ds == nil {
		return nil
	}
	var out []string
	for ns, err := range ds.Namespaces(ctx, backupinfo.Namespace{}, -1) {
		if err == nil && !ns.IsRoot() {
			out = append(out, ns.String())
		}
	}
	return out
}

func (c *completer) groups(ctx context.Context) []string {
	ds := c.store()
	if ds == nil {
		return nil
	}
	var out []string
	for g, err := range ds.Groups(ctx, c.namespace()) {
		if err == nil {
			out = append(out, g.Group.String())
		}
	}
	return out
}

// ids are the ids of the groups of the type that was given.
func (c *completer) ids(ctx context.Context) []string {
	prefix := c.value("backup-type") + "/"
	if prefix == "/" {
		prefix = string(backupinfo.Host) + "/"
	}
	var out []string
	for _, group := range c.groups(ctx) {
		if id, ok := strings.CutPrefix(group, prefix); ok {
			out = append(out, id)
		}
	}
	return out
}

// snapshots completes in two steps, first the group and then its snapshots,
// since all snapshots of a store may be more than a screen or a moment can hold.
func (c *completer) snapshots(ctx context.Context, word string) completions {
	i := strings.LastIndexByte(word, '/')
	if strings.Count(word, "/") < 2 {
		var groups []string
		for _, group := range c.groups(ctx) {
			groups = append(groups, group+"/")
		}
		return completions{todo: "nospace", words: groups}
	}
	group, err := backupinfo.ParseGroup(c.namespace(), word[:i])
	ds := c.store()
	if err != nil || ds == nil {
		return completions{todo: "-"}
	}
	var out []string
	for s, err := range ds.Snapshots(ctx, group) {
		if err == nil {
			out = append(out, s.Snapshot.String())
		}
	}
	slices.Reverse(out) // the newest is the likeliest
	return completions{todo: "-", words: out}
}

// archives are those of the snapshot, or of the group's newest, that was given before.
func (c *completer) archives(ctx context.Context) []string {
	ds := c.store()
	if ds == nil || len(c.args) == 0 {
		return nil
	}
	object, err := backupinfo.ParseObject(c.namespace(), c.args[0])
	if err != nil {
		return nil
	}
	snapshot, err := snapshotOf(ctx, ds, object)
	if err != nil {
		return nil
	}
	info, err := ds.Snapshot(ctx, snapshot)
	if err != nil {
		return nil
	}
	var out []string
	for _, f := range info.Files {
		if name, err := backupinfo.ParseFileName(f.Name); err == nil && !name.IsManifest() {
			out = append(out, name.Display())
		}
	}
	return out
}

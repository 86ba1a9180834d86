package command

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
)

func namespaceOf(c *cli.Context) (backupinfo.Namespace, error) {
	return parseNamespace(c.String(flagNamespace))
}

func parseNamespace(text string) (backupinfo.Namespace, error) {
	ns, err := backupinfo.ParseNamespace(trimSlash(text))
	return ns, asUsage(err)
}

// namespaceName is a name for people: the root has none of its own.
func namespaceName(ns backupinfo.Namespace) string {
	if ns.IsRoot() {
		return "(root)"
	}
	return ns.String()
}

// groupArg reads an argument as a group.
func groupArg(c *cli.Context, i int) (backupinfo.Group, error) { return groupText(c, c.Args().Get(i)) }

// groupText reads a text as a group, in the namespace --ns.
func groupText(c *cli.Context, text string) (backupinfo.Group, error) {
	ns, err := namespaceOf(c)
	if err != nil {
		return backupinfo.Group{}, err
	}
	text = trimSlash(text)
	g, err := backupinfo.ParseGroup(ns, text)
	if s, notGroup := backupinfo.ParseSnapshot(ns, text); err != nil && notGroup == nil {
		return g, usageErrorf("%q is a snapshot, and a group is wanted here, such as %q", text, s.Group.String())
	}
	return g, asUsage(err)
}

// snapshotArg reads an argument as a snapshot.
func snapshotArg(c *cli.Context, i int) (backupinfo.Snapshot, error) {
	return snapshotText(c, c.Args().Get(i))
}

// snapshotText reads a text as a snapshot, in the namespace --ns.
func snapshotText(c *cli.Context, text string) (backupinfo.Snapshot, error) {
	ns, err := namespaceOf(c)
	if err != nil {
		return backupinfo.Snapshot{}, err
	}
	text = trimSlash(text)
	s, err := backupinfo.ParseSnapshot(ns, text)
	if _, notSnapshot := backupinfo.ParseGroup(ns, text); err != nil && notSnapshot == nil {
		return s, usageErrorf("%q is a group, and a snapshot is wanted here, such as \"%s/2026-01-15T03:00:00Z\"; \"snapshots %s\" lists them", text, text, text)
	}
	return s, asUsage(err)
}

// objectArg reads an argument as a group or a snapshot.
func objectArg(c *cli.Context, i int) (backupinfo.Object, error) {
	ns, err := namespaceOf(c)
	if err != nil {
		return backupinfo.Object{}, err
	}
	o, err := backupinfo.ParseObject(ns, trimSlash(c.Args().Get(i)))
	return o, asUsage(err)
}

// namespaceArg reads an argument as a namespace, which may not be the root.
func namespaceArg(c *cli.Context, i int) (backupinfo.Namespace, error) {
	ns, err := parseNamespace(c.Args().Get(i))
	if err == nil && ns.IsRoot() {
		err = usageErrorf("the root namespace is always there, and stays")
	}
	return ns, err
}

// trimSlash accepts what completion of a path leaves behind.
func trimSlash(s string) string { return strings.TrimSuffix(s, "/") }

// withNamespace shows an object so that --ns can be read off it.
func withNamespace(ns backupinfo.Namespace, object string) string {
	if ns.IsRoot() {
		return object
	}
	return object + " in namespace " + ns.String()
}

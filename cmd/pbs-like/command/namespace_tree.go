package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
)

// writeTree draws namespaces, which stand parents first, the first one above all others.
func writeTree(out io.Writer, found []backupinfo.Namespace) error {
	last := lastChildren(found)
	for i, ns := range found {
		name := namespaceName(ns)
		if i > 0 {
			name = branches(ns, found[0], last) + ns.Name()
		}
		if _, err := fmt.Fprintln(out, name); err != nil {
			return err
		}
	}
	return nil
}

// lastChildren are those below which no line goes on.
func lastChildren(found []backupinfo.Namespace) map[backupinfo.Namespace]bool {
	newest := map[backupinfo.Namespace]backupinfo.Namespace{}
	for _, ns := range found {
		newest[ns.Parent()] = ns
	}
	last := map[backupinfo.Namespace]bool{}
	for _, ns := range newest {
		last[ns] = true
	}
	return last
}

// branches are what stands before the name of a namespace below top.
func branches(ns, top backupinfo.Namespace, last map[backupinfo.Namespace]bool) string {
	text := "├── "
	if last[ns] {
		text = "└── "
	}
	for ns = ns.Parent(); ns != top; ns = ns.Parent() {
		if last[ns] {
			text = strings.Repeat(" ", 4) + text
		} else {
			text = "│   " + text
		}
	}
	return text
}

package command

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) listCommand(name string) *cli.Command {
	return &cli.Command{
		Name:  name,
		Usage: "list the backup groups",
		Description: "Lists all groups of all namespaces, with the newest finished snapshot of each. Takes no locks and\n" +
			"writes nothing. What is broken is listed all the same; what can't be read at all is named on standard\n" +
			"error, and the exit code is then 3.",
		Flags:  append(walkFlags(), formatFlag()),
		Action: withArgs("", p.list),
	}
}

func (p *program) list(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	where, err := walkScope(c)
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	out := newListing(p, format, groupColumns(), groupRow, newGroupJSON)
	unread := unreadable{p: p}
	err = walkGroups(c.Context, ds, where, &unread, func(g datastore.GroupInfo) error {
		p.reportBroken(format, g.Group.Dir(), g.Err)
		return out.add(g)
	})
	return unread.result(closeListing(out, err))
}

func groupColumns() []column {
	return []column{{title: "group"}, {title: "last backup"}, {title: "count", right: true}, {title: "owner"}, {title: "ns"}, {title: "files"}, {title: "comment"}}
}

func groupRow(g datastore.GroupInfo) []string {
	last := ""
	if g.LastBackup != 0 {
		last = g.LastBackup.String()
	}
	return []string{g.Group.String(), last, fmt.Sprint(g.Count), g.Owner.String(), g.Group.Namespace.String(), displayNames(g.Files), remark(g.Comment, g.Err)}
}

// displayNames are the names of archives as a user types them, without the manifest.
func displayNames(files []string) string {
	var names []string
	for _, file := range files {
		if file != backupinfo.ManifestName {
			names = append(names, displayName(file))
		}
	}
	return strings.Join(names, ", ")
}

func displayName(file string) string {
	if name, err := backupinfo.ParseFileName(file); err == nil {
		return name.Display()
	}
	return file
}

// remark is the last column: a comment, or what is wrong.
func remark(comment string, broken error) string {
	if broken == nil {
		return comment
	}
	return strings.TrimSpace("broken: " + oneLine(broken.Error()) + "  " + comment)
}

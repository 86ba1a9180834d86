package command

import (
	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) filesCommand(name string) *cli.Command {
	const args = "SNAPSHOT|GROUP"
	return &cli.Command{
		Name:      name,
		Usage:     "list the archives of a snapshot",
		ArgsUsage: args,
		Description: "Lists the archives with their sizes, as the manifest gives them: for an image or a stream the bytes\n" +
			"that it describes, for a blob the bytes as stored. Of a GROUP it takes the newest finished snapshot.",
		Flags:  []cli.Flag{namespaceFlag("the `NAMESPACE` of the snapshot"), formatFlag()},
		Action: withArgs(args, p.files),
	}
}

func (p *program) files(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	object, err := objectArg(c, 0)
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	snapshot, err := p.snapshotOf(c.Context, ds, object)
	if err != nil {
		return err
	}
	info, err := ds.Snapshot(c.Context, snapshot)
	if err != nil {
		return err
	}
	if info.Err != nil {
		p.log.Warn().Msg(snapshot.Dir() + ": " + info.Err.Error())
	}
	out := newListing(p, format, fileColumns(), fileRow, newFileJSON)
	for _, f := range info.Files {
		if err := out.add(f); err != nil {
			return err
		}
	}
	return out.close()
}

func fileColumns() []column {
	return []column{{title: "archive"}, {title: "size", right: true}, {title: "crypt mode"}, {title: "kind"}, {title: "file"}}
}

func fileRow(f datastore.FileInfo) []string {
	size, crypt, kind := "", "", ""
	if f.Size != nil {
		size = sizeText(*f.Size, true)
	}
	if f.Crypt != nil {
		crypt = string(*f.Crypt)
	}
	if name, err := backupinfo.ParseFileName(f.Name); err == nil {
		kind = name.Kind().String()
	}
	return []string{displayName(f.Name), size, crypt, kind, f.Name}
}

package command

import (
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/exclude"
	"github.com/pbs-like/pbs-like/extractor"
)

const (
	flagPattern  = "pattern"
	flagContinue = "continue"
	flagAsFile   = "as-file"
	flagSalvage  = "salvage"
	flagNoSync   = "no-sync"
)

// restoreTreeFlags are of directory trees only.
func restoreTreeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{
			Name:  flagPattern,
			Usage: "of a tree only what matches `PATTERN`, or not what matches with a ! before it; the last one that matches counts",
		},
		treeSwitch(flagContinue, "go on with a restore that was interrupted: leave what is there and equal in size, time and metadata"),
		treeSwitch("allow-existing-dirs", "restore into directories that are there"),
		treeSwitch("overwrite-files", "replace what is in the place of a file"),
		treeSwitch("overwrite-symlinks", "replace what is in the place of a symbolic link"),
		treeSwitch("overwrite-hardlinks", "replace what is in the place of a hard link"),
		treeSwitch("ignore-ownership", "let everything belong to who restores it"),
		treeSwitch("ignore-acls", "restore no access lists"),
		treeSwitch("ignore-xattrs", "restore no extended attributes and no capabilities"),
		treeSwitch("ignore-permissions", "restore no permissions: only the owner can read"),
		treeSwitch("no-device-nodes", "restore no devices"),
		treeSwitch("no-fifos", "restore no named pipes"),
		treeSwitch("no-sockets", "restore no sockets"),
		treeSwitch("ignore-extract-device-errors", "devices that can't be made are no failure"),
		treeSwitch("strict", "end at the first thing that can't be restored"),
		treeSwitch(flagAsFile, "restore the .pxar archive itself, to the file TARGET"),
		formatFlag(),
	}
}

func treeSwitch(name, usage string) *cli.BoolFlag {
	return &cli.BoolFlag{Name: name, DisableDefaultText: true, Usage: usage}
}

// wantsTree tells whether the archive is to be restored to a directory.
func wantsTree(c *cli.Context, name backupinfo.ArchiveName, target string) (bool, error) {
	given := givenTreeFlag(c)
	switch {
	case !isTreeName(name) && given != "":
		return false, usageErrorf("--%s is for directory trees, and %q is none", given, name.Display())
	case !isTreeName(name):
		return false, nil
	case target == standardOutput && given != "" && given != flagAsFile:
		return false, usageErrorf("--%s needs a directory as TARGET; \"cat\" writes a file to standard output, \"export\" a directory", given)
	case target == standardOutput, c.Bool(flagAsFile) && given == flagAsFile:
		return false, nil
	case c.Bool(flagAsFile):
		return false, usageErrorf("--%s restores the archive as it is, and --%s what is in it", flagAsFile, given)
	case c.Bool(flagSalvage):
		return false, usageErrorf("--%s is for images and for --%s: of a tree, all files but the damaged ones are restored anyhow", flagSalvage, flagAsFile)
	}
	return true, nil
}

// givenTreeFlag is one of the flags of trees on the command line, and --as-file only if it is alone.
func givenTreeFlag(c *cli.Context) (name string) {
	for _, flag := range restoreTreeFlags() {
		switch n := flag.Names()[0]; {
		case !c.IsSet(n):
		case n != flagAsFile:
			return n
		default:
			name = n
		}
	}
	return name
}

func isTreeName(name backupinfo.ArchiveName) bool {
	for _, suffix := range []string{".pxar.didx", ".mpxar.didx", ".ppxar.didx"} {
		if strings.HasSuffix(name.File(), suffix) {
			return true
		}
	}
	return false
}

func extractOptions(c *cli.Context, store string) (extractor.Options, error) {
	all := c.Bool(flagOverwrite)
	opts := extractor.Options{
		Overwrite: extractor.Overwrite{
			Files:     all || c.Bool("overwrite-files"),
			Symlinks:  all || c.Bool("overwrite-symlinks"),
			Hardlinks: all || c.Bool("overwrite-hardlinks"),
			Others:    all,
		},
		AllowExistingDirs: all || c.Bool("allow-existing-dirs"),
		Continue:          c.Bool(flagContinue),
		IgnoreOwnership:   c.Bool("ignore-ownership"), IgnoreACLs: c.Bool("ignore-acls"),
		IgnoreXattrs: c.Bool("ignore-xattrs"), IgnorePermissions: c.Bool("ignore-permissions"),
		NoDeviceNodes: c.Bool("no-device-nodes"), NoFIFOs: c.Bool("no-fifos"), NoSockets: c.Bool("no-sockets"),
		IgnoreDeviceErrors: c.Bool("ignore-extract-device-errors"),
		Strict:             c.Bool("strict"), NoSync: c.Bool(flagNoSync),
	}
	selects := !c.IsSet(flagPattern)
	for _, text := range c.StringSlice(flagPattern) {
		selects = selects || text != "" && !strings.HasPrefix(text, "!")
		pattern, err := exclude.ParseSelection(text)
		if err != nil {
			return opts, asUsage(err)
		}
		opts.Patterns = append(opts.Patterns, pattern)
	}
	if !selects {
		return opts, usageErrorf("--%s selects nothing: give one that has no ! before it, such as --%s /etc, or '*' for everything", flagPattern, flagPattern)
	}
	if info, err := os.Stat(store); err == nil {
		opts.KeepOut = append(opts.KeepOut, info)
	}
	return opts, nil
}

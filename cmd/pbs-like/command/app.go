package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"
)

const programName = "pbs-like"

// Streams are where a command reads and writes. Prompts and progress bars are
// only shown when In and Err are terminals.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// Run executes one command line, whose first word is the program's name, and
// gives the exit code. It never ends the process. When ctx is cancelled the
// command cleans up after itself and ends.
func Run(ctx context.Context, args []string, streams Streams) int {
	p := newProgram(streams)
	err := p.run(ctx, args)
	p.progress.finish()
	if flushErr := p.out.Flush(); flushErr != nil && !errors.Is(err, flushErr) {
		err = errors.Join(err, fmt.Errorf("standard output: %w", flushErr))
	}
	return p.conclude(ctx, err)
}

// program is one run of the command line.
type program struct {
	streams  Streams
	out      *bufio.Writer // standard output; its error sticks, and Run looks at it
	screen   *screen       // standard error
	progress *progress
	log      zerolog.Logger
	settings settings
	line     line      // the command line
	noticed  *sync.Map // what was noticed already, where it is told once only
}

// outputBuffer is large, for listings are long and each row is short.
const outputBuffer = 64 << 10

func newProgram(streams Streams) *program {
	p := &program{
		streams: streams,
		out:     bufio.NewWriterSize(streams.Out, outputBuffer),
		screen:  &screen{out: streams.Err},
	}
	p.progress = newProgress(p.screen, isTerminal(streams.Err))
	p.log = newLogger(p.screen, logConsole, zerolog.InfoLevel)
	return p
}

func (p *program) run(ctx context.Context, args []string) error {
	if len(args) > 1 && args[1] == completeWord {
		return p.complete(ctx, args[2:])
	}
	app := p.app()
	words := newWords(app.Commands, app.Flags)
	var err error
	if p.line, err = words.sort(args[min(1, len(args)):]); err != nil {
		p.logAsAsked(p.line)
		return err
	}
	return app.RunContext(ctx, p.line.canonical())
}

// app is the tree of commands, made anew for each run.
func (p *program) app() *cli.App {
	app := &cli.App{
		Name:            programName,
		Usage:           "back up to, list, restore from and clean up a Proxmox Backup datastore in a directory",
		Version:         version(),
		HideVersion:     true, // our own flag: the library's is -v, which people take for verbose
		HideHelp:        true, // our own too: the library shares one flag among all commands of a process
		HideHelpCommand: true,

		DisableSliceFlagSeparator: true, // names may have commas

		Flags:          append(globalFlags(), helpFlag()),
		Commands:       p.commands(),
		Writer:         p.out,
		ErrWriter:      p.screen,
		ExitErrHandler: func(*cli.Context, error) {}, // the library would end the process
		Before:         p.readGlobals,
		Action:         p.noCommand,
		OnUsageError:   onUsageError,

		CustomAppHelpTemplate: appHelp,
	}
	finishCommands(app.Commands)
	return app
}

func (p *program) commands() []*cli.Command {
	return []*cli.Command{
		p.initCommand(),
		p.backupCommand(),
		p.listCommand("list"),
		p.snapshotsCommand("snapshots"),
		p.filesCommand("files"),
		p.restoreCommand(),
		p.lsCommand(),
		p.catCommand(),
		p.exportCommand(),
		p.findCommand(),
		p.diffCommand(),
		p.mountCommand(),
		p.removeSnapshotCommand("remove-snapshot", "forget"),
		p.removeGroupCommand("remove-group"),
		p.pruneCommand(),
		p.protectCommand(),
		p.unprotectCommand(),
		p.notesCommand(),
		p.changeOwnerCommand(),
		p.locksCommand(),
		p.lockCommand(),
		p.lockingCommand(),
		p.withLockCommand(),
		p.verifyCommand(),
		p.gcCommand(),
		p.keyCommand(),
		p.namespaceCommand(),
		p.statusCommand(),
		p.sizesCommand(),
		p.checkCommand(),
		p.inspectCommand(),
		p.snapshotCommand(),
		p.groupCommand(),
		p.completionCommand(),
		p.manCommand(),
		p.versionCommand(),
		helpCommand(),
	}
}

// snapshotCommand and groupCommand offer the spellings of the original's client.
func (p *program) snapshotCommand() *cli.Command {
	return &cli.Command{
		Name:  "snapshot",
		Usage: "the commands for snapshots, spelled as in proxmox-backup-client",
		Subcommands: []*cli.Command{
			p.snapshotsCommand("list"),
			p.filesCommand("files"),
			p.removeSnapshotCommand("forget"),
			p.notesCommand(),
			p.protectedCommand(),
		},
	}
}

func (p *program) groupCommand() *cli.Command {
	return &cli.Command{
		Name:  "group",
		Usage: "the commands for groups, spelled as in proxmox-backup-client, and one to move them",
		Subcommands: []*cli.Command{
			p.listCommand("list"),
			p.removeGroupCommand("forget"),
			p.moveGroupCommand("move"),
		},
	}
}

// finishCommands sets what all commands have in common.
func finishCommands(commands []*cli.Command) {
	for _, c := range commands {
		c.Flags = append(c.Flags, helpFlag())
		c.HideHelp, c.HideHelpCommand = true, true // else "files help" would be no snapshot named help
		c.OnUsageError = onUsageError
		if len(c.Subcommands) > 0 {
			c.Action = missingSubcommand
			c.CustomHelpTemplate = parentHelp
		} else {
			c.CustomHelpTemplate = commandHelp
		}
		finishCommands(c.Subcommands)
	}
}

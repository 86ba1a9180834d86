package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// usageError is a command line that cannot be carried out as it stands.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usageErrorf(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// asUsage marks an error as one of the command line. nil stays nil.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

// onUsageError keeps the flag library from printing the whole help for one bad value.
func onUsageError(_ *cli.Context, err error, _ bool) error { return asUsage(err) }

// withArgs checks the number of arguments before the action runs. The names are
// those of ArgsUsage: "SNAPSHOT [ARCHIVE]" wants one or two, a trailing "..." any number.
func withArgs(argsUsage string, action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		names := strings.Fields(argsUsage)
		if i := c.NArg(); i < len(names) && !strings.HasPrefix(names[i], "[") {
			return usageErrorf("missing argument %s; usage: %s", strings.TrimSuffix(names[i], "..."), usageLine(c.Command))
		}
		if c.NArg() > len(names) && !strings.HasSuffix(argsUsage, "...") {
			return usageErrorf("surplus argument %q; usage: %s", c.Args().Get(len(names)), usageLine(c.Command))
		}
		return action(c)
	}
}

func usageLine(c *cli.Command) string {
	return strings.TrimSpace(c.HelpName + " " + c.ArgsUsage)
}

func (p *program) noCommand(c *cli.Context) error {
	if c.Bool("version") {
		return p.printVersion()
	}
	if err := cli.ShowAppHelp(c); err != nil {
		return err
	}
	return asUsage(errors.New("no command given"))
}

func missingSubcommand(c *cli.Context) error {
	return usageErrorf("%q needs a further word: %s", c.Command.Name, strings.Join(commandNames(c.Command.Subcommands), ", "))
}

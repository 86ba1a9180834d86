package command

import (
	"io"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestManPageNamesEveryCommandAndFlag(t *testing.T) {
	t.Parallel()
	app := newProgram(Streams{Out: io.Discard, Err: io.Discard}).app()
	page := manPage(app)
	var check func([]*cli.Command)
	check = func(commands []*cli.Command) {
		for _, c := range commands {
			if c.Name != helpName && !strings.Contains(page, escapeRoff(c.Name)) {
				t.Errorf("command %s is missing", c.Name)
			}
			for _, f := range c.Flags {
				if !strings.Contains(page, escapeRoff("--"+f.Names()[0])) {
					t.Errorf("flag --%s is missing", f.Names()[0])
				}
			}
			check(c.Subcommands)
		}
	}
	check(app.Commands)
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !strings.Contains(" .TH .SH .SS .PP .TP .B .nf .fi ", " "+strings.Fields(line)[0]+" ") {
			t.Errorf("reads as a request: %q", line)
		}
	}
}

func TestEachCommandIsExplained(t *testing.T) {
	t.Parallel()
	app := newProgram(Streams{Out: io.Discard, Err: io.Discard}).app()
	for _, c := range app.Commands {
		if c.Usage == "" {
			t.Errorf("%s has no usage", c.Name)
		}
		var out strings.Builder
		code := Run(t.Context(), []string{"pbs-like", "help", c.Name}, Streams{In: strings.NewReader(""), Out: &out, Err: &out})
		if code != 0 || !strings.Contains(out.String(), c.Usage) && c.Name != helpName {
			t.Errorf("help %s: code %d, %q", c.Name, code, out.String())
		}
	}
}

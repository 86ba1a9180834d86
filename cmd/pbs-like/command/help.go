package command

import (
	"strings"

	"github.com/urfave/cli/v2"
)

const helpName = "help"

// helpCommand only stands in the list of commands: words.readCommand takes the
// word "help" and what follows as "that command with --help".
func helpCommand() *cli.Command {
	return &cli.Command{Name: helpName, Usage: "show help for a command", ArgsUsage: "[COMMAND]"}
}

func helpFlag() cli.Flag {
	return &cli.BoolFlag{Name: helpName, Aliases: []string{"h"}, Usage: "show help", DisableDefaultText: true}
}

// The templates of the flag library, with what ours adds.
const (
	appHelp = `{{.Name}} - {{.Usage}}

Usage: {{.Name}} COMMAND [ARGUMENTS] [FLAGS]

Commands:
{{range .VisibleCommands}}  {{join .Names ", "}}{{"\t"}}{{.Usage}}
{{end}}
Global flags, accepted anywhere on the line:
{{range .VisibleFlags}}  {{.}}
{{end}}
"{{.Name}} help COMMAND" tells more about one of them, "{{.Name}} man" prints the manual page.
`
	commandHelp = `{{.HelpName}} - {{.Usage}}

Usage: {{.HelpName}}{{if .ArgsUsage}} {{.ArgsUsage}}{{end}} [FLAGS]
{{if .Description}}
{{.Description}}
{{end}}
Flags, accepted anywhere on the line:
{{range .VisibleFlags}}  {{.}}
{{end}}
Global flags: see "` + programName + ` help".
`
	parentHelp = `{{.HelpName}} - {{.Usage}}

Commands:
{{range .VisibleCommands}}  {{join .Names ", "}}{{"\t"}}{{.Usage}}
{{end}}`
)

// paragraphs joins the lines of a description that belong together.
func paragraphs(description string) []string {
	var out []string
	for text := range strings.SplitSeq(description, "\n\n") {
		out = append(out, strings.Join(strings.Fields(text), " "))
	}
	return out
}

package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

func (p *program) manCommand() *cli.Command {
	return &cli.Command{
		Name:        "man",
		Usage:       "print the manual page",
		Description: "Prints it in the form that man reads: " + programName + " man > " + programName + ".1",
		Action: withArgs("", func(c *cli.Context) error {
			_, err := io.WriteString(p.out, manPage(p.app()))
			return err
		}),
	}
}

// manPage writes the manual page from the tree of commands and the table of exit codes.
func manPage(app *cli.App) string {
	m := &roff{}
	m.line(`.TH PBS-LIKE 1 "" "pbs-like" "User Commands"`)
	m.section("NAME")
	m.text(app.Name + " - " + app.Usage)
	m.section("SYNOPSIS")
	m.line(".B " + escapeRoff(app.Name))
	m.line(`\fICOMMAND\fR [\fIARGUMENTS\fR] [\fIFLAGS\fR]`)
	m.section("DESCRIPTION")
	for _, text := range manDescription() {
		m.paragraph(text)
	}
	m.section("COMMANDS")
	m.commands("", app.Commands)
	m.section("GLOBAL FLAGS")
	m.flags(app.Flags)
	m.section("EXIT STATUS")
	for _, row := range exitCodes() {
		m.item(fmt.Sprint(row.code), row.meaning)
	}
	m.section("ENVIRONMENT")
	for _, row := range environment() {
		m.item(row[0], row[1])
	}
	m.section("EXAMPLES")
	m.example(manExample)
	return m.String()
}

func manDescription() []string {
	return []string{
		programName + " works on a Proxmox Backup datastore that is there as a directory, without a server.",
		"Objects are written as in Proxmox Backup: a group is TYPE/ID, like vm/100; a snapshot is TYPE/ID/TIME, like " +
			"vm/100/2026-01-15T03:00:00Z; an archive has a name like drive-scsi0.img, with or without the suffix that it has on disk. " +
			"--ns names the namespace.",
		"Flags may stand anywhere on the line. What begins with a dash is never taken as an argument; a single dash is one, " +
			"and everything behind -- is.",
		"Results go to standard output, messages and progress to standard error. JSON has the keys of Proxmox Backup: " +
			"times are seconds since 1970, sizes bytes.",
	}
}

// environment documents the variables, but for those of flags.
func environment() [][2]string {
	return [][2]string{
		{envDatastore, "the directory of the datastore, where --datastore is not given"},
		{envRepository, "the same, where it holds an absolute path; the name of a server in it is not used"},
		{envOnlyHost, "1 is --i-am-the-only-host"},
		{"PBS_LIKE_LOCK_WAIT", "the default of --" + flagLockWait},
	}
}

const manExample = `pbs-like init /srv/store
export PBS_LIKE_DATASTORE=/srv/store
pbs-like backup drive-scsi0.img:/dev/vg/vm-100 --backup-type vm --backup-id 100
pbs-like list
pbs-like restore vm/100 drive-scsi0.img /tmp/disk.raw
pbs-like backup etc.pxar:/etc --backup-id web --change-detection-mode metadata --exclude /ssl/private
pbs-like restore host/web etc.pxar /tmp/etc --pattern /nginx
pbs-like find 'nginx.conf' --type f
pbs-like diff host/web/2026-01-15T03:00:00Z host/web etc.pxar
pbs-like cat host/web etc.pxar /nginx/nginx.conf
pbs-like export host/web etc.pxar - --path /nginx --format zip >nginx.zip
pbs-like mount /mnt
pbs-like remove-group vm/100 --dry-run
`

// roff is a manual page in the making.
type roff struct{ strings.Builder }

func (m *roff) line(s string)       { m.WriteString(s + "\n") }
func (m *roff) text(s string)       { m.line(escapeRoff(s)) }
func (m *roff) section(name string) { m.line(".SH " + name) }
func (m *roff) paragraph(s string)  { m.line(".PP"); m.text(s) }

func (m *roff) item(term, text string) {
	m.line(".TP")
	m.line(`\fB` + escapeRoff(term) + `\fR`)
	m.text(text)
}

func (m *roff) example(s string) {
	m.line(".nf")
	for line := range strings.Lines(s) {
		m.text(strings.TrimSuffix(line, "\n"))
	}
	m.line(".fi")
}

func (m *roff) commands(parent string, commands []*cli.Command) {
	for _, c := range commands {
		if c.Hidden || c.Name == helpName {
			continue
		}
		name := strings.TrimSpace(parent + " " + strings.Join(c.Names(), ", "))
		m.line(".SS " + `"` + escapeRoff(strings.TrimSpace(name+" "+c.ArgsUsage)) + `"`)
		m.text(strings.ToUpper(c.Usage[:1]) + c.Usage[1:] + ".")
		if c.Description != "" {
			for _, text := range paragraphs(c.Description) {
				m.paragraph(text)
			}
		}
		m.flags(withoutHelp(c.Flags))
		m.commands(c.Name, c.Subcommands)
	}
}

// withoutHelp leaves out what each command has.
func withoutHelp(flags []cli.Flag) []cli.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f cli.Flag) bool { return f.Names()[0] == helpName })
}

func (m *roff) flags(flags []cli.Flag) {
	for _, f := range flags {
		documented, ok := f.(cli.DocGenerationFlag)
		if !ok {
			continue
		}
		names, usage, _ := strings.Cut(f.String(), "\t")
		if env := documented.GetEnvVars(); len(env) > 0 {
			usage = strings.TrimSuffix(usage, " [$"+strings.Join(env, ", $")+"]")
		}
		m.item(names, strings.Join(strings.Fields(usage), " "))
	}
}

// escapeRoff keeps text from being read as a request or an escape.
func escapeRoff(s string) string {
	s = strings.ReplaceAll(s, `\`, `\e`)
	s = strings.ReplaceAll(s, "-", `\-`)
	s = strings.ReplaceAll(s, `"`, `\(dq`)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

package command

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

func (p *program) versionCommand() *cli.Command {
	return &cli.Command{
		Name:   "version",
		Usage:  "print the version",
		Action: withArgs("", func(*cli.Context) error { return p.printVersion() }),
	}
}

func (p *program) printVersion() error {
	_, err := fmt.Fprintf(p.out, "%s %s %s %s/%s\n", programName, version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// buildVersion is set by the linker, and by nobody else.
var buildVersion string //nolint:gochecknoglobals // the linker sets variables only

// version is what the build was told, or else what the Go tool knows about the source.
func version() string {
	if buildVersion != "" {
		return buildVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

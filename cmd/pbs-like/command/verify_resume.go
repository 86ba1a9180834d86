package command

import (
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
)

const (
	flagResume   = "resume"
	flagStateDir = "state-dir"
)

func resumeFlag() cli.Flag {
	return &cli.BoolFlag{
		DisableDefaultText: true, Name: flagResume,
		Usage: "remember what was proven of a snapshot in which the time was up, or the run was interrupted, and go on from there; " +
			"that counts for 7 days, for chunk files that have not changed",
	}
}

func stateDirFlag() cli.Flag {
	return &cli.StringFlag{
		Name: flagStateDir, EnvVars: []string{"PBS_LIKE_STATE_DIR"}, TakesFile: true, DefaultText: "XDG_STATE_HOME/pbs-like, else ~/.local/state/pbs-like",
		Usage: "the `DIRECTORY` in which --" + flagResume + " remembers it, outside of the store",
	}
}

// verifyMemory is where --resume remembers what was proven, or nil without it.
func verifyMemory(c *cli.Context) (datastore.VerifyMemory, error) {
	switch {
	case !c.Bool(flagResume):
		return nil, nil
	case c.String(flagSample) != "":
		return nil, usageErrorf("--%s and --%s exclude each other: a sample proves no snapshot", flagResume, flagSample)
	case c.Bool(flagDryRun):
		return nil, usageErrorf("--%s and --%s exclude each other: a dry run keeps no results", flagResume, flagDryRun)
	}
	dir, err := stateDir(c.String(flagStateDir))
	if err != nil {
		return nil, err
	}
	return datastore.NewVerifyMemory(dir), nil
}

// stateDir is the directory that was given, or else the usual one of the user.
func stateDir(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	if home := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, programName), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", usageErrorf("--%s: no home directory is known to remember it in; --%s names a directory", flagResume, flagStateDir)
	}
	return filepath.Join(home, ".local", "state", programName), nil
}

// suggestResume tells those whose time was up within a snapshot that the next run reads all of it again.
func (p *program) suggestResume(resumed bool, r datastore.VerifyReport) {
	if r.Verdicts[datastore.VerdictPartly] > 0 && !resumed && !p.settings.quiet {
		p.log.Info().Msg("the next run reads a snapshot that was read in part from its beginning; with --" + flagResume + ", runs go on from where one ended")
	}
}

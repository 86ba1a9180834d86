package command

import (
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
)

// The environment.
const (
	envDatastore  = "PBS_LIKE_DATASTORE"
	envRepository = "PBS_REPOSITORY"
	envOnlyHost   = "PBS_LIKE_ONLY_HOST"
	envHostID     = "BORG_HOST_ID"
	envLockStore  = "PBS_LIKE_LOCK_STORE"
)

// settings are what the global flags say.
type settings struct {
	datastore string
	onlyHost  bool
	stopped   bool // the server of this machine
	server    datastore.ServerPlace
	says      datastore.ActivityPlace
	quiet     bool
	waited    bool // --lock-wait was given
	hostID    string
	lockStore string
}

func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: flagDatastore, EnvVars: []string{envDatastore}, TakesFile: true,
			Usage: "the `DIRECTORY` of the datastore; " + envRepository + " serves too when it holds an absolute path",
		},
		&cli.StringFlag{Name: flagRepository, Usage: "the same, spelled as in proxmox-backup-client: the absolute path of a `DIRECTORY`"},
		&cli.BoolFlag{
			Name: "i-am-the-only-host", EnvVars: []string{envOnlyHost}, DisableDefaultText: true,
			Usage: "change a store on a network file system, whose locks reach no other host: say that no other host uses it",
		},
		&cli.StringFlag{
			Name: flagHostID, EnvVars: []string{envHostID}, DefaultText: "host name and hardware address",
			Usage: "the `NAME` of this host in store locks: two hosts, or containers with the same name, must not have the same",
		},
		&cli.StringFlag{
			Name: flagLockStore, EnvVars: []string{envLockStore}, TakesFile: true,
			Usage: "a store of one lock of its own, for with-lock and locking: `DIRECTORY|s3://BUCKET/PREFIX`",
		},
		&cli.BoolFlag{
			Name: "server-stopped", DisableDefaultText: true,
			Usage: "say that the Proxmox Backup Server on this machine does not run: its locks are not taken, and its maintenance modes do not count",
		},
		&cli.StringFlag{
			Name: "server-etc", EnvVars: []string{"PBS_LIKE_SERVER_ETC"}, TakesFile: true, DefaultText: "/etc/proxmox-backup",
			Usage: "the `DIRECTORY` with the configuration of the Proxmox Backup Server on this machine",
		},
		&cli.StringFlag{
			Name: "server-run", EnvVars: []string{"PBS_LIKE_SERVER_RUN"}, TakesFile: true, DefaultText: "/run/proxmox-backup",
			Usage: "the `DIRECTORY` with its locks",
		},
		&cli.StringFlag{
			Name: "server-user", EnvVars: []string{"PBS_LIKE_SERVER_USER"}, DefaultText: "backup",
			Usage: "the `USER`, by name or number, that it runs as",
		},
		&cli.StringFlag{
			Name: "server-log", EnvVars: []string{"PBS_LIKE_SERVER_LOG"}, TakesFile: true, DefaultText: "/var/log/proxmox-backup",
			Usage: "the `DIRECTORY` with the list of its tasks",
		},
		&cli.StringFlag{
			Name: "runtime-dir", EnvVars: []string{"PBS_LIKE_RUNTIME_DIR"}, TakesFile: true, DefaultText: "/run/pbs-like, else XDG_RUNTIME_DIR/pbs-like",
			Usage: "the `DIRECTORY` in which running commands tell each other what they do",
		},
		&cli.BoolFlag{
			Name: "quiet", Aliases: []string{"q"}, DisableDefaultText: true,
			Usage: "no progress, no summaries; warnings, errors and what was asked for only",
		},
		&cli.StringFlag{Name: "log-level", Value: "info", Usage: "`LEVEL` of messages on standard error: debug, info, warn or error"},
		&cli.StringFlag{Name: "log-format", Value: string(logConsole), Usage: "`FORMAT` of messages on standard error: console or json"},
		&cli.BoolFlag{DisableDefaultText: true, Name: "version", Usage: "print the version"},
	}
}

// readGlobals runs before each command.
func (p *program) readGlobals(c *cli.Context) error {
	p.settings = settings{
		datastore: c.String(flagDatastore),
		onlyHost:  c.Bool("i-am-the-only-host"),
		stopped:   c.Bool("server-stopped"),
		server:    datastore.ServerPlace{Etc: c.String("server-etc"), Run: c.String("server-run"), User: c.String("server-user"), Log: c.String("server-log")},
		says:      activityPlace(c.String("runtime-dir")),
		quiet:     c.Bool("quiet"),
		hostID:    c.String(flagHostID),
		lockStore: c.String(flagLockStore),
	}
	return p.configureLog(c.String("log-format"), c.String("log-level"), p.settings.quiet)
}

// storePath is the datastore that was asked for.
func (s settings) storePath() (string, error) {
	if s.datastore != "" {
		return s.datastore, nil
	}
	repository := os.Getenv(envRepository)
	if filepath.IsAbs(repository) {
		return repository, nil
	}
	hint := ""
	if repository != "" {
		hint = "; " + envRepository + " is set, but names a server and no directory"
	}
	return "", usageErrorf("no datastore given: use --datastore DIRECTORY or set %s%s", envDatastore, hint)
}

// open gives the datastore that was asked for.
func (p *program) open(c *cli.Context) (*datastore.Datastore, error) {
	path, err := p.settings.storePath()
	if err != nil {
		return nil, err
	}
	wait := lockWait(c)
	if wait < 0 {
		return nil, usageErrorf("--%s %v is negative", flagLockWait, wait)
	}
	p.settings.waited = wait > 0
	return datastore.Open(path, datastore.Options{
		LockWait: wait, OnlyHost: p.settings.onlyHost, HostID: p.settings.hostID, LockMemory: lockMemory(),
		ServerStopped: p.settings.stopped, Server: p.settings.server, Activities: p.settings.says, Events: p.events(),
	})
}

// activityPlace is where commands tell each other what they do.
func activityPlace(dir string) datastore.ActivityPlace {
	if dir == "" {
		return datastore.UsualActivities()
	}
	return datastore.ActivityPlace{Dirs: []string{dir}}
}

// The flags that several commands have.
const (
	flagDatastore  = "datastore"
	flagRepository = "repository"
	flagNamespace  = "ns"
	flagLockWait   = "lock-wait"
	flagHostID     = "host-id"
	flagLockStore  = "lock-store"
	flagFormat     = "output-format"
	flagDryRun     = "dry-run"
	flagYes        = "yes"
	flagForce      = "force"
	flagOverwrite  = "overwrite"
)

func namespaceFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: flagNamespace, Usage: usage}
}

func lockWaitFlag() cli.Flag {
	return &cli.DurationFlag{
		Name: flagLockWait, EnvVars: []string{"PBS_LIKE_LOCK_WAIT"}, DefaultText: "give up",
		Usage: "wait up to `DURATION`, such as 90s or 2h, for a lock that somebody holds",
	}
}

func lockWait(c *cli.Context) time.Duration { return c.Duration(flagLockWait) }

func dryRunFlag() cli.Flag {
	return &cli.BoolFlag{DisableDefaultText: true, Name: flagDryRun, Aliases: []string{"n"}, Usage: "only say what would be done"}
}

func yesFlag() cli.Flag {
	return &cli.BoolFlag{DisableDefaultText: true, Name: flagYes, Aliases: []string{"y"}, Usage: "do not ask; needed where there is no terminal to ask on"}
}

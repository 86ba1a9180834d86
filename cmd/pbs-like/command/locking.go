package command

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/storelock"
)

func (p *program) lockingCommand() *cli.Command {
	return &cli.Command{
		Name:  "locking",
		Usage: "which locks are in force: for a datastore that several hosts share, and for lock stores",
		Subcommands: []*cli.Command{
			{
				Name: "show", Usage: "show which locks are in force, and whom they reach",
				Flags: []cli.Flag{formatFlag()}, Action: withArgs("", p.showLocking),
			}, {
				Name: "test", Usage: "find out whether the datastore is fit for store locks, and how fast they are",
				Description: "Makes, lists, reads and removes small files in the datastore, or in --" + flagLockStore + ", and tells how\n" +
					"long that took. It sees what this host sees: caches of other hosts may be further behind.",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "peer", Usage: "find out what two hosts see of each other: both run this at once, with the same new `WORD`"},
					formatFlag(),
				}, Action: withArgs("", p.testLocking),
			}, {
				Name: "set", Usage: "say which locks are in force from now on, for everybody", ArgsUsage: "shared|local",
				Description: "With shared, several hosts may use the datastore, all of them with this program: every operation also takes\n" +
					"a lease that lies in the datastore. No other host may work with it until the command has ended. It\n" +
					"tests the datastore first. A Proxmox Backup Server on another host takes no such locks.\n" +
					"With local, only the locks of this machine count. On a file system whose locks reach no other host that\n" +
					"needs --i-am-the-only-host, which is then kept in the datastore and need not be given again.\n" +
					"Refused while anybody works with the datastore.",
				Flags: []cli.Flag{
					&cli.DurationFlag{Name: "stale", DefaultText: "30m", Usage: "with shared: let others take a lock `DURATION` after the last sign of life"},
					lockWaitFlag(), formatFlag(),
				},
				Action: withArgs("shared|local", p.setLocking),
			}, {
				Name: "list", Usage: "list store locks, of all hosts",
				Description: "Lists who holds store locks of the datastore, or of --" + flagLockStore + ", or waits for one. SINCE and REFRESHED\n" +
					"go by the clock of the holder's host, STALE IN by this one's, from when it saw the lock first. What can't be\n" +
					"read counts as an exclusive lock until it is stale.",
				Flags: []cli.Flag{formatFlag()}, Action: withArgs("", p.listLocking),
			}, {
				Name: "break", Usage: "remove store locks whose holders are dead",
				Description: "Removes what is provably stale, of the datastore or of --" + flagLockStore + ". With --watch it looks for one stale\n" +
					"time first, which proves it of other hosts too. With --force it removes all: whoever holds one loses it\n" +
					"and gives up its work.",
				Flags: []cli.Flag{
					&cli.BoolFlag{DisableDefaultText: true, Name: "watch", Usage: "look for as long as it takes to know"},
					&cli.BoolFlag{DisableDefaultText: true, Name: flagForce, Usage: "remove the locks of the living too"},
					yesFlag(), formatFlag(),
				},
				Action: withArgs("", p.breakLocking),
			},
		},
	}
}

type schemeJSON struct {
	Locking      datastore.LockMode `json:"locking"`
	OnlyHost     bool               `json:"only-host"`
	RecheckDelay float64            `json:"recheck-delay-seconds,omitempty"`
	Stale        float64            `json:"stale-seconds,omitempty"`
	FileSystem   string             `json:"file-system,omitempty"`
	ReachAll     *bool              `json:"locks-reach-all,omitempty"`
}

func (p *program) showLocking(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	scheme, err := ds.LockScheme(c.Context)
	if err != nil {
		return err
	}
	reach, err := ds.LockReach()
	if err != nil {
		return err
	}
	if format != formatText {
		out := newSchemeJSON(scheme)
		out.FileSystem, out.ReachAll = reach.Name, &reach.Local
		return writeJSON(p.out, out, format == formatJSONPretty)
	}
	facts := []fact{{"datastore", ds.Path()}, {"locking", schemeText(scheme)}, {"file system", reach.Name + ", " + reachText(datastore.Status{FileSystem: reach})}}
	if scheme.Mode == datastore.LockShared {
		facts = append(facts, fact{"stale after", orDefault(scheme.Stale, 30*time.Minute).String()}, fact{"recheck delay", scheme.RecheckDelay.String()})
	}
	return p.printFacts(facts)
}

func newSchemeJSON(s datastore.LockScheme) schemeJSON {
	return schemeJSON{Locking: s.Mode, OnlyHost: s.OnlyHost, RecheckDelay: s.RecheckDelay.Seconds(), Stale: s.Stale.Seconds()}
}

func schemeText(s datastore.LockScheme) string {
	switch {
	case s.Mode == datastore.LockShared:
		return "shared: several hosts, with store locks"
	case s.Mode == datastore.LockChanging:
		return "being changed, or the change was cut off: nobody may change the datastore until it is set again"
	case s.OnlyHost:
		return "local, and somebody has said that no other host uses it"
	}
	return "local: the locks of this machine"
}

func orDefault(d, zero time.Duration) time.Duration {
	if d == 0 {
		return zero
	}
	return d
}

func (p *program) setLocking(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	mode := datastore.LockMode(c.Args().First())
	if mode != datastore.LockShared && mode != datastore.LockLocal {
		return usageErrorf("locking set %q: it has to be shared or local", string(mode))
	}
	if mode == datastore.LockShared && p.settings.onlyHost {
		return usageErrorf("locking set shared is for several hosts: --i-am-the-only-host says that there is one")
	}
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	scheme, err := ds.SetLockScheme(c.Context, mode, datastore.SetLockSchemeOptions{OnlyHost: p.settings.onlyHost, Stale: c.Duration("stale")})
	if err != nil {
		return err
	}
	if format != formatText {
		return writeJSON(p.out, newSchemeJSON(scheme), format == formatJSONPretty)
	}
	return p.summary("locking of " + ds.Path() + " is now " + schemeText(scheme))
}

func (p *program) testLocking(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	report, err := p.selfTest(c)
	if err != nil {
		return err
	}
	if format == formatText {
		_, err = fmt.Fprintln(p.out, report)
		return err
	}
	return writeJSON(p.out, map[string]any{
		"rounds": report.Rounds, "list-seconds": report.List.Seconds(), "load-seconds": report.Load.Seconds(), "store-seconds": report.Store.Seconds(),
		"delete-seconds": report.Delete.Seconds(), "recheck-delay-seconds": report.RecheckDelay.Seconds(),
		"peer-store-seconds": report.PeerStoreVisible.Seconds(), "peer-delete-seconds": report.PeerDeleteVisible.Seconds(),
	}, format == formatJSONPretty)
}

func (p *program) selfTest(c *cli.Context) (storelock.Report, error) {
	opts := storelock.SelfTestOptions{Peer: c.String("peer")}
	if p.settings.lockStore == "" {
		ds, err := p.open(c)
		if err != nil {
			return storelock.Report{}, err
		}
		return ds.TestStoreLocks(c.Context, opts)
	}
	backend, closer, err := p.openLockStore()
	if err != nil {
		return storelock.Report{}, err
	}
	report, err := storelock.SelfTest(c.Context, backend, opts)
	if closeErr := closer(); err == nil {
		err = closeErr
	}
	return report, err
}

func lockState(i storelock.Info) string {
	switch {
	case i.Err != nil:
		return "unreadable"
	case i.Dead:
		return "dead"
	case i.Waiting:
		return "waits"
	case i.Exclusive:
		return "exclusive"
	}
	return "shared"
}

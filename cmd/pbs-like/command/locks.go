package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/storelock"
)

// wholeStore is how the datastore itself is named where a group or a snapshot may be.
const wholeStore = "datastore"

func (p *program) locksCommand() *cli.Command {
	const args = "[SNAPSHOT|GROUP|datastore]"
	return &cli.Command{
		Name:      "locks",
		Usage:     "show who holds which locks",
		ArgsUsage: args,
		Description: "Lists each lock on the store, or on a group and its snapshots, with the process that holds it and what\n" +
			"that says that it does: our own, those of other programs, and those of a Proxmox Backup Server on this\n" +
			"machine, with its task. Takes no locks. SINCE is when the process began. Of a datastore that several hosts\n" +
			"share, the leases of all hosts are listed besides: HOST says whose, SINCE is when it was taken, and REFRESHED\n" +
			"how long ago it was renewed, by the clocks of that host. Other users' processes can be\n" +
			"looked at by root only; how many there are is said on standard error.\n" +
			"--watch repeats it until a signal ends it, in place on a terminal; in JSON, each look is one line.",
		Flags: []cli.Flag{
			namespaceFlag("the `NAMESPACE` of the group or the snapshot"),
			&cli.BoolFlag{DisableDefaultText: true, Name: "watch", Aliases: []string{"w"}, Usage: "look again and again"},
			&cli.DurationFlag{Name: "interval", Value: 2 * time.Second, Usage: "with --watch: how far apart the looks are, `DURATION`"},
			formatFlag(),
		},
		Action: withArgs(args, p.locks),
	}
}

func (p *program) locks(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	look := locksLook{p: p, format: format}
	if look.opts, err = locksOptions(c); err != nil {
		return err
	}
	if look.ds, err = p.open(c); err != nil {
		return err
	}
	look.opts.Hidden = look.noticeHidden
	if c.Bool("watch") {
		return look.watch(c.Context, c.Duration("interval"))
	}
	return look.once(c.Context)
}

func locksOptions(c *cli.Context) (opts datastore.LocksOptions, err error) {
	if c.Bool("watch") && c.Duration("interval") < 100*time.Millisecond {
		return opts, usageErrorf("--interval %v is too short, 100ms is the least", c.Duration("interval"))
	}
	switch c.Args().First() {
	case "":
	case wholeStore:
		opts.OnlyStore = true
	default:
		object, err := objectArg(c, 0)
		if err != nil {
			return opts, err
		}
		opts.Within = &object
	}
	return opts, nil
}

// locksLook is how the locks are looked at.
type locksLook struct {
	p      *program
	ds     *datastore.Datastore
	opts   datastore.LocksOptions
	format outputFormat
	told   bool // of the hidden processes
}

func (l *locksLook) noticeHidden(processes int) {
	if !l.told {
		l.told = true
		l.p.log.Info().Msgf("%s of other users can't be looked at: their locks are shown as far as the kernel tells; root sees all", plural(processes, "process"))
	}
}

func (l *locksLook) once(ctx context.Context) error {
	out := newListing(l.p, l.format, lockColumns(), lockRow, newLockJSON)
	unread := unreadable{p: l.p}
	var err error
	for info, failed := range l.ds.Locks(ctx, l.opts) {
		if failed == nil {
			err = out.add(info)
		} else {
			err = unread.skipEntry(ctx, failed)
		}
		if err != nil {
			break
		}
	}
	return unread.result(closeListing(out, err))
}

func lockColumns() []column {
	return []column{
		{title: "resource"},
		{title: "ns"},
		{title: "means"},
		{title: "mode"},
		{title: "pid", right: true},
		{title: "user"},
		{title: "host"},
		{title: "since"},
		{title: "refreshed"},
		{title: "doing"},
		{title: "command"},
	}
}

func lockRow(l datastore.LockInfo) []string {
	h := l.Holder
	pid, since := "", ""
	if h.PID > 0 {
		pid = strconv.Itoa(h.PID)
	}
	if !h.Since.IsZero() {
		since = h.Since.UTC().Format(time.RFC3339)
	}
	host, refreshed, doing := "", "", h.Doing
	if l.Lease != nil {
		host, refreshed = l.Lease.HostID, refreshedText(*l.Lease)
	}
	if l.Lease != nil && l.Lease.Err != nil {
		doing = l.Lease.Err.Error()
	}
	return []string{
		lockedThing(l), l.Object.Group.Namespace.String(), string(l.Means), h.Mode.String(), pid, h.User, host, since, refreshed, doing, h.Command,
	}
}

// refreshedText is how long ago a lease was renewed, by the clocks of two hosts: for people only.
func refreshedText(i storelock.Info) string {
	if i.Err != nil || i.Time.IsZero() {
		return ""
	}
	return time.Since(i.Time).Round(time.Second).String() + " ago"
}

func lockedThing(l datastore.LockInfo) string {
	if l.Lease != nil {
		switch l.Resource { //nolint:exhaustive // the others as below
		case datastore.LockOnSnapshot:
			return l.Object.String() + "/*"
		case datastore.LockOnManifest:
			return l.Object.String() + "/*/" + strings.TrimSuffix(backupinfo.ManifestName, ".blob")
		}
	}
	switch l.Resource { //nolint:exhaustive // the others are named by their object
	case datastore.LockOnStore:
		return wholeStore
	case datastore.LockOnManifest:
		return l.Object.String() + "/" + strings.TrimSuffix(backupinfo.ManifestName, ".blob")
	case datastore.LockOnOther:
		return l.Path
	case datastore.LockOnNamespace:
		return "namespace " + l.Object.Group.Namespace.String()
	}
	return l.Object.String()
}

// lockJSON is an entry of the listing. Times are seconds since 1970. What is not
// known is left out.
type lockJSON struct {
	Activities []activityJSON  `json:"activities"`
	ID         string          `json:"backup-id,omitempty"`
	Time       int64           `json:"backup-time,omitempty"`
	Type       backupinfo.Type `json:"backup-type,omitempty"`
	Command    string          `json:"command,omitempty"`
	Host       string          `json:"host-id,omitempty"`
	Means      string          `json:"means"`
	Mode       string          `json:"mode"`
	Namespace  string          `json:"ns,omitempty"`
	Path       string          `json:"path"`
	PID        int             `json:"pid,omitempty"`
	Refreshed  int64           `json:"refreshed,omitempty"`
	Resource   string          `json:"resource"`
	Since      int64           `json:"since,omitempty"`
	Tasks      []string        `json:"tasks"`
	UID        *int            `json:"uid,omitempty"`
	User       string          `json:"user,omitempty"`
}

type activityJSON struct {
	Done      uint64 `json:"done"`
	Items     bool   `json:"items"`
	Message   string `json:"message,omitempty"`
	Object    string `json:"object"`
	Operation string `json:"operation"`
	Part      string `json:"part,omitempty"`
	Started   int64  `json:"started"`
	Total     uint64 `json:"total,omitempty"`
}

func newLockJSON(l datastore.LockInfo) any {
	h := l.Holder
	out := lockJSON{
		ID: l.Object.Group.ID, Time: int64(l.Object.Time), Type: l.Object.Group.Type, Namespace: l.Object.Group.Namespace.String(),
		Resource: string(l.Resource), Means: string(l.Means), Mode: h.Mode.String(), Path: l.Path,
		PID: max(h.PID, 0), User: h.User, Command: h.Command, Activities: []activityJSON{}, Tasks: []string{},
	}
	if h.UID >= 0 {
		out.UID = &h.UID
	}
	if !h.Since.IsZero() {
		out.Since = h.Since.Unix()
	}
	if l.Lease != nil {
		out.Host = l.Lease.HostID
	}
	if l.Lease != nil && !l.Lease.Time.IsZero() {
		out.Refreshed = l.Lease.Time.Unix()
	}
	for _, a := range l.Activities {
		out.Activities = append(out.Activities, activityJSON{a.Done, a.Items, a.Message, a.Object, a.Operation, a.Part, a.Started, a.Total})
	}
	for _, task := range l.Tasks {
		out.Tasks = append(out.Tasks, task.String())
	}
	return out
}

// watch looks until the context ends, which is what it is for, and no failure.
func (l *locksLook) watch(ctx context.Context, interval time.Duration) error {
	if l.format == formatJSONPretty {
		return usageErrorf("--watch writes one line for each look: --%s json", flagFormat)
	}
	view := newView(l.p)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		title := fmt.Sprintf("locks on %s at %s", printable(l.ds.Path()), time.Now().UTC().Format(time.RFC3339))
		err := view.show(title, l.format, func() error { return l.once(ctx) })
		if ctx.Err() != nil {
			return nil // somebody has seen enough
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

package command

import (
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/storelock"
)

type storeLockJSON struct {
	Command  string  `json:"command,omitempty"`
	Error    string  `json:"error,omitempty"`
	Host     string  `json:"host-id,omitempty"`
	Instance string  `json:"instance,omitempty"`
	Message  string  `json:"message,omitempty"`
	Name     string  `json:"object"`
	PID      int64   `json:"pid,omitempty"`
	Same     float64 `json:"unchanged-seconds"`
	Resource string  `json:"resource,omitempty"`
	Since    int64   `json:"since,omitempty"`
	State    string  `json:"state"`
	Time     int64   `json:"time,omitempty"`
	User     string  `json:"user,omitempty"`
	Left     float64 `json:"stale-in-seconds"`
}

func newStoreLockJSON(l datastore.StoreLock) any {
	out := storeLockJSON{
		Command: l.Command, Host: l.HostID, Instance: l.Instance, Message: l.Message, Name: l.Name, PID: l.PID, Resource: l.Resource,
		State: lockState(l.Info), User: l.User, Left: l.Left.Seconds(), Same: l.Watched.Seconds(),
	}
	if l.Err != nil {
		out.Error = l.Err.Error()
	} else {
		out.Time = l.Time.Unix()
	}
	if !l.Since.IsZero() {
		out.Since = l.Since.Unix()
	}
	return out
}

func storeLockRow(l datastore.StoreLock) []string {
	pid, since := "", ""
	if l.Err == nil {
		pid = strconv.FormatInt(l.PID, 10)
	}
	if !l.Since.IsZero() {
		since = l.Since.UTC().Format(time.RFC3339)
	}
	left := max(l.Left, 0).Round(time.Second).String()
	return []string{l.Resource, lockState(l.Info), l.HostID, pid, l.User, since, refreshedText(l.Info), left, l.Command, l.Message}
}

func storeLockColumns() []column {
	return []column{
		{title: "resource"},
		{title: "state"},
		{title: "host"},
		{title: "pid", right: true},
		{title: "user"},
		{title: "since"},
		{title: "refreshed"},
		{title: "stale in"},
		{title: "command"},
		{title: "message"},
	}
}

func (p *program) listLocking(c *cli.Context) error {
	return p.printStoreLocks(c, func(ds *datastore.Datastore) ([]datastore.StoreLock, error) {
		return ds.StoreLocks(c.Context)
	}, func(backend storelock.Backend) ([]storelock.Info, error) {
		return storelock.List(c.Context, backend, p.lockStoreOptions(backend))
	})
}

func (p *program) breakLocking(c *cli.Context) error {
	how := storelock.BreakOptions{Watch: c.Bool("watch"), Force: c.Bool(flagForce)}
	if how.Force {
		question, err := p.newQuestion(c)
		if err == nil {
			err = question.confirm(c.Context, "Remove all store locks, also those of the living?")
		}
		if err != nil {
			return err
		}
	}
	return p.printStoreLocks(c, func(ds *datastore.Datastore) ([]datastore.StoreLock, error) {
		return ds.BreakStoreLocks(c.Context, how)
	}, func(backend storelock.Backend) ([]storelock.Info, error) {
		return storelock.Break(c.Context, backend, p.lockStoreOptions(backend), how)
	})
}

// printStoreLocks lists what one of the two gives, also what came before an error.
func (p *program) printStoreLocks(c *cli.Context, of func(*datastore.Datastore) ([]datastore.StoreLock, error),
	alone func(storelock.Backend) ([]storelock.Info, error),
) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	var locks []datastore.StoreLock
	if p.settings.lockStore == "" {
		ds, failed := p.open(c)
		if failed != nil {
			return failed
		}
		if locks, err = of(ds); err != nil && len(locks) == 0 {
			return err
		}
	} else if locks, err = p.ofLockStore(alone); err != nil && len(locks) == 0 {
		return err
	}
	out := newListing(p, format, storeLockColumns(), storeLockRow, newStoreLockJSON)
	for _, lock := range locks {
		if err := out.add(lock); err != nil {
			return err
		}
	}
	return closeListing(out, err)
}

func (p *program) ofLockStore(alone func(storelock.Backend) ([]storelock.Info, error)) (locks []datastore.StoreLock, err error) {
	backend, closer, err := p.openLockStore()
	if err != nil {
		return nil, err
	}
	found, err := alone(backend)
	for _, info := range found {
		locks = append(locks, datastore.StoreLock{Info: info})
	}
	if closeErr := closer(); closeErr != nil && err == nil {
		err = fmt.Errorf("lock store: %w", closeErr)
	}
	return locks, err
}

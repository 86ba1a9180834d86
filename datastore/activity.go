package datastore

import (
	"path/filepath"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/activity"
)

// ActivityPlace is where processes say what they are doing, in small files that count
// only as long as their process lives. The zero value is nowhere.
type ActivityPlace struct {
	// Dirs are tried in order by who writes, and all are read. They are made where their
	// parents are there. Below each there may be one for a user, named by its number.
	Dirs []string
	// Users is the directory that holds one for each user's number, in which those who
	// can't write to Dirs use "pbs-like"; "" is none.
	Users string
}

// UsualActivities is where all processes of this machine look: /run/pbs-like, and
// for users who can't write there, pbs-like in XDG_RUNTIME_DIR.
func UsualActivities() ActivityPlace { return ActivityPlace(activity.Usual()) }

// Activity is what a process says that it is doing.
type Activity struct {
	// Store is the path of the store, as the process knows it.
	Store string
	// Operation is a word such as "backup", Object what it works on, such as "vm/100".
	Operation string
	Object    string
	// Message is what the user of the operation had to say.
	Message string
	// Started is when it began, in seconds since 1970.
	Started int64
	// Part is what Done and Total are about where that is not all of it. They are bytes,
	// or things where Items is set. Total is 0 where it is not known.
	Part        string
	Done, Total uint64
	Items       bool
}

// String describes the activity in one line, safe for a terminal.
func (a Activity) String() string { return activity.Activity(a).String() }

// Progress is how far it is in words, or "" where that is not known.
func (a Activity) Progress() string { return activity.Activity(a).Progress() }

// say tells others what is being done for as long as the set is held.
func (d *Datastore) say(set *guards, operation, object, message string) {
	running := d.says.Begin(activity.Activity{Store: d.path, Operation: operation, Object: object, Message: message})
	if running != nil {
		set.add(running)
	}
}

// alsoSaying gives the function for progress that tells others, too.
func alsoSaying(says *activity.Publisher, opts Options) func(Progress) {
	show := opts.Events.Progress
	if len(opts.Activities.Dirs) == 0 {
		return show
	}
	return func(p Progress) {
		says.Progress(p.Operation, p.Object, p.Done, p.Total, p.Items)
		if show != nil {
			show(p)
		}
	}
}

// informer knows what processes are doing. It is for one look.
type informer struct {
	store  *Datastore
	reader *activity.Reader
	tasks  []backupinfo.UPID
	name   string // of the store, to the server
}

func (d *Datastore) informer() *informer {
	n := &informer{store: d, reader: activity.NewReader(activity.Place(d.opts.Activities))}
	if served, err := d.served(); err == nil && served != nil {
		n.name = served.Name
		n.tasks = activeTasks(d.opts.Server.Log)
	}
	return n
}

// activities are those of a holder that concern this store and the thing, named
// relative to the store; "" is the store as a whole. Where none is about just that
// thing, all count.
func (n *informer) activities(h flock.Holder, thing string) (some []Activity) {
	var all []Activity
	for _, a := range n.reader.Of(activity.Process{PID: h.PID, Start: h.Ticks}, h.UID) {
		if !n.isStore(a.Store) {
			continue
		}
		all = append(all, Activity(a))
		if thing == "" || related(a.Object, thing) {
			some = append(some, Activity(a))
		}
	}
	if len(some) == 0 {
		return all
	}
	return some
}

// isStore compares paths only: what another user wrote must not make us look at a
// file system that hangs.
func (n *informer) isStore(path string) bool {
	if path == n.store.path {
		return true
	}
	resolved, err := filepath.EvalSymlinks(n.store.path)
	return err == nil && path == resolved
}

func related(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// maxSaid is how many activities a message repeats.
const maxSaid = 3

// doing is what a holder is at, in words.
func (n *informer) doing(h flock.Holder, thing string) string {
	var parts []string
	for _, a := range n.activities(h, thing) {
		parts = append(parts, a.String())
	}
	for _, task := range n.tasksOf(h, thing) {
		parts = append(parts, "task "+task.String())
	}
	if more := len(parts) - maxSaid; more > 0 {
		parts = append(parts[:maxSaid], "…")
	}
	return strings.Join(parts, "; ")
}

// explained adds to a refusal what the holders of the locks are doing.
func (d *Datastore) explained(err error) error {
	var n *informer
	for locked := range lockedErrors(err) {
		if n == nil {
			n = d.informer()
		}
		thing, inStore := strings.CutPrefix(locked.Path, d.path+"/")
		if !inStore || thing == lockFileName {
			thing = ""
		}
		for i, h := range locked.Holders {
			locked.Holders[i].Doing = n.doing(h, thing)
		}
	}
	return err
}

// lockedErrors goes through all refusals in an error.
func lockedErrors(err error) func(yield func(*flock.LockedError) bool) {
	return func(yield func(*flock.LockedError) bool) { eachLocked(err, yield) }
}

func eachLocked(err error, yield func(*flock.LockedError) bool) bool {
	switch e := err.(type) { //nolint:errorlint // it takes the tree apart itself
	case *flock.LockedError:
		return yield(e)
	case interface{ Unwrap() error }:
		return eachLocked(e.Unwrap(), yield)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if !eachLocked(one, yield) {
				return false
			}
		}
	}
	return true
}

package storelock

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Info describes an object in a lock store.
type Info struct {
	Name string // such as "locks/023f6718cabcce8c"
	Lock        // zero if Err is not nil

	// Err is why the object is no lock that can be read. It counts as an
	// exclusive one until it is stale.
	Err error

	// Waiting: a ticket in the queue, which keeps nobody out.
	Waiting bool

	// Watched is for how long we have seen the object unchanged, Left how much longer it
	// takes until it is stale, by our own clock.
	Watched, Left time.Duration

	// Dead: its owner is proven not to run any more.
	Dead bool
}

// Foreign says that the object was not written by this package, but by a Borg.
func (i Info) Foreign() bool { return i.Err == nil && i.Instance == "" }

// String describes it in words, such as
//
//	exclusively by "host@1+pbs-like" pid 4711 ("pbs-like", user "0"), since 2026-01-02T03:04:05Z, refreshed at …
func (i Info) String() string {
	if i.Err != nil {
		return fmt.Sprintf("by the unreadable object %q (%v): stale in %v, or cleared by breaking the lock", i.Name, i.Err, i.Left.Round(time.Second))
	}
	var b strings.Builder
	if i.Exclusive {
		b.WriteString("exclusively")
	} else {
		b.WriteString("shared")
	}
	fmt.Fprintf(&b, " by %s pid %d", strconv.Quote(i.HostID), i.PID)
	if i.Command != "" || i.User != "" {
		fmt.Fprintf(&b, " (%s, user %s)", strconv.Quote(i.Command), strconv.Quote(i.User))
	}
	if i.Message != "" {
		fmt.Fprintf(&b, " for %s", strconv.Quote(i.Message))
	}
	if !i.Since.IsZero() {
		fmt.Fprintf(&b, ", since %s", i.Since.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(&b, ", refreshed at %s by its own clock", i.Time.UTC().Format(time.RFC3339))
	fmt.Fprintf(&b, ", unchanged for %v, stale after %v more", i.Watched.Round(time.Second), max(i.Left, 0).Round(time.Second))
	return b.String()
}

func (s *seen) info(name string, cfg *config, now instant) Info {
	i := Info{Name: name, Lock: s.lock, Err: s.err, Watched: now.watched(s.since), Left: s.left(cfg, now)}
	i.Dead = s.err == nil && s.loaded && cfg.dead(s.lock)
	return i
}

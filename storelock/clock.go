package storelock

import (
	"time"

	"golang.org/x/sys/unix"
)

// An instant is one moment on each of the clocks that we have. No two hosts ever
// compare theirs, so each is only good for telling how long something took.
type instant struct {
	mono time.Duration // does not go on while the machine is suspended
	boot time.Duration // does
	wall time.Time     // goes on while a virtual machine is paused, and may be set
}

// watched is how long something was seen at least: what the slowest clock says.
// The others may only be taken as a sign that more time went by than we know.
func (now instant) watched(since instant) time.Duration { return now.mono - since.mono }

// age is how long ago something may have been at most: what the fastest clock says.
func (now instant) age(since instant) time.Duration {
	return max(now.mono-since.mono, now.boot-since.boot, now.wall.Sub(since.wall))
}

// wentBack says whether the wall clock was set back, so that it can't show a pause.
func (now instant) wentBack(since instant) bool {
	return now.wall.Sub(since.wall)+clockSlack < now.mono-since.mono
}

// clockSlack is what the clocks of one machine may differ by without meaning
// anything: they are read one after the other, and the wall clock is slewed.
const clockSlack = time.Second

// A clock tells the time and waits.
type clock interface {
	now() instant
	// after is closed, or sends, when so much time has gone by; stop frees it.
	after(d time.Duration) (c <-chan time.Time, stop func())
}

type systemClock struct{ start time.Time }

func newSystemClock() systemClock { return systemClock{start: time.Now()} }

func (c systemClock) now() instant {
	t := time.Now()
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		boot = unix.Timespec{} // a kernel without it: the two others remain
	}
	// Round takes the monotonic reading away, which Sub would use otherwise.
	return instant{mono: t.Sub(c.start), boot: time.Duration(boot.Nano()), wall: t.Round(0)}
}

func (systemClock) after(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

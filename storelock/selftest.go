package storelock

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"
)

// SelfTestOptions say how much a store is tested. The zero value is enough.
type SelfTestOptions struct {
	Rounds int           // 0: 5
	MaxLag time.Duration // how long listings may be behind; 0: 10 seconds

	// Peer is a word that is given to the same test on another host: then the two
	// find each other in the store, and each looks whether it sees what the other one
	// does. Letters, digits and "-"; a new one for each test. Empty: no other host.
	Peer     string
	PeerWait time.Duration // how long the other one may take to begin; 0: 5 minutes

	clock clock
}

// Report has what a self-test has measured: the longest of each.
type Report struct {
	Rounds                      int
	List, Load, Store, Delete   time.Duration // how long a call took
	StoreVisible, DeleteVisible time.Duration // how long after it returned a listing did not show it
	RecheckDelay                time.Duration // what follows from it, for Options

	// The same between two hosts, from having answered until the other's next step
	// was seen: more than it really was. 0: no other host.
	PeerStoreVisible, PeerDeleteVisible time.Duration
}

// String has all figures in one line.
func (r Report) String() string {
	peer := ""
	if r.PeerStoreVisible > 0 {
		peer = fmt.Sprintf("; the other host's answer seen after %v, its deletion after %v", r.PeerStoreVisible, r.PeerDeleteVisible)
	}
	return fmt.Sprintf("%d rounds: list %v, load %v, store %v, delete %v; listed %v after storing, not listed any more %v after deleting%s; recheck delay %v",
		r.Rounds, r.List, r.Load, r.Store, r.Delete, r.StoreVisible, r.DeleteVisible, peer, r.RecheckDelay)
}

// SelfTest finds out whether a store keeps the promises that the lock rests on, and how
// fast it is. It writes below "probe/" and removes that again. An error wraps
// ErrStore if a promise was broken, and says which one; another one is the store's.
//
// One host can't find out what another one sees, as caches are coherent with
// themselves: see SelfTestOptions.Peer.
func SelfTest(ctx context.Context, backend Backend, opts SelfTestOptions) (Report, error) {
	if err := checkWord(opts.Peer); err != nil {
		return Report{}, err
	}
	t := &selfTest{ctx: ctx, b: backend, clock: opts.clock, maxLag: orElse(opts.MaxLag, 10*time.Second)}
	if t.clock == nil {
		t.clock = newSystemClock()
	}
	if opts.Rounds <= 0 {
		opts.Rounds = 5
	}
	for range opts.Rounds {
		if err := t.round(); err != nil {
			return t.report, err
		}
		t.report.Rounds++
	}
	if opts.Peer != "" {
		if err := t.peers(opts.Peer, orElse(opts.PeerWait, defaultPeerWait), opts.Rounds); err != nil {
			return t.report, err
		}
	}
	t.report.RecheckDelay = t.recheck()
	return t.report, nil
}

type selfTest struct {
	ctx    context.Context
	b      Backend
	clock  clock
	maxLag time.Duration
	report Report
}

// recheck is far above what was seen, because the worst case was not.
func (t *selfTest) recheck() time.Duration {
	lag := max(t.report.StoreVisible, t.report.DeleteVisible, t.report.PeerStoreVisible, t.report.PeerDeleteVisible)
	if lag == 0 && t.report.Store < defaultRecheck {
		return defaultRecheck
	}
	return max(defaultRecheck, 4*lag+2*t.report.List, 2*t.report.Store).Round(time.Millisecond)
}

func (t *selfTest) round() error {
	data := []byte(randomInstance())
	key := keyFor(data)
	name := probePrefix + "/" + key
	defer func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(t.ctx), cleanupTime)
		defer stop()
		_ = t.b.Delete(ctx, name)
	}()
	if _, err := t.b.Load(t.ctx, name); !isNotFound(err) {
		return t.broken("an object that was never stored is not \"not found\": %v", err)
	}
	if err := t.timed(&t.report.Store, func() error { return t.b.Store(t.ctx, name, data) }); err != nil {
		return err
	}
	if err := t.visible(key, true, &t.report.StoreVisible); err != nil {
		return err
	}
	if err := t.loads(name, data); err != nil {
		return err
	}
	if err := t.timed(&t.report.Delete, func() error { return t.b.Delete(t.ctx, name) }); err != nil {
		return err
	}
	if err := t.visible(key, false, &t.report.DeleteVisible); err != nil {
		return err
	}
	if _, err := t.b.Load(t.ctx, name); !isNotFound(err) {
		return t.broken("an object that was deleted is still there: %v", err)
	}
	return nil
}

func (t *selfTest) loads(name string, data []byte) error {
	var got []byte
	err := t.timed(&t.report.Load, func() (err error) {
		got, err = t.b.Load(t.ctx, name)
		return err
	})
	switch {
	case isNotFound(err):
		return t.broken("%q was stored and is not there", name)
	case err != nil:
		return err
	case !bytes.Equal(got, data):
		return t.broken("%q has other bytes than were stored", name)
	}
	return nil
}

// visible waits until listings say what is true, and say so twice.
func (t *selfTest) visible(key string, want bool, lag *time.Duration) error {
	start := t.clock.now()
	for right := 0; right < 2; {
		var keys []string
		began := t.clock.now().watched(start)
		err := t.timed(&t.report.List, func() (err error) {
			keys, err = t.b.List(t.ctx, probePrefix)
			return err
		})
		if err != nil {
			return err
		}
		if slices.Contains(keys, key) == want {
			right++
			continue
		}
		right = 0
		*lag = max(*lag, t.clock.now().watched(start))
		if began > t.maxLag {
			return t.broken("listings are more than %v behind", t.maxLag)
		}
		c, stop := t.clock.after(time.Millisecond)
		<-c
		stop()
	}
	return nil
}

func (t *selfTest) timed(longest *time.Duration, call func() error) error {
	start := t.clock.now()
	err := call()
	*longest = max(*longest, t.clock.now().watched(start))
	return err
}

func (t *selfTest) broken(format string, args ...any) error {
	return fmt.Errorf("%w: %q: "+format, append([]any{ErrStore, t.b.String()}, args...)...)
}

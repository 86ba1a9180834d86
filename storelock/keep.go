package storelock

import "time"

// keeping says when our lock has to be renewed, and when it has to be given up:
// values and times, no store.
type keeping struct {
	cfg       *config
	confirmed instant // when the call began that stored the object which counts
	failing   bool    // no renewal was successful since
	since     instant // when the first one began that was not
}

// due says whether it is time to renew.
func (k *keeping) due(now instant) bool {
	return now.age(k.confirmed) >= k.cfg.refreshAfter() || k.failing || now.wentBack(k.confirmed)
}

// doubtful says whether the store has to be asked before a step that can't be
// taken back: the refresher is late, so we may have slept.
func (k *keeping) doubtful(now instant) bool {
	return now.age(k.confirmed) > k.cfg.doubtAfter() || now.wentBack(k.confirmed)
}

// valid says whether nobody can have taken us for dead yet.
func (k *keeping) valid(now instant) bool {
	return now.age(k.confirmed) <= k.cfg.validFor() && !now.wentBack(k.confirmed)
}

func (k *keeping) succeeded(mine object) {
	k.confirmed, k.failing = mine.began, false
}

func (k *keeping) failed(began instant) {
	if !k.failing {
		k.failing, k.since = true, began
	}
}

// lost says whether we have to give up, because the store has kept failing until
// others may take over. Who wakes up with an object that is too old already has
// not failed yet: nobody else may have been there.
func (k *keeping) lost(now instant) bool {
	return k.failing && !k.valid(now) && now.watched(k.since) >= k.cfg.grace()
}

// next is how long to wait before looking at the clocks again. It is not the whole
// time to the next renewal, because timers stand still while the machine is suspended.
func (k *keeping) next(now instant) time.Duration {
	if k.failing {
		return max(k.cfg.stale/60, time.Millisecond)
	}
	left := k.cfg.refreshAfter() - now.age(k.confirmed)
	return max(min(left, k.cfg.stale/20), time.Millisecond)
}

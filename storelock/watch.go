package storelock

import (
	"time"

	"github.com/cespare/xxhash/v2"
)

// seen is one object as we have watched it.
type seen struct {
	since  instant // since when it has not changed
	lock   Lock
	err    error  // why it is no lock that can be read
	sum    uint64 // of its bytes, or of the error
	loaded bool
	fixed  bool // its key is made of its content: it need not be loaded again

	missing int     // so often it was listed and not there
	missed  instant // when that was so first
}

// foreign says that it was not written by this package, as far as can be told.
func (s *seen) foreign() bool { return s.err != nil || s.lock.Instance == "" }

// exclusive says whether nobody may be beside it. Of what can't be read that
// is not known, so it is.
func (s *seen) exclusive() bool { return s.err != nil || s.lock.Exclusive }

// A watch remembers which objects were there, and since when each of them has been
// the same on our own clock. That is the only thing that makes one stale on
// which nothing is proven: a live holder shows a new key at every refresh.
type watch map[string]*seen

// listed takes in a listing. What is not in it was gone for a moment at least,
// and is watched from the beginning if it comes back.
func (w watch) listed(keys []string, now instant) {
	there := make(map[string]bool, len(keys))
	for _, key := range keys {
		there[key] = true
		if w[key] == nil {
			w[key] = &seen{since: now}
		}
	}
	for key := range w {
		if !there[key] {
			delete(w, key)
		}
	}
}

// hasForeign says whether anything is there that this package has not written.
func (w watch) hasForeign() bool {
	for _, s := range w {
		if s.loaded && s.foreign() {
			return true
		}
	}
	return false
}

// unknown are the keys of which the content has to be loaded.
func (w watch) unknown(keys []string) (load []string) {
	for _, key := range keys {
		if s := w[key]; s != nil && !s.fixed {
			load = append(load, key)
		}
	}
	return load
}

// loaded takes in what an object turned out to be.
func (w watch) loaded(key string, data []byte, err error, now instant) {
	s := w[key]
	if s == nil {
		return
	}
	next := seen{since: s.since, loaded: true, err: err}
	if isNotFound(err) {
		next.missing, next.missed = s.missing, s.missed
	}
	if err == nil {
		next.sum = xxhash.Sum64(data)
		next.lock, next.err = decode(data)
		next.fixed = namesItself(key, data)
	} else {
		next.sum = xxhash.Sum64String(err.Error())
	}
	if s.loaded && s.sum != next.sum {
		next.since = now // somebody writes to it
	}
	*s = next
}

// period is how long an object has to be watched. The owner's word counts if it
// asks for more, since it refreshes at a third of it; a Borg's is fixed.
func (s *seen) period(cfg *config) time.Duration {
	switch {
	case s.err != nil:
		return cfg.stale
	case s.foreign():
		return max(cfg.stale, cfg.foreignStale)
	}
	return max(cfg.stale, s.lock.Stale)
}

// left is how long the object has still to be watched before it is stale.
func (s *seen) left(cfg *config, now instant) time.Duration {
	return s.period(cfg) - now.watched(s.since)
}

// stale says whether the owner must be gone, or has no right to it any more.
func (s *seen) stale(cfg *config, now instant) bool {
	if !s.loaded {
		return false
	}
	if cfg.rules.stampDecides && s.err == nil {
		return now.wall.Sub(s.lock.Time) > cfg.stale
	}
	return s.left(cfg, now) <= 0 || s.err == nil && cfg.dead(s.lock)
}

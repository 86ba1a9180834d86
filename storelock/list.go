package storelock

import (
	"context"
	"errors"
	"slices"
)

// List tells what is in a lock's store: who holds it or is about to, who waits,
// and what can't be read. It changes nothing. What vanishes meanwhile is left out.
func List(ctx context.Context, backend Backend, opts Options) ([]Info, error) {
	s, err := newSession(backend, opts)
	if err != nil {
		return nil, err
	}
	w := s.remembered()
	locks, err := s.survey(ctx, locksPrefix, w)
	if err != nil {
		return nil, err
	}
	tickets, err := s.survey(ctx, queuePrefix, watch{})
	for i := range tickets {
		tickets[i].Waiting = true
	}
	s.remember(w)
	return append(locks, tickets...), err
}

// survey looks once at everything below a prefix.
func (s *session) survey(ctx context.Context, prefix string, w watch) (infos []Info, err error) {
	a := s.do(ctx, list(prefix))
	if a.err != nil {
		return nil, a.err
	}
	keys := slices.Sorted(slices.Values(a.keys))
	w.listed(keys, s.clock.now())
	for _, key := range w.unknown(keys) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		got := s.do(ctx, load(prefix+"/"+key))
		if isNotFound(got.err) {
			delete(w, key)
			continue
		}
		w.loaded(key, got.data, got.err, s.clock.now())
	}
	now := s.clock.now()
	for _, key := range keys {
		if seen := w[key]; seen != nil {
			infos = append(infos, seen.info(prefix+"/"+key, &s.cfg, now))
		}
	}
	return infos, nil
}

// BreakOptions say what is removed. The zero value removes what is provably stale
// at the first look.
type BreakOptions struct {
	// Watch objects until each of them has changed, is gone, or is stale: that
	// takes a stale time at most.
	Watch bool

	// Force removes everything, by its name and without reading it. Who holds the
	// lock finds out when it looks, and loses its work.
	Force bool
}

// Break removes what keeps others from the lock, and tells what that was. An error for one
// object does not keep it from the others.
func Break(ctx context.Context, backend Backend, opts Options, how BreakOptions) ([]Info, error) {
	s, err := newSession(backend, opts)
	if err != nil {
		return nil, err
	}
	if how.Force {
		return s.breakAll(ctx)
	}
	return s.breakStale(ctx, how.Watch)
}

func (s *session) breakAll(ctx context.Context) (removed []Info, err error) {
	for _, prefix := range []string{locksPrefix, queuePrefix, probePrefix} {
		a := s.do(ctx, list(prefix))
		err = errors.Join(err, a.err)
		for _, key := range a.keys {
			if ctx.Err() != nil {
				return removed, context.Cause(ctx)
			}
			info := Info{Name: prefix + "/" + key, Waiting: prefix == queuePrefix}
			// For the report only: an object that can't be read goes as well.
			if got := s.do(ctx, load(info.Name)); got.err != nil {
				info.Err = got.err
			} else {
				info.Lock, info.Err = decode(got.data)
			}
			switch a := s.do(ctx, remove(info.Name)); {
			case a.err == nil:
				removed = append(removed, info)
			case !isNotFound(a.err):
				err = errors.Join(err, a.err)
			}
		}
	}
	return removed, err
}

func (s *session) breakStale(ctx context.Context, watching bool) (removed []Info, err error) {
	w := s.remembered()
	defer func() { s.remember(w) }()
	first := map[string]bool{}
	var failures error
	for look := 0; ; look++ {
		infos, err := s.survey(ctx, locksPrefix, w)
		if err != nil {
			return removed, errors.Join(failures, err)
		}
		waitFor := false
		for _, i := range infos {
			key := keyOf(i.Name)
			if look == 0 {
				first[key] = true
			}
			switch {
			case !first[key]: // came later: its owner lives
			case w[key].stale(&s.cfg, s.clock.now()):
				delete(first, key)
				a := s.do(ctx, remove(i.Name))
				if a.err != nil && !isNotFound(a.err) {
					failures = errors.Join(failures, a.err)
					continue
				}
				removed = append(removed, i)
			default:
				waitFor = true
			}
		}
		if !watching || !waitFor {
			return removed, failures
		}
		if s.pause(ctx, s.cfg.stale/60) != nil {
			return removed, errors.Join(failures, context.Cause(ctx))
		}
	}
}

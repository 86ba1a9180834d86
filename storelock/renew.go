package storelock

import "errors"

// outcome is how a machine ended.
type outcome uint8

const (
	running outcome = iota
	renewed         // the new object is the one that counts
	gone            // the old one was not there: somebody has taken us for dead
	unsure          // the store failed, and the old object still counts
)

type renewPhase uint8

const (
	renewProve renewPhase = iota // the old object is being loaded
	renewStore
	renewProveAgain
	renewSettle // others may not see the new one yet
	renewDelete
	renewUndo // the new one is being deleted
)

// renewal replaces our object by a new one, and proves that there was no moment
// without one of the two:
//
//	old is there → store new → old is still there → (wait) → delete old
//
// Who has deleted the old one, because it was stale for it, did that before our
// second look, and then we give up; or after it, and then its next listing has the
// new one.
type renewal struct {
	cfg   *config
	old   object
	new   object
	phase renewPhase
	end   outcome
	err   error    // why it is unsure
	left  []string // names that may still be there
	lost  bool     // the answer to storing the new one: it may arrive later
}

func renew(cfg *config, old object, next Lock, now instant) (renewal, request) {
	next.Sequence = old.lock.Sequence
	r := renewal{cfg: cfg, old: old, new: newObject(next, now, cfg)}
	if cfg.rules.noContinuity {
		r.phase = renewStore
		return r, store(r.new)
	}
	return r, load(old.name)
}

func (r *renewal) step(now instant, a answer) request {
	switch r.phase {
	case renewProve:
		if a.err != nil {
			return r.ended(a.err)
		}
		// From here on counts: what others have seen of the new one began later.
		r.new.began = now
		r.phase = renewStore
		return store(r.new)
	case renewStore:
		if a.err != nil {
			if r.lost = mayArrive(a.err); !r.lost {
				return r.ended(a.err)
			}
			return r.undo(a.err)
		}
		if r.cfg.rules.noContinuity {
			return r.settle()
		}
		r.phase = renewProveAgain
		return load(r.old.name)
	case renewProveAgain:
		if a.err != nil {
			return r.undo(a.err)
		}
		return r.settle()
	case renewSettle:
		if a.err != nil {
			return r.undo(a.err) // called off before others see the new one: the old one stays
		}
		r.phase = renewDelete
		return remove(r.old.name)
	case renewDelete:
		if a.err != nil && !errors.Is(a.err, ErrNotFound) {
			r.left = append(r.left, r.old.name)
		}
		r.end = renewed
	case renewUndo:
		if a.err != nil && (r.lost || !isNotFound(a.err)) {
			r.left = append(r.left, r.new.name)
		}
		r.finish(r.err)
	}
	return request{op: opDone}
}

// settle leaves both there until any listing shows the new one, so that none
// can show neither.
func (r *renewal) settle() request {
	r.phase = renewSettle
	if r.cfg.rules.hastyRefresh {
		return wait(0)
	}
	return wait(r.cfg.recheck)
}

func (r *renewal) undo(why error) request {
	r.err, r.phase = why, renewUndo
	return remove(r.new.name)
}

func (r *renewal) ended(err error) request {
	r.finish(err)
	return request{op: opDone}
}

func (r *renewal) finish(err error) {
	r.err, r.end = err, unsure
	if errors.Is(err, ErrNotFound) {
		r.end = gone
	}
}

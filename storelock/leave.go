package storelock

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

func isNotFound(err error) bool { return errors.Is(err, ErrNotFound) }

// mayArrive says whether an object may be there, or appear yet, whose Store gave an error.
func mayArrive(err error) bool { return err != nil && !errors.Is(err, ErrNotStored) }

func failed(err error) error { return fmt.Errorf("%w: %w", ErrFailed, err) }

// blocked is what a wait that is over has to tell. Its holders are filled in by who
// knows the store's name.
type blocked struct {
	waited  time.Duration
	holders []string // their keys
	stuck   error    // a stale object that could not be removed
}

func (b *blocked) Error() string { return "others hold the lock" }

func (m *acquisition) giveUp(now instant) request {
	b := &blocked{waited: now.watched(m.began), holders: m.blockers(now)}
	// Whether others would have let us in is not known if our object could not be stored.
	if m.broken != nil && (len(b.holders) == 0 || m.denied > 0) {
		return m.quit(failed(m.broken))
	}
	for _, s := range m.stuck {
		b.stuck = errors.Join(b.stuck, s.err)
	}
	return m.quit(b)
}

// blockers are the keys of the objects that keep us from having the lock.
func (m *acquisition) blockers(now instant) (holders []string) {
	for _, key := range m.keys {
		if s := m.watch[key]; m.counts(s, now) && (m.cfg.exclusive || s.exclusive()) {
			holders = append(holders, key)
		}
	}
	return holders
}

// cancel makes the next step leave.
func (m *acquisition) cancel(cause error) {
	if m.cause == nil {
		m.cause = cause
	}
}

// abandon is the step after cancel: what was under way may have had its effect.
func (m *acquisition) abandon(a answer) request {
	switch m.phase {
	case phaseCreate:
		if mayArrive(a.err) {
			m.left = append(m.left, m.mine.name)
		}
	case phaseRenew:
		if m.renewal.phase != renewProve {
			m.left = append(m.left, m.renewal.new.name)
		}
	case phaseTicket:
		if mayArrive(a.err) {
			m.left = append(m.left, m.queue.mine)
		}
	case phaseYield:
		if a.err != nil && !isNotFound(a.err) {
			m.left = append(m.left, m.mine.name)
		}
	case phaseTidy:
		if a.err != nil && !isNotFound(a.err) {
			m.left = append(m.left, m.queue.tidy)
		}
	case phaseList, phaseLoad, phaseClear, phaseQueue, phasePause, phaseLeave:
	}
	return m.quit(m.cause)
}

// quit deletes everything that is or may be ours, and then ends with the error.
func (m *acquisition) quit(err error) request {
	m.cause, m.err, m.phase = err, err, phaseLeave
	m.leave = nil
	for _, name := range append([]string{m.mine.name, m.queue.ticket(), m.queue.old}, m.left...) {
		if name != "" && !slices.Contains(m.leave, name) {
			m.leave = append(m.leave, name)
		}
	}
	return m.leaveNext()
}

func (m *acquisition) leaveNext() request {
	if len(m.leave) == 0 {
		return request{op: opDone}
	}
	return remove(m.leave[0])
}

func (m *acquisition) didLeave(a answer) request {
	name := m.leave[0]
	m.leave = m.leave[1:]
	switch {
	case a.err == nil: // it had arrived, and does so once
		m.left = slices.DeleteFunc(m.left, func(left string) bool { return left == name })
	case !isNotFound(a.err) && !slices.Contains(m.left, name):
		m.left = append(m.left, name)
	}
	return m.leaveNext()
}

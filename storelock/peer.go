package storelock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// defaultPeerWait is how long the other host may take to begin.
const defaultPeerWait = 5 * time.Minute

// peerTest is one side of a test between two hosts, which talk by objects below
// "probe/": first each says who it is, then they take turns. The lesser one stores
// message 0, the other answers with 1, and so on; who sees the answer deletes what it
// was an answer to. What each measures is by its own clock: from having stored to
// seeing what comes next, which is more than any one listing was behind.
type peerTest struct {
	*selfTest
	word, me, other string
}

// peers runs the test. The caller has tested the store by itself.
func (t *selfTest) peers(word string, wait time.Duration, rounds int) error {
	p := &peerTest{selfTest: t, word: word, me: randomInstance()}
	hello := p.hello(p.me)
	defer p.removeAll(2 * rounds)
	if err := t.b.Store(t.ctx, p.name(hello), hello); err != nil {
		return err
	}
	if err := p.meet(wait); err != nil {
		return err
	}
	for n := range 2 * rounds {
		if err := p.turn(n); err != nil {
			return err
		}
	}
	return p.part(2 * rounds)
}

func (p *peerTest) name(data []byte) string { return probePrefix + "/" + keyFor(data) }

func (p *peerTest) hello(who string) []byte { return []byte("peer " + p.word + " " + who) }

// message is known to both before it is stored, so that the receiver can look for it
// too early: some caches remember what was not there.
func (p *peerTest) message(n int) []byte {
	return []byte("peer " + p.word + " " + min(p.me, p.other) + " " + max(p.me, p.other) + " " + strconv.Itoa(n))
}

func (p *peerTest) mine(n int) bool { return (n%2 == 0) == (p.me < p.other) }

// meet waits for the other host.
func (p *peerTest) meet(wait time.Duration) error {
	prefix := p.hello("")
	start := p.clock.now()
	for {
		keys, err := p.b.List(p.ctx, probePrefix)
		if err != nil {
			return err
		}
		for _, key := range keys {
			data, err := p.b.Load(p.ctx, probePrefix+"/"+key)
			who, ok := bytes.CutPrefix(data, prefix)
			if err == nil && ok && len(who) == len(p.me) && string(who) != p.me {
				p.other = string(who)
				return nil
			}
		}
		if p.clock.now().watched(start) > wait {
			return fmt.Errorf("%q: nobody else tests with the word %q after %v", p.b.String(), p.word, wait)
		}
		if err := p.rest(50 * time.Millisecond); err != nil {
			return err
		}
	}
}

// turn is message n, from one side or the other.
func (p *peerTest) turn(n int) error {
	data := p.message(n)
	if p.mine(n) {
		if n >= 2 { // its answer was seen
			if err := p.b.Delete(p.ctx, p.name(p.message(n-2))); err != nil {
				return err
			}
		}
		return p.b.Store(p.ctx, p.name(data), data)
	}
	if _, err := p.b.Load(p.ctx, p.name(data)); err != nil && !isNotFound(err) {
		return err
	}
	lag := &p.report.PeerStoreVisible
	if n < 2 {
		lag = nil // the other may not know of us yet
	}
	if err := p.await(keyFor(data), true, lag); err != nil {
		return err
	}
	if err := p.loads(p.name(data), data); err != nil || n < 2 {
		return err
	}
	// It was deleted before this one was stored.
	gone := p.message(n - 2)
	if err := p.await(keyFor(gone), false, &p.report.PeerDeleteVisible); err != nil {
		return err
	}
	if _, err := p.b.Load(p.ctx, p.name(gone)); !isNotFound(err) {
		return p.broken("an object that the other host has deleted is still there: %v", err)
	}
	return nil
}

// part waits until the last message was seen, which nobody answers: both say so by
// deleting what they said first.
func (p *peerTest) part(n int) error {
	if err := p.b.Delete(p.ctx, p.name(p.hello(p.me))); err != nil && !isNotFound(err) {
		return err
	}
	return p.await(keyFor(p.hello(p.other)), false, nil)
}

// await looks until listings say that a key is there, or is not any more.
func (p *peerTest) await(key string, want bool, lag *time.Duration) error {
	start := p.clock.now()
	for {
		keys, err := p.b.List(p.ctx, probePrefix)
		took := p.clock.now().watched(start)
		switch {
		case err != nil:
			return err
		case slices.Contains(keys, key) == want:
			if lag != nil {
				*lag = max(*lag, took)
			}
			return nil
		case took > p.maxLag:
			return p.broken("what the other host does is not seen after %v (or the other test has ended)", p.maxLag)
		}
		if err := p.rest(time.Millisecond); err != nil {
			return err
		}
	}
}

func (p *peerTest) rest(d time.Duration) error {
	c, stop := p.clock.after(d)
	defer stop()
	select {
	case <-c:
		return nil
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

// removeAll leaves nothing of ours behind.
func (p *peerTest) removeAll(n int) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(p.ctx), cleanupTime)
	defer stop()
	_ = p.b.Delete(ctx, p.name(p.hello(p.me)))
	for i := range n {
		if p.other != "" && p.mine(i) {
			_ = p.b.Delete(ctx, p.name(p.message(i)))
		}
	}
}

var errPeerWord = errors.New("the word for a test between two hosts may have letters, digits and \"-\" only")

func checkWord(word string) error {
	for _, c := range word {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return fmt.Errorf("%w: %w: %q", ErrOptions, errPeerWord, word)
		}
	}
	return nil
}

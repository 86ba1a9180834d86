package mount

import (
	"sync"
	"time"
)

// problems tells each problem once in a while: a program that reads a damaged file asks many times.
type problems struct {
	events Events

	mu   sync.Mutex
	told map[string]time.Time
}

const (
	tellAgain    = time.Minute
	maxTold      = 1024
	maxProblemID = 512 // bytes
)

func newProblems(events Events) *problems {
	return &problems{events: events, told: map[string]time.Time{}}
}

func (p *problems) report(path string, err error) {
	if p.events.Problem != nil && p.isNew(path+"\x00"+err.Error(), time.Now()) {
		p.events.Problem(path, err)
	}
}

func (p *problems) hidden(path string, count int, first error) {
	if p.events.Hidden != nil && count > 0 && p.isNew(path+"\x00hidden", time.Now()) {
		p.events.Hidden(path, count, first)
	}
}

func (p *problems) isNew(id string, now time.Time) bool {
	id = id[:min(len(id), maxProblemID)]
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, known := p.told[id]; known && now.Sub(at) < tellAgain {
		return false
	}
	if len(p.told) >= maxTold {
		clear(p.told)
	}
	p.told[id] = now
	return true
}

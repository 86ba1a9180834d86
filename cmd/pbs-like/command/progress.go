package command

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"

	"github.com/pbs-like/pbs-like/datastore"
)

// linesEvery is how far apart lines of progress are where there is no terminal:
// seldom enough for the log of a nightly job.
const linesEvery = 30 * time.Second

// progress shows how far the work is: a bar on a terminal, else a line now and then.
type progress struct {
	mu     sync.Mutex
	screen *screen
	bars   bool
	now    func() time.Time

	object string // that the bar or the time belongs to
	bar    *progressbar.ProgressBar
	last   time.Time
}

func newProgress(s *screen, bars bool) *progress {
	return &progress{screen: s, bars: bars, now: time.Now}
}

// update shows the state. Where that is a line, it is the result, to be logged.
func (p *progress) update(state datastore.Progress) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id := state.Operation + " " + state.Object; id != p.object {
		p.endBar()
		p.object, p.last = id, p.now()
	}
	if p.bars {
		p.updateBar(state)
		return ""
	}
	if p.now().Sub(p.last) < linesEvery {
		return ""
	}
	p.last = p.now()
	return progressLine(state)
}

func (p *progress) updateBar(state datastore.Progress) {
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	if p.bar == nil {
		p.bar = p.newBar(state)
		p.screen.wipe = func() { _ = p.bar.Clear() }
	}
	_ = p.bar.Set64(barValue(state.Done))
}

// barValue cuts to what the bar can count; it draws nothing that large anyhow.
func barValue(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

func (p *progress) newBar(state datastore.Progress) *progressbar.ProgressBar {
	total := barValue(state.Total)
	if total == 0 {
		total = -1 // a spinner
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(p.screen.out),
		progressbar.OptionSetDescription(printable(state.Operation + " " + state.Object)),
		progressbar.OptionSetWidth(20),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionUseANSICodes(true),
	}
	if state.Items {
		options = append(options, progressbar.OptionShowCount())
	} else {
		options = append(options, progressbar.OptionShowBytes(true), progressbar.OptionUseIECUnits(true))
	}
	return progressbar.NewOptions64(total, options...)
}

// finish wipes the bar away.
func (p *progress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endBar()
	p.object = ""
}

func (p *progress) endBar() {
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	p.bar, p.screen.wipe = nil, nil
}

func progressLine(state datastore.Progress) string {
	amount := humanize.IBytes
	if state.Items {
		amount = func(n uint64) string { return fmt.Sprint(n) }
	}
	text := fmt.Sprintf("%s %s: %s", state.Operation, state.Object, amount(state.Done))
	if state.Total > 0 {
		text += fmt.Sprintf(" of %s (%.0f %%)", amount(state.Total), 100*float64(state.Done)/float64(state.Total))
	}
	if state.Reused > 0 {
		text += fmt.Sprintf(", %s reused", amount(state.Reused))
	}
	return text
}

package storelock

import (
	"flag"
	"testing"
	"time"
)

var (
	simSteps = flag.Int("sim-steps", 0, "steps of each random walk of the simulator; 0: a few")
	simSeed  = flag.Uint64("sim-seed", 1, "first seed of the random walks")
)

var everything = simOptions{
	clients: 3, recheck: 10 * time.Millisecond, lag: 8 * time.Millisecond,
	skews: true, suspends: true, crashes: true, lostAnswers: true, slow: true,
}

func TestNoExclusiveHolderIsBesideAnotherInRandomWalks(t *testing.T) {
	t.Parallel()
	calm := simOptions{clients: 4, recheck: 10 * time.Millisecond}
	lagging := calm
	lagging.lag = 9 * time.Millisecond
	many := everything
	many.clients = 6
	for name, o := range map[string]simOptions{"calm": calm, "lagging": lagging, "everything": everything, "many": many} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walk(t, o)
		})
	}
}

func walk(t *testing.T, o simOptions) {
	t.Helper()
	const each = 5_000
	steps := *simSteps
	if steps == 0 {
		steps = 400_000
		if testing.Short() {
			steps = 60_000
		}
	}
	held, lost, acts := 0, 0, 0
	for n := range max(steps/each, 1) {
		o.seed, o.steps = *simSeed+uint64(n), each
		s, err := simulate(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.clients {
			held += c.held
			lost += c.lostLocks
		}
		acts += s.acts
	}
	t.Logf("from seed %d: %d steps, held %d times, lost %d times, %d acts", *simSeed, steps, held, lost, acts)
	if held < steps/2000 {
		t.Errorf("held only %d times: the walk goes nowhere", held)
	}
}

// TestSimulatorFindsTheHoles: a checker that finds nothing proves nothing.
func TestSimulatorFindsTheHoles(t *testing.T) {
	t.Parallel()
	base := simOptions{clients: 3, recheck: 10 * time.Millisecond, steps: 5_000}
	for name, change := range map[string]func(*simOptions){
		"a lock that vanishes before it is loaded is passed over": func(o *simOptions) {
			o.rules = rules{skipVanished: true, oneLook: true, hastyRefresh: true}
		},
		"one listing decides": func(o *simOptions) { o.rules = rules{oneLook: true, hastyRefresh: true} },
		"listings lag behind by more than the recheck delay": func(o *simOptions) {
			o.lag = 100 * time.Millisecond
		},
		"listings lag, and a refresh deletes the old object at once": func(o *simOptions) {
			o.lag = 9 * time.Millisecond
			o.rules.hastyRefresh = true
		},
		"the writer's clock is compared with the reader's": func(o *simOptions) {
			o.skews, o.rules.stampDecides = true, true
		},
		"a refresh proves no continuity": func(o *simOptions) {
			o.suspends, o.rules.noContinuity = true, true
		},
		"what is stale is passed over instead of deleted": func(o *simOptions) {
			o.suspends, o.rules.ignoreStale = true, true
		},
		"it is decided at once": func(o *simOptions) {
			o.lag = 9 * time.Millisecond
			o.rules = rules{noRecheck: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(2000) {
				o := base
				o.seed = seed
				change(&o)
				if _, err := simulate(o); err != nil {
					t.Logf("found with seed %d", seed)
					return
				}
			}
			t.Error("not found")
		})
	}
}

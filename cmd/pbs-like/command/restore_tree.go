package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/extractor"
	"github.com/pbs-like/pbs-like/pxar"
)

func (p *program) restoreTree(c *cli.Context, target string) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	if target == "" {
		return usageErrorf("the target is empty")
	}
	return p.withTree(c, func(ds *datastore.Datastore, tree *datastore.Tree) error {
		if err := checkDirOutside(ds.Path(), realDir(filepath.Join(target, "entry")), target); err != nil {
			return err
		}
		opts, err := extractOptions(c, ds.Path())
		if err != nil {
			return err
		}
		tree.ReadAhead(min(runtime.NumCPU(), maxAhead))
		problems := newProblems(p)
		opts.Events = extractor.Events{Problem: problems.add, Progress: func(s extractor.Stats) {
			p.showProgress(datastore.Progress{Operation: "restore", Object: tree.Name().Display(), Done: s.Bytes})
		}}
		stats, err := extractor.Extract(c.Context, tree.Archive, target, opts)
		problems.close()
		switch {
		case err != nil && stats.Restored() == 0:
			return err
		case err != nil:
			return fmt.Errorf("after %s: %w", plural(int(stats.Restored()), "restored entry"), err)
		}
		failed := treeFailure(stats, opts, problems, unmatchedPatterns(c.StringSlice(flagPattern), stats))
		if errors.Is(failed, pxar.ErrNotFound) {
			return failed // there is nothing to tell of
		}
		return errors.Join(p.printTree(format, tree, target, stats), failed)
	})
}

// maxAhead bounds the chunks that are loaded ahead, and with them the memory: a chunk has 4 MiB usually
// and 16 at most, and is there twice, packed and unpacked.
const maxAhead = 3

// unmatchedPatterns are those that were to select something and did not, as they were typed.
func unmatchedPatterns(given []string, s extractor.Stats) string {
	var unmatched []string
	for _, i := range s.Unmatched {
		unmatched = append(unmatched, strconv.Quote(given[i]))
	}
	return strings.Join(unmatched, ", ")
}

// treeFailure is the error of a restore that came to its end.
func treeFailure(s extractor.Stats, opts extractor.Options, problems *problems, unmatched string) error {
	switch {
	case s.Damaged > 0:
		return fmt.Errorf("%w: %s can't be read, and everything else was restored", datastore.ErrCorrupt, plural(int(s.Damaged), "entry"))
	case s.Losses > 0:
		advice := ""
		if problems.exists {
			advice = "; --" + flagOverwrite + " replaces what is there, --" + flagContinue + " leaves what is equal"
		}
		return fmt.Errorf("%w: %s; %s named above%s", errPartly, plural(int(s.Losses), "loss"), problems.shown(s.Losses), advice)
	case len(opts.Patterns) > 0 && s.Restored() <= 1 && s.Skipped+s.Failed == 0: // the target itself
		return fmt.Errorf("no entry matches %s: %w; a pattern is a path, like /etc, or the end of one, like nginx/*.conf", unmatched, pxar.ErrNotFound)
	case unmatched != "":
		return fmt.Errorf("%w: no entry matches %s, and the rest was restored", errPartly, unmatched)
	}
	return nil
}

// shownProblems is how many of a kind are named.
const shownProblems = 10

// noLoss ends the kinds of problems that nobody misses.
const noLoss = " (no loss)"

// problems names the first ones of each kind.
type problems struct {
	p      *program
	counts map[string]int
	exists bool // something is in the way
}

func newProblems(p *program) *problems { return &problems{p: p, counts: map[string]int{}} }

func (l *problems) add(problem extractor.Problem) {
	l.exists = l.exists || errors.Is(problem.Err, extractor.ErrExists)
	kind := problem.Kind
	if !problem.Loss {
		kind += noLoss
	}
	l.counts[kind]++
	if l.counts[kind] > shownProblems {
		return
	}
	l.say(problem.Loss, problem.Error())
}

func (l *problems) say(loss bool, text string) {
	level := zerolog.InfoLevel
	if loss {
		level = zerolog.WarnLevel
	}
	l.p.log.WithLevel(level).Msg(text)
}

// shown tells whether all losses were named.
func (l *problems) shown(losses uint64) string {
	for kind, n := range l.counts {
		if n > shownProblems && !strings.HasSuffix(kind, noLoss) {
			return "the first are"
		}
	}
	if losses == 1 {
		return "it is"
	}
	return "all are"
}

func (l *problems) close() {
	for kind, n := range l.counts {
		if n > shownProblems {
			l.say(!strings.HasSuffix(kind, noLoss), fmt.Sprintf("and %d more of the kind %s", n-shownProblems, kind))
		}
	}
}

package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

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
		if err := checkOutside(ds.Path(), filepath.Join(target, "entry")); err != nil {
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
		if err != nil {
			return fmt.Errorf("after %s: %w", plural(int(stats.Restored()), "restored entry"), err)
		}
		failed := treeFailure(stats, opts, problems)
		return errors.Join(p.printTree(format, tree, target, stats), failed)
	})
}

// maxAhead bounds the chunks that are loaded ahead, and with them the memory: a chunk has 4 MiB usually
// and 16 at most, and is there twice, packed and unpacked.
const maxAhead = 3

// treeFailure is the error of a restore that came to its end.
func treeFailure(s extractor.Stats, opts extractor.Options, problems *problems) error {
	switch {
	case s.Damaged > 0:
		return fmt.Errorf("%w: %s can't be read, and everything else was restored", datastore.ErrCorrupt, plural(int(s.Damaged), "entry"))
	case s.Losses > 0:
		advice := ""
		if problems.exists {
			advice = "; --" + flagOverwrite + " replaces what is there, --" + flagContinue + " leaves what is equal"
		}
		return fmt.Errorf("%w: %s, named above%s", errPartly, plural(int(s.Losses), "loss"), advice)
	case len(opts.Patterns) > 0 && s.Restored() <= 1 && s.Skipped+s.Failed == 0: // the target itself
		return fmt.Errorf("no entry matches: %w", pxar.ErrNotFound)
	}
	return nil
}

// shownProblems is how many of a kind are named.
const shownProblems = 10

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
		kind += " (no loss)"
	}
	l.counts[kind]++
	if l.counts[kind] > shownProblems {
		return
	}
	event := l.p.log.Warn()
	if !problem.Loss {
		event = l.p.log.Info()
	}
	event.Msg(problem.Error())
}

func (l *problems) close() {
	for kind, n := range l.counts {
		if n > shownProblems {
			l.p.log.Warn().Msg(fmt.Sprintf("and %d more of the kind %s", n-shownProblems, kind))
		}
	}
}

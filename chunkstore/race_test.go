package chunkstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/pbs-like/pbs-like/internal/helperproc"
)

const raceChunks = 40

func raceSample(i int) sample { return newSample(byte(i), 3000+i) }

// insertAll inserts every form of all chunks, beginning with another one for each
// offset.
func insertAll(ctx context.Context, s *Store, offset int) error {
	for i := range raceChunks {
		c := raceSample((i + offset) % raceChunks)
		for _, stored := range [][]byte{c.encrypted, c.large, c.small} {
			if _, err := s.Insert(ctx, c.digest, stored); err != nil {
				return err
			}
		}
		if ok, err := s.Reuse(c.digest); !ok || err != nil {
			return errors.Join(err, fmt.Errorf("chunk %s was inserted and is not there", c.digest))
		}
	}
	return nil
}

func TestProcessesAndGoroutinesInsertTheSameChunks(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	s := openStore(t, root, nil)
	var procs []*helperproc.Proc
	for i := range 3 {
		procs = append(procs, helperproc.Start(t, "race", root.Name(), fmt.Sprint(i%2)))
	}
	for _, p := range procs {
		p.WaitReady()
	}
	for _, p := range procs {
		p.Send("go")
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := insertAll(t.Context(), s, i%3); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, p := range procs {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	for i := range raceChunks {
		checkGood(t, s, raceSample(i))
	}
}

// step is one thing that one of several goroutines does.
type raceStep struct {
	chunk  int
	action string
}

func (r raceStep) do(ctx context.Context, s *Store, c sample) error {
	var err error
	switch r.action {
	case "plain":
		_, err = s.Insert(ctx, c.digest, c.large)
	case "compressed":
		_, err = s.Insert(ctx, c.digest, c.small)
	case "reuse":
		_, err = s.Reuse(c.digest)
	case "verify":
		l := s.NewLoader()
		defer l.Close()
		_, err = s.ReuseVerified(c.digest, l)
	case "truncate":
		if err = os.Truncate(s.pathOf(c.digest), 100); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	return err
}

func TestAnyMixOfWritersEndsWithGoodChunks(t *testing.T) {
	t.Parallel()
	samples := []sample{newSample(1, 5000), newSample(2, 6000)}
	rapid.Check(t, func(rt *rapid.T) {
		s := newRapidStore(t, rt)
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) raceStep {
			return raceStep{
				rapid.IntRange(0, 1).Draw(t, "chunk"),
				rapid.SampledFrom([]string{"plain", "compressed", "reuse", "verify", "truncate"}).Draw(t, "action"),
			}
		}), 1, 12).Draw(rt, "steps")
		var all sync.WaitGroup
		for _, step := range steps {
			all.Go(func() {
				// A chunk that is cut off while it is read has not been read to
				// its end.
				if err := step.do(t.Context(), s, samples[step.chunk]); err != nil && step.action != "verify" && !isShort(err) {
					t.Error(step, err)
				}
			})
		}
		all.Wait()
		for _, c := range samples {
			if _, err := s.Insert(t.Context(), c.digest, c.small); err != nil {
				rt.Fatal(err)
			}
			checkGood(t, s, c)
		}
	})
}

func isShort(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }

// newRapidStore is a store for one of many runs in a test.
func newRapidStore(t *testing.T, rt *rapid.T) *Store {
	t.Helper()
	root := newRoot(t)
	s, err := Open(root, Options{})
	if err != nil {
		rt.Fatal(err)
	}
	rt.Cleanup(func() { s.Close(); root.Close() })
	return s
}

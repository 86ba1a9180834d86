package flock

import (
	"errors"
	"os"
	"testing"

	"github.com/pbs-like/pbs-like/internal/helperproc"
)

func TestClassicRecordLocksOfOthersAreMet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ours, theirs string
		busy         bool
	}{
		{"shared", "shared", false},
		{"shared", "exclusive", true},
		{"exclusive", "shared", true},
		{"exclusive", "exclusive", true},
	} {
		t.Run("ours "+c.ours+", theirs "+c.theirs, func(t *testing.T) {
			t.Parallel()
			name := newFile(t)
			try := take["record "+c.ours]

			must(t, try, Ref{Name: name})
			second := helperproc.Start(t, "classic", c.theirs, name)
			second.Expect(map[bool]string{true: "busy", false: "got it"}[c.busy])
			second.Kill()

			name = newFile(t)
			holder := helperproc.Start(t, "classic", c.theirs, name)
			holder.Expect("got it")
			g, err := try(Ref{Name: name})
			if err == nil {
				g.Close()
			}
			var busy *LockedError
			if errors.As(err, &busy) != c.busy {
				t.Fatalf("against a classic lock: %v, want busy %v", err, c.busy)
			}
			if c.busy && (len(busy.Holders) != 1 || busy.Holders[0].PID != holder.PID || busy.Holders[0].Kind != Record) {
				t.Errorf("holders %+v, want pid %d", busy.Holders, holder.PID)
			}
		})
	}
}

func TestRecordLockOutlivesAnotherDescriptorOfTheFile(t *testing.T) {
	t.Parallel()
	name := newFile(t)
	must(t, TryRecordShared, Ref{Name: name})
	for range 3 {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Close() // a classic record lock would be gone now
	}
	second := helperproc.Start(t, "classic", "exclusive", name)
	second.Expect("busy")
}

func TestRecordLockCoversAFileThatGrows(t *testing.T) {
	t.Parallel()
	name := newFile(t)
	g := must(t, TryRecordExclusive, Ref{Name: name})
	if _, err := g.File().WriteAt(make([]byte, 10), 1<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := TryRecordShared(Ref{Name: name}); !errors.Is(err, ErrLocked) {
		t.Errorf("TryRecordShared = %v, want busy", err)
	}
}

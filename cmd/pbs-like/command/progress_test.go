package command

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/datastore"
)

func TestLinesOfProgressComeNowAndThen(t *testing.T) {
	t.Parallel()
	clock := time.Unix(0, 0)
	p := newProgress(&screen{out: io.Discard}, false)
	p.now = func() time.Time { return clock }
	state := datastore.Progress{Operation: "backup", Object: "vm/100/x.img", Done: 1 << 30, Total: 4 << 30, Reused: 1 << 20}
	for range 1000 {
		if line := p.update(state); line != "" {
			t.Fatalf("at once: %q", line)
		}
	}
	clock = clock.Add(linesEvery)
	if got, want := p.update(state), "backup vm/100/x.img: 1.0 GiB of 4.0 GiB (25 %), 1.0 MiB reused"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if line := p.update(state); line != "" {
		t.Errorf("twice: %q", line)
	}
}

func TestALogLineWipesTheBarAway(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &screen{out: &out}
	p := newProgress(s, true)
	p.update(datastore.Progress{Operation: "restore", Object: "a\x1b]0;title\a", Done: 1, Total: 2})
	if _, err := s.Write([]byte("message\n")); err != nil {
		t.Fatal(err)
	}
	p.finish()
	if strings.Contains(out.String(), "\x1b]0;") {
		t.Errorf("a name reaches the terminal raw: %q", out.String())
	}
	before, _, found := strings.Cut(out.String(), "message\n")
	if !found || !strings.HasSuffix(strings.TrimSuffix(before, "\r"), "\x1b[2K") {
		t.Errorf("the bar is not wiped away before the message: %q", out.String())
	}
	if s.wipe != nil {
		t.Error("the bar is still there")
	}
}

package fsoptest_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
)

func tempDir(t *testing.T) *os.File {
	t.Helper()
	d, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// three makes three changes, and stops at the first that fails.
func three(d *fsop.Disk, dir *os.File) error {
	for _, name := range []string{"a", "b", "c"} {
		if err := d.Mkdir(dir, name, 0o700); err != nil {
			return err
		}
	}
	return nil
}

func entries(t *testing.T, dir *os.File) int {
	t.Helper()
	e, err := os.ReadDir(dir.Name())
	if err != nil {
		t.Fatal(err)
	}
	return len(e)
}

func TestFailuresGoesThroughEachChangeBeforeAndAfter(t *testing.T) {
	t.Parallel()
	var runs []string
	for script := range fsoptest.Failures(t, unix.ENOSPC) {
		err := three(script.Disk(), tempDir(t))
		if script.Injected() != errors.Is(err, unix.ENOSPC) {
			t.Errorf("injected %v, but the error is %v", script.Injected(), err)
		}
		runs = append(runs, script.Spec())
	}
	enospc := fmt.Sprintf("-%d", unix.ENOSPC)
	// A failed mkdir that was made is cleaned up with a further change, which
	// is not hit since there is one failure a run.
	want := []string{"fail-before-0", "fail-after-0", "fail-before-1", "fail-after-1", "fail-before-2", "fail-after-2", "fail-before-3"}
	for i := range want {
		want[i] += enospc
	}
	if !slices.Equal(runs, want) {
		t.Errorf("runs %q\nwant %q", runs, want)
	}
}

func TestDeathsFailsAllTheRest(t *testing.T) {
	t.Parallel()
	n := 0
	for script := range fsoptest.Deaths(t, unix.EIO) {
		dir := tempDir(t)
		disk := script.Disk()
		first, second := three(disk, dir), disk.SyncDir(dir)
		if n < 3 && (!errors.Is(first, unix.EIO) || !errors.Is(second, unix.EIO)) {
			t.Errorf("%s: %v, %v", script, first, second)
		}
		if got := entries(t, dir); got != min(n, 3) {
			t.Errorf("%s: %d directories", script, got)
		}
		n++
	}
	if n != 5 { // three directories, the sync, and one undisturbed
		t.Errorf("%d runs", n)
	}
}

// quiet is a test that fails without failing this one.
type quiet struct {
	testing.TB
	failed bool
	logged strings.Builder
}

func (q *quiet) Failed() bool                    { return q.failed }
func (q *quiet) Helper()                         {}
func (q *quiet) Logf(format string, args ...any) { fmt.Fprintf(&q.logged, format, args...) }

func TestAFailingTestTellsWhatWasInjected(t *testing.T) {
	t.Parallel()
	q := &quiet{}
	dir := tempDir(t)
	for script := range fsoptest.Failures(q, unix.EIO) {
		_ = three(script.Disk(), dir)
		q.failed = true
		break
	}
	want := fmt.Sprintf("injected: change 0, mkdir %q: before it was made, failed with EIO", dir.Name()+"/a")
	if got := q.logged.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPauseSaysWhereAndWaits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec string
		want int // directories at the pause
	}{{"pause-before-1", 1}, {"pause-after-1", 2}} {
		dir := tempDir(t)
		var said string
		atPause := -1
		next := func() (string, error) { atPause = entries(t, dir); return "go on", nil }
		script, err := fsoptest.Parse(c.spec, func(line string) { said = line }, next)
		if err != nil {
			t.Fatal(err)
		}
		if err := three(script.Disk(), dir); err != nil {
			t.Error(err)
		}
		if want := fmt.Sprintf("at 1 mkdir %q", dir.Name()+"/b"); said != want || atPause != c.want {
			t.Errorf("%s: said %q, want %q; %d directories", c.spec, said, want, atPause)
		}
	}
}

func TestAPauseThatIsNotAnsweredFailsTheChange(t *testing.T) {
	t.Parallel()
	script := fsoptest.PauseAt(0, func(string) {}, func() (string, error) { return "", io.ErrUnexpectedEOF })
	if err := three(script.Disk(), tempDir(t)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

func TestSpecAndParseAgree(t *testing.T) {
	t.Parallel()
	say, next := func(string) {}, func() (string, error) { return "", nil }
	for _, s := range []*fsoptest.Script{
		fsoptest.Record(), fsoptest.FailAt(1, unix.EIO), fsoptest.FailAfter(2, unix.ENOSPC), fsoptest.FailFrom(3, unix.EIO),
		fsoptest.KillAt(4), fsoptest.KillAfter(5), fsoptest.PauseAt(6, say, next), fsoptest.PauseAfter(7, say, next),
	} {
		again, err := fsoptest.Parse(s.Spec(), say, next)
		if err != nil || again.Spec() != s.Spec() || again.String() != s.String() {
			t.Errorf("%s: %v, %v", s.Spec(), again, err)
		}
	}
	for _, spec := range []string{"", "kill", "kill-at-1", "pause-before-1", "fail-before-1"} {
		if s, err := fsoptest.Parse(spec, nil, nil); err == nil {
			t.Errorf("%q gives %v", spec, s)
		}
	}
}

func TestRecordSeesEverythingAndDisturbsNothing(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	script := fsoptest.Record()
	if err := three(script.Disk(), dir); err != nil {
		t.Fatal(err)
	}
	if err := script.Disk().Rename(dir, "a", dir, "d"); err != nil {
		t.Fatal(err)
	}
	got := script.Changes()
	last := fsop.Change{Op: fsop.OpRename, Path: dir.Name() + "/a", To: dir.Name() + "/d"}
	if len(got) != 4 || got[3] != last {
		t.Errorf("%v", got)
	}
}

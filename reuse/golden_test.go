package reuse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/index"
	"github.com/pbs-like/pbs-like/pxar"
	"github.com/pbs-like/pbs-like/reuse"
)

func testFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func openIndex(t testing.TB, data []byte) *index.Reader {
	t.Helper()
	x, err := index.Open(bytes.NewReader(data), int64(len(data)), index.Dynamic)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// logger decides about a tree as its writer does, and writes what the original's log says of it.
type logger struct {
	planner  *reuse.Planner
	previous *pxar.Archive
	queued   int
	lines    []string
}

func (l *logger) say(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *logger) file(t testing.TB, e *pxar.Entry) {
	t.Helper()
	old, err := l.previous.Lookup(e.Path)
	switch {
	case errors.Is(err, pxar.ErrNotFound):
		l.say("re-encode: %q not found in previous archive.", e.Name())
	case err != nil:
		t.Fatal(err)
	case !reuse.Unchanged(old, &e.Metadata, e.Size) || !l.planner.Accepts(old.PayloadOffset, old.Size):
		l.say("re-encode: %q metadata did not match.", e.Name())
	default:
		from := old.PayloadOffset
		l.say("reusable: %q at range %d..%d has unchanged metadata.", e.Name(), from, from+reuse.Header+e.Size)
		if l.planner.Hole(from) {
			l.flush(t, reuse.Pause)
		}
		l.planner.Take(from, old.Size)
		l.queued++
		return
	}
	l.flush(t, reuse.End)
}

func (l *logger) other() {
	if l.queued > 0 {
		l.queued++
	}
}

func (l *logger) flush(t testing.TB, why reuse.Why) {
	t.Helper()
	plan := l.planner.Flush(why)
	if plan.Err != nil {
		t.Fatal(plan.Err)
	}
	if plan.Total > 0 {
		sign := map[bool]string{true: "<", false: ">"}[plan.Reuse]
		l.say("Padding ratio: %v %s 0.1, padding: %s, total %s, chunks: %d", plan.Ratio, sign, human(plan.Padding), human(plan.Total), plan.Chunks)
	}
	if plan.Before != nil {
		l.inject(*plan.Before)
	}
	if l.queued > 0 {
		l.say("Got %d cache entries to encode: reuse is %v", l.queued, plan.Reuse)
	}
	l.queued = 0
	for c, err := range plan.Inject() {
		if err != nil {
			t.Fatal(err)
		}
		l.inject(c)
	}
}

func (l *logger) inject(c reuse.Chunk) {
	l.say("Injecting chunk with %s padding (chunk size %s)", human(c.Padding), human(c.Size()))
}

// human writes a number of bytes as the log does.
func human(n uint64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	text := strconv.FormatFloat(math.Round(float64(n)/1024*1000)/1000, 'f', 3, 64)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".") + " KiB"
}

// decisions are the lines of a log that are about files, and neither about where a chunk ends nor about entries
// that no file was put off with.
func decisions(log []byte) (lines []string) {
	leave := regexp.MustCompile(`INFO|suggested boundary|Advance payload|has hole|Got 0 `)
	judged := false
	for line := range strings.Lines(string(log)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "DEBUG ")
		judged = judged || strings.HasPrefix(line, "Padding")
		got := strings.HasPrefix(line, "Got ")
		if leave.MatchString(line) || got && !judged {
			continue
		}
		lines = append(lines, line)
		judged = judged && !got
	}
	return lines
}

func logOf(t testing.TB, previous, present string) []string {
	t.Helper()
	entries := testFile(t, previous+".mpxar")
	archive, err := pxar.Open(bytes.NewReader(entries), int64(len(entries)), pxar.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l := &logger{planner: reuse.New(openIndex(t, testFile(t, previous+".ppxar.didx")), reuse.Options{}), previous: archive}
	now := testFile(t, present+".mpxar")
	tree, err := pxar.Open(bytes.NewReader(now), int64(len(now)), pxar.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	root, err := tree.Root()
	if err != nil {
		t.Fatal(err)
	}
	r, err := tree.Walk(root)
	if err != nil {
		t.Fatal(err)
	}
	l.walk(t, r)
	return l.lines
}

func (l *logger) walk(t testing.TB, r *pxar.Reader) {
	t.Helper()
	in := "/"
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			l.flush(t, reuse.End)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Path == "/" {
			continue
		}
		for ; in != path.Dir(e.Path); in = path.Dir(in) {
			l.other() // a directory that is left
		}
		if e.Kind == pxar.File {
			l.file(t, e)
			continue
		}
		l.other()
		if e.Kind == pxar.Directory {
			in = e.Path
		}
	}
}

func TestTheDecisionsAreThoseOfTheOriginal(t *testing.T) {
	t.Parallel()
	for previous, present := range map[string]string{"s1": "s2", "s2": "s3", "s3": "s4"} {
		want := decisions(testFile(t, "chain-a-"+present+".decisions.txt"))
		got := logOf(t, previous, present)
		if len(want) < 40 {
			t.Fatalf("%s: only %d decisions", present, len(want))
		}
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Errorf("%s: decision %d is\n%s\nwant\n%s", present, i, slices.Concat(got, []string{"nothing"})[min(i, len(got))], slices.Concat(want, []string{"nothing"})[min(i, len(want))])
				break
			}
		}
	}
}

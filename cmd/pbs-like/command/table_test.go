package command

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

func TestTableAlignsItsColumns(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	table := newTable(&out, []column{{title: "name"}, {title: "size", right: true}, {title: "comment"}})
	for _, row := range [][]string{{"a", "1", ""}, {"größer", "1000 MiB", "x\x1b[1m"}, {"", "", "y"}} {
		if err := table.add(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.close(); err != nil {
		t.Fatal(err)
	}
	want := "NAME        SIZE  COMMENT\n" +
		"a              1  -\n" +
		"größer  1000 MiB  x\\x1b[1m\n" +
		"-              -  y\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestLongTableIsWrittenAsItComes(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	table := newTable(&out, []column{{title: "name"}, {title: "x"}})
	for i := range 3 * widthRows {
		if err := table.add([]string{fmt.Sprint(i), "y"}); err != nil {
			t.Fatal(err)
		}
		if waiting := len(table.waiting); waiting >= widthRows {
			t.Fatalf("%d rows wait", waiting)
		}
	}
	if got := strings.Count(out.String(), "\n"); got != 3*widthRows+1 {
		t.Errorf("%d lines", got)
	}
}

func TestListingOfAnyLengthNeedsLittleMemory(t *testing.T) {
	for _, format := range []outputFormat{formatText, formatJSON} {
		p := newProgram(Streams{Out: io.Discard, Err: io.Discard})
		out := newListing(p, format, []column{{title: "n"}},
			func(n int) []string { return []string{fmt.Sprint("snapshot", n)} },
			func(n int) any { return map[string]int{"n": n} })
		before := heap()
		for i := range 100_000 {
			if err := out.add(i); err != nil {
				t.Fatal(err)
			}
		}
		if grown := heap() - before; grown > 1<<20 {
			t.Errorf("%s: %d bytes are kept", format, grown)
		}
	}
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestJSONListIsJSONWhateverItsLength(t *testing.T) {
	t.Parallel()
	tests := []struct {
		n      int
		pretty bool
		want   string
	}{
		{0, false, "[]\n"},
		{0, true, "[]\n"},
		{2, false, "[{\"n\":0},{\"n\":1}]\n"},
		{1, true, "[\n  {\n    \"n\": 0\n  }\n]\n"},
	}
	for _, test := range tests {
		var out strings.Builder
		list := &jsonList{out: &out, pretty: test.pretty}
		for i := range test.n {
			if err := list.add(struct {
				N int `json:"n"`
			}{i}); err != nil {
				t.Fatal(err)
			}
		}
		if err := list.close(); err != nil || out.String() != test.want {
			t.Errorf("%d, %v: %q, %v, want %q", test.n, test.pretty, out.String(), err, test.want)
		}
	}
}

// fullDisk is a standard output that takes nothing.
type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestOutputThatIsLostIsAFailure(t *testing.T) {
	t.Parallel()
	var messages strings.Builder
	code := Run(t.Context(), []string{"pbs-like", "version"}, Streams{In: strings.NewReader(""), Out: fullDisk{}, Err: &messages})
	if code != exitFailed || !strings.Contains(messages.String(), errFull.Error()) {
		t.Errorf("code %d, %q", code, messages.String())
	}
}

package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/pxar"
)

func TestModesAreShownAsLsShowsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind pxar.Kind
		mode uint64
		want string
	}{
		{pxar.File, 0o100644, "-rw-r--r--"},
		{pxar.File, 0o104755, "-rwsr-xr-x"},
		{pxar.File, 0o104644, "-rwSr--r--"},
		{pxar.Directory, 0o42770, "drwxrws---"},
		{pxar.Directory, 0o42760, "drwxrwS---"},
		{pxar.Directory, 0o41777, "drwxrwxrwt"},
		{pxar.Directory, 0o41776, "drwxrwxrwT"},
		{pxar.Device, 0o20600, "crw-------"},
		{pxar.Device, 0o60600, "brw-------"},
		{pxar.FIFO, 0o10000, "p---------"},
		{pxar.Socket, 0o140777, "srwxrwxrwx"},
		{pxar.Symlink, 0o120777, "lrwxrwxrwx"},
	} {
		e := &pxar.Entry{Kind: c.kind}
		e.Mode = c.mode
		if got := modeText(e); got != c.want {
			t.Errorf("%v %o: %s, want %s", c.kind, c.mode, got, c.want)
		}
	}
}

func TestNamesThatATerminalWouldObeyAreEscaped(t *testing.T) {
	t.Parallel()
	e := &pxar.Entry{Kind: pxar.Symlink, Path: "/a\x1b[2J\n\xff", Target: "\u202e\x00"}
	var out strings.Builder
	table := newTable(&out, entryColumns())
	if err := table.add(entryRow(e)); err != nil {
		t.Fatal(err)
	}
	if err := table.close(); err != nil {
		t.Fatal(err)
	}
	if want := `/a\x1b[2J\n\xff -> \u202e\x00` + "\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%q, want %q at the end", out.String(), want)
	}
	text, err := json.Marshal(newEntryJSON(e))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"path-hex":"2f611b5b324a0aff"`) || strings.Contains(string(text), "target-hex") {
		t.Errorf("%s", text)
	}
}

func TestExtremeTimesAreShown(t *testing.T) {
	t.Parallel()
	for _, seconds := range []int64{-1 << 63, -1, 0, 1<<63 - 1} {
		e := &pxar.Entry{Kind: pxar.File, Path: "/f"}
		e.Seconds = seconds
		if row := entryRow(e); row[4] == "" {
			t.Errorf("%d: %q", seconds, row)
		}
	}
}

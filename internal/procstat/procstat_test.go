package procstat_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/internal/procstat"
)

const tail = " 1 7 7 0 -1 4194304 90 0 0 0 0 0 0 0 20 0 1 0 4711 2424832 200"

func TestTheFieldsAreCountedBehindTheName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]procstat.Process{
		"7 (sh) S" + tail:                 {"sh", 'S', 4711},
		"7 () Z" + tail:                   {"", 'Z', 4711},
		"7 (a) b (c)) 1 2) D" + tail:      {"a) b (c)) 1 2", 'D', 4711},
		"7 (line\nbreak) X" + tail + "\n": {"line\nbreak", 'X', 4711},
	} {
		if got, ok := procstat.Parse([]byte(text)); !ok || got != want {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
}

func TestWhatIsNoSuchTextIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "7", "7 (sh", ")(", "7 (sh) S 1 2 3", "7 (sh)" + tail, "7 (sh) S" + strings.Replace(tail, "4711", "-1", 1)} {
		if got, ok := procstat.Parse([]byte(text)); ok || got.State != 0 || got.Start != 0 {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got, _ := procstat.Parse([]byte("7 (sh) S 1")); got.Name != "sh" {
		t.Errorf("name %q", got.Name)
	}
}

func TestThisProcessIsFoundUnderBothNames(t *testing.T) {
	t.Parallel()
	self, err := procstat.Self()
	if err != nil || self.Start == 0 || self.Over() {
		t.Fatalf("%+v, %v", self, err)
	}
	if same, err := procstat.Of(os.Getpid()); err != nil || same.Start != self.Start || same.Name != self.Name {
		t.Errorf("%+v, %v, want %+v", same, err, self)
	}
	if _, err := procstat.Of(1 << 30); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("7 (sh) S" + tail))
	f.Add([]byte("7 ()))) Z"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, ok := procstat.Parse(text)
		if ok && !strings.Contains(string(text), "("+p.Name+")") {
			t.Errorf("%q: name %q", text, p.Name)
		}
	})
}

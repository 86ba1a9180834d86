package command

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode"
)

func TestPrintableEscapesWhatATerminalWouldObey(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"vm/100":            "vm/100",
		"Grüße, 世界":         "Grüße, 世界",
		"a\x1b[2Jb":         `a\x1b[2Jb`,
		"a\nb\tc\rd":        `a\nb\tc\rd`,
		"\x7f":              `\x7f`,
		"\u009b31m":         `\u009b31m`,
		"\x9b31m":           `\x9b31m`,
		"user\u202egnp.sh":  `user\u202egnp.sh`,
		"\ufeffx":           `\ufeffx`,
		"a\ufffdb":          "a\ufffdb",
		"back\\slash \"q\"": "back\\slash \"q\"",
	}
	for in, want := range tests {
		if got := printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("vm/100\x1b]0;x\a")
	f.Add("\xff\u009b\u2066")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range printable(s) {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q lets %q through", s, r)
			}
		}
		encoded, err := encodeJSON(map[string]string{"x": s}, false, "")
		if err != nil || !json.Valid(encoded) {
			t.Fatalf("%q: %q, %v", s, encoded, err)
		}
		if i := bytes.IndexFunc(encoded, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Fatalf("JSON of %q lets %q through", s, encoded[i:])
		}
	})
}

func TestAnErrorStaysOnOneLine(t *testing.T) {
	t.Parallel()
	if got := oneLine("first\nsecond \x1b[0m"); got != `first; second \x1b[0m` {
		t.Errorf("%q", got)
	}
}

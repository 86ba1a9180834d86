package unitname_test

import (
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/internal/unitname"
)

func TestNamesAreEscapedAsSystemdDoes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"": "", "vm/100": "vm-100", "a-b": `a\x2db`, ".chunks": `\x2echunks`, "a.b_c": "a.b_c", `\`: `\x5c`, "ä": `\xc3\xa4`, "\x00\xff": `\x00\xff`,
		"vm/100/2026-01-15T03:00:00Z": `vm-100-2026\x2d01\x2d15T03\x3a00\x3a00Z`,
	} {
		if got := unitname.Escape(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
		if back, ok := unitname.Unescape(want); !ok || back != name {
			t.Errorf("%q: back as %q, %v", want, back, ok)
		}
	}
}

func TestANameThatIsTooLongIsHashed(t *testing.T) {
	t.Parallel()
	for length, hashed := range map[int]bool{254: false, 255: true, 5000: true} {
		file, cut := unitname.File(strings.Repeat("a", length))
		if cut != hashed || len(file) > 255 {
			t.Errorf("%d: %d bytes, hashed %v", length, len(file), cut)
		}
	}
	a, _ := unitname.File(strings.Repeat("a", 200) + "/" + strings.Repeat("b", 200))
	b, _ := unitname.File(strings.Repeat("a", 200) + "-" + strings.Repeat("b", 200))
	if a == b {
		t.Error("two names, one file")
	}
}

func FuzzEscapingLosesNothing(f *testing.F) {
	f.Add("vm/100", "vm-100")
	f.Add(".a", `\x2ea`)
	f.Add("", "-")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := unitname.Escape(a), unitname.Escape(b)
		if (x == y) != (a == b) {
			t.Errorf("%q and %q: %q and %q", a, b, x, y)
		}
		if strings.ContainsAny(x, "/\x00") || x == "." || x == ".." {
			t.Errorf("%q is no file's name", x)
		}
	})
}

func TestWhatIsNoEscapedNameIsToldApart(t *testing.T) {
	t.Parallel()
	for _, name := range []string{`\`, `a\x2`, `a\y20`, `\xzz`, `\x+1`} {
		if got, ok := unitname.Unescape(name); ok {
			t.Errorf("%q: %q", name, got)
		}
	}
}

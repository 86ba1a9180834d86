package digest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/digest"
)

const helloWorld = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"

// The values are the sha256 fields that the original's blob vectors carry.
func TestADigestIsTheSHA256OfTheData(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"":            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"a":           "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
		"hello world": helloWorld,
	} {
		if got := digest.Of([]byte(data)).String(); got != want {
			t.Errorf("Of(%q) = %s, want %s", data, got, want)
		}
	}
}

func TestParseTakesExactlyTheTextForm(t *testing.T) {
	t.Parallel()
	d, err := digest.Parse(helloWorld)
	if err != nil || d != digest.Of([]byte("hello world")) {
		t.Fatalf("Parse(%q) = %v, %v", helloWorld, d, err)
	}
	for _, text := range []string{
		"", "b9", helloWorld[1:], helloWorld + "0", strings.ToUpper(helloWorld), " " + helloWorld[1:],
		"g" + helloWorld[1:], helloWorld[1:] + "\x00", helloWorld[1:] + "/", helloWorld[1:] + ":", helloWorld[1:] + "`",
		helloWorld + ".0.bad", strings.Repeat("ü", 32), strings.Repeat("a", 1<<20),
	} {
		d, err := digest.Parse(text)
		if err == nil || !d.IsZero() {
			t.Errorf("Parse(%.80q) = %v, %v, want an error", text, d, err)
		} else if len(err.Error()) > 300 {
			t.Errorf("Parse(%.80q): a message of %d bytes", text, len(err.Error()))
		}
	}
}

func TestAnErrorQuotesTheInput(t *testing.T) {
	t.Parallel()
	_, err := digest.Parse("no\ndigest")
	if err == nil || !strings.Contains(err.Error(), `"no\ndigest"`) {
		t.Errorf("got %v", err)
	}
}

func TestOnlyTheZeroValueIsZero(t *testing.T) {
	t.Parallel()
	if !(digest.Digest{}).IsZero() || (digest.Digest{31: 1}).IsZero() {
		t.Error("IsZero is wrong")
	}
}

func TestTheOrderIsThatOfTheTextForms(t *testing.T) {
	t.Parallel()
	list := []digest.Digest{{0: 0xff}, {31: 1}, {}, {0: 0x10}, {1: 0xff}}
	slices.SortFunc(list, digest.Digest.Compare)
	if !slices.IsSortedFunc(list, func(a, b digest.Digest) int { return strings.Compare(a.String(), b.String()) }) {
		t.Errorf("order is %v", list)
	}
}

func TestAppendHexKeepsWhatIsThereAndAllocatesNothing(t *testing.T) {
	buf := append(make([]byte, 0, 128), ".chunks/b94d/"...)
	d := digest.Of([]byte("hello world"))
	if got := string(d.AppendHex(buf)); got != ".chunks/b94d/"+helloWorld {
		t.Errorf("got %q", got)
	}
	if n := testing.AllocsPerRun(10, func() { _ = d.AppendHex(buf) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := testing.AllocsPerRun(10, func() { _, _ = digest.Parse(helloWorld) }); n != 0 {
		t.Errorf("Parse: %v allocations", n)
	}
}

func FuzzParseThenPrintGivesTheInput(f *testing.F) {
	for _, text := range []string{"", helloWorld, strings.ToUpper(helloWorld), helloWorld[1:] + "g", "é"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := digest.Parse(text)
		if err == nil && d.String() != text {
			t.Errorf("Parse(%q) is printed as %s", text, d)
		}
		if back, err := digest.Parse(d.String()); err != nil || back != d {
			t.Errorf("%s is parsed as %v, %v", d, back, err)
		}
	})
}

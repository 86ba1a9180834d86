package datastore_test

import (
	"flag"
	"iter"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/goldenspec"
	"github.com/pbs-like/pbs-like/internal/helperproc"
)

func iterPull[K, V any](seq iter.Seq2[K, V]) (func() (K, V, bool), func()) { return iter.Pull2(seq) }

// image gives bytes from a specification, such as "xs64:1:9M+zero:8M".
func image(t testing.TB, spec string) []byte {
	t.Helper()
	data, err := goldenspec.Expand(spec)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestMain(m *testing.M) {
	// A history takes a second or two. More of them: -rapid.checks.
	if err := flag.Set("rapid.checks", "40"); err != nil {
		panic(err)
	}
	helperproc.Main(m, roles)
}

// accessed is when a file was last accessed.
func accessed(t testing.TB, path string) time.Time {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return time.Unix(st.Atim.Unix())
}

// sampled says that of the biggest enumerations, those of pairs of operations and
// of every point in them, a sample has to do: all take half an hour. `make thorough`
// asks for all.
func sampled() bool { return testing.Short() || os.Getenv("PBS_LIKE_THOROUGH") == "" }

// sampleOf gives the n of "every n-th has to do".
func sampleOf(short, usual int) int {
	switch {
	case testing.Short():
		return short
	case sampled():
		return usual
	}
	return 1
}

// skipIfSampled leaves out what makes and removes a whole tree of chunk directories at every point.
func skipIfSampled(t *testing.T) {
	t.Helper()
	if sampled() {
		t.Skip("it takes minutes: make thorough")
	}
}

// skipIfShort leaves out what runs hundreds of processes or stores: with the race
// detector it would take a quarter of an hour, and finds no races of its own.
func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long, and -short was asked for")
	}
}

package archiver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/pxar"
)

// dig makes directories one in the other, each with a file "z" behind the next one, and gives the deepest.
func dig(t *testing.T, dir, name string, depth int) (fd int) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must(t, err)
	for range depth {
		must(t, unix.Mkdirat(fd, name, 0o755))
		file, err := unix.Openat(fd, "z", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
		must(t, err)
		must(t, unix.Close(file))
		next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		must(t, err)
		must(t, unix.Close(fd))
		fd = next
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// TestATreeOfThousandsOfLevelsNeedsFewDescriptors is not parallel: it counts the descriptors of the process.
func TestATreeOfThousandsOfLevelsNeedsFewDescriptors(t *testing.T) { //nolint:paralleltest // see above
	const depth = 3000
	dir := testds.TempDir(t)
	dig(t, dir, "d", depth)
	before, most, calls := descriptors(t), 0, 0
	count := func(string) {
		if calls++; calls%50 == 0 {
			most = max(most, descriptors(t))
		}
	}
	sink := &hookSink{add: count, file: count}
	report, err := run(t, dir, Options{Exclude: patterns(t, "nothing")}, sink)
	must(t, err)
	sink.finish(t)
	if report.Directories != depth || report.Files != depth || report.Incomplete != 0 || len(sink.paths(t)) != 2*depth {
		t.Errorf("%+v", report)
	}
	if limit := before + maxOpen + 2*inFlight + 10; most > limit {
		t.Errorf("%d descriptors, expected at most %d", most, limit)
	}
}

func TestADirectoryThatIsMovedFromUnderTheWalkIsFoundAgain(t *testing.T) {
	t.Parallel()
	const depth = 300
	top := testds.TempDir(t)
	dir := filepath.Join(top, "source")
	must(t, os.Mkdir(dir, 0o755))
	dig(t, dir, "d", depth)
	level := 0
	sink := &hookSink{add: func(string) {
		if level++; level == 200 {
			must(t, os.Rename(filepath.Join(dir, strings.Repeat("d/", 20)), filepath.Join(top, "moved")))
		}
	}}
	report, err := run(t, dir, Options{}, sink)
	must(t, err)
	if report.Files != depth || report.Directories != depth || report.Incomplete != 0 {
		t.Errorf("%+v", report)
	}
}

func TestWhatIsLeftOfADirectoryThatCannotBeFoundAgainIsTold(t *testing.T) {
	t.Parallel()
	const depth = 300
	top := testds.TempDir(t)
	dir := filepath.Join(top, "source")
	must(t, os.Mkdir(dir, 0o755))
	dig(t, dir, "d", depth)
	level := 0
	sink := &hookSink{add: func(string) {
		if level++; level == 200 {
			must(t, os.Rename(filepath.Join(dir, strings.Repeat("d/", 20)), filepath.Join(top, "moved")))
			must(t, os.Rename(filepath.Join(dir, strings.Repeat("d/", 10)), filepath.Join(top, "moved too")))
			dig(t, filepath.Join(dir, strings.Repeat("d/", 9)), "d", 20) // others of the same names
		}
	}}
	report, err := run(t, dir, Options{}, sink)
	must(t, err)
	sink.finish(t)
	// The levels 10 to 19 have no way to them any more.
	if report.Files != depth-10 || report.Warnings[Changed] != 10 || report.Directories != depth {
		t.Errorf("%+v", report)
	}
	if want := "/" + strings.Repeat("d/", 19) + "z"; report.First[0].Path != want {
		t.Errorf("%q, not %q", report.First[0].Path, want)
	}
}

func TestADirectoryDeeperThanArchivesAreReadIsLeftEmptyAndTold(t *testing.T) {
	t.Parallel()
	const depth = 300
	name := strings.Repeat("x", 250)
	dir := testds.TempDir(t)
	dig(t, dir, name, depth)
	_, report := archive(t, dir, Options{})
	deepest := maxPath/(len(name)+1) + 1
	if report.Warnings[TooDeep] != 1 || report.Incomplete != 1 || report.Directories != uint64(deepest) {
		t.Errorf("%d directories, not %d; %v", report.Directories, deepest, report.Warnings)
	}
}

func TestAHardLinkToAPathThatIsTooLongIsAFileOfItsOwn(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("d", 200)
	dir := t.TempDir()
	fd := dig(t, dir, name, 21)
	file, err := unix.Openat(fd, "first", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	must(t, err)
	must(t, unix.Close(file))
	must(t, unix.Linkat(fd, "first", unix.AT_FDCWD, filepath.Join(dir, "zz"), 0))
	must(t, unix.Linkat(fd, "first", unix.AT_FDCWD, filepath.Join(dir, "zzz"), 0))
	got, report := archive(t, dir, Options{})
	last := got.entries(t)
	if zz, zzz := last[len(last)-2], last[len(last)-1]; zz.Kind != pxar.File || zzz.Kind != pxar.Hardlink || zzz.Target != "zz" {
		t.Errorf("%v %v %q: %+v", zz.Kind, zzz.Kind, zzz.Target, report)
	}
}

func TestPathsOfPlaces(t *testing.T) {
	t.Parallel()
	root := &place{}
	a := root.child("a")
	b := a.child("bc")
	for want, got := range map[string]string{"/": root.path(), "/x": root.pathOf("x"), "/a": a.path(), "/a/bc": b.path(), "/a/bc/x": b.pathOf("x")} {
		if got != want {
			t.Errorf("%q is not %q", got, want)
		}
	}
	if b.length != len("a/bc") {
		t.Errorf("length %d", b.length)
	}
}

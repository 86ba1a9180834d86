package archiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/pxar"
)

// hookSink calls functions between what it is given, to change the tree at known moments.
type hookSink struct {
	archiveSink
	add  func(name string)
	file func(name string)
}

func (s *hookSink) Add(name string, e *pxar.Entry) error {
	if s.add != nil {
		s.add(name)
	}
	return s.archiveSink.Add(name, e)
}

func (s *hookSink) AddFile(name string, m *pxar.Metadata, size uint64, content io.ReadCloser, linked bool) error {
	if s.file != nil {
		s.file(name)
	}
	return s.archiveSink.AddFile(name, m, size, content, linked)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fill makes files, with their names as content.
func fill(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644))
	}
}

func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("f%06d", i))
	}
	return names
}

func TestADirectorySwappedForALinkLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir, secret := filepath.Join(top, "source"), filepath.Join(top, "secret")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Mkdir(secret, 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "a"), 0o755))
	must(t, os.Symlink(secret, filepath.Join(dir, "b")))
	fill(t, dir, "c")
	must(t, os.Symlink(filepath.Join(secret, "stolen"), filepath.Join(dir, "d")))
	must(t, os.WriteFile(filepath.Join(secret, "stolen"), []byte("stolen content"), 0o644))

	ctx, cancel := context.WithCancel(t.Context())
	swapped := make(chan struct{})
	go func() {
		defer close(swapped)
		for ctx.Err() == nil {
			for _, pair := range [][2]string{{"a", "b"}, {"c", "d"}} {
				_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, pair[0]), unix.AT_FDCWD, filepath.Join(dir, pair[1]), unix.RENAME_EXCHANGE)
			}
		}
	}()
	for range 300 {
		got, _ := archive(t, dir, Options{ReadAhead: true})
		if bytes.Contains(got.out.Bytes(), []byte("stolen content")) {
			t.Fatalf("%q", got.paths(t))
		}
	}
	cancel()
	<-swapped
}

func TestAPipeInPlaceOfAFileDoesNotBlock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fill(t, dir, "name")
	d, err := os.Open(dir)
	must(t, err)
	defer d.Close()
	seen, err := look(int(d.Fd()), "name")
	must(t, err)
	must(t, os.Remove(filepath.Join(dir, "name")))
	must(t, unix.Mkfifo(filepath.Join(dir, "name"), 0o600))
	if _, _, err := open(int(d.Fd()), "name", &seen); !errors.Is(err, errChanged) {
		t.Error(err)
	}
}

func TestWhatVanishesIsToldAndNotMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fill(t, dir, numbered(4*inFlight)...)
	last := numbered(4 * inFlight)[4*inFlight-1]
	sink := &hookSink{file: func(name string) {
		if name == "f000000" {
			must(t, os.Remove(filepath.Join(dir, last)))
		}
	}}
	report, err := run(t, dir, Options{}, sink)
	must(t, err)
	if report.Warnings[Vanished] != 1 || report.Incomplete != 0 || report.Files != 4*inFlight-1 {
		t.Errorf("%+v", report)
	}
}

func TestAFileThatShrinksIsFilledUpAndToldAsIncomplete(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int64{"read when it is wanted": 1000, "large": 3 * maxAhead} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "file")
			must(t, os.WriteFile(path, bytes.Repeat([]byte{'x'}, int(size)), 0o644))
			sink := &hookSink{file: func(string) { must(t, os.Truncate(path, 10)) }}
			report, err := run(t, filepath.Dir(path), Options{ReadAhead: size > maxAhead}, sink)
			must(t, err)
			sink.finish(t)
			want := append(bytes.Repeat([]byte{'x'}, 10), make([]byte, size-10)...)
			if got := sink.content(t, "/file"); !bytes.Equal(got, want) {
				t.Errorf("%d bytes", len(got))
			}
			if report.Incomplete != 1 || report.Warnings[Shrunk] != 1 || report.First[0].Path != "/file" {
				t.Errorf("%+v", report)
			}
		})
	}
}

func TestAFileThatGrowsIsCutAndTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, []byte("before"), 0o644))
	sink := &hookSink{file: func(string) { must(t, os.WriteFile(path, []byte("before and after"), 0o644)) }}
	report, err := run(t, filepath.Dir(path), Options{}, sink)
	must(t, err)
	sink.finish(t)
	if got := sink.content(t, "/file"); string(got) != "before" || report.Warnings[Grown] != 1 || report.Incomplete != 0 {
		t.Errorf("%q, %+v", got, report)
	}
}

// unreadable is a regular file that can't be read at its beginning: nothing is mapped there.
func unreadable(t *testing.T) *directory {
	t.Helper()
	fd, err := unix.Open("/proc/self", unix.O_PATH|unix.O_CLOEXEC, 0)
	must(t, err)
	return newDirectory(fd)
}

func TestAFileThatCannotBeReadIsLeftOut(t *testing.T) {
	t.Parallel()
	a := &Archiver{opts: Options{ReadAhead: true}}
	it := &item{name: "mem", where: &place{}, dir: unreadable(t), loaded: make(chan struct{})}
	it.err = a.load(t.Context(), it)
	it.dir.release()
	close(it.loaded)
	if !errors.Is(it.err, unix.EIO) || it.content != nil {
		t.Fatal(it.err)
	}
	must(t, a.deliverOne(it, nil))
	if r := a.Report(); r.Incomplete != 1 || r.First[0].Kind != Unreadable || r.First[0].Path != "/mem" {
		t.Errorf("%+v", r)
	}
}

func TestAFileThatCannotBeReadFurtherEndsTheRunAndIsNotFilledUp(t *testing.T) {
	t.Parallel()
	a := &Archiver{}
	dir := unreadable(t)
	defer dir.release()
	fd, err := openRead(dir.fd, "mem", 0)
	must(t, err)
	c := newContent(t.Context(), a, &item{name: "mem", where: &place{}}, fd, &unix.Stat_t{Size: 10, Blocks: 1})
	defer c.Close()
	n, err := io.ReadFull(c, make([]byte, 10))
	if n != 0 || !errors.Is(err, unix.EIO) || !strings.Contains(err.Error(), `"/mem" can't be read from byte 0 on`) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestASourceThatFailsEverywhereEndsTheRun(t *testing.T) {
	t.Parallel()
	var n notes
	for i := range maxUnreadable {
		must(t, n.leaveOut(fmt.Sprint(i), unix.EIO))
	}
	must(t, n.leaveOut("denied", unix.EACCES))
	if err := n.leaveOut("last", unix.EIO); !errors.Is(err, unix.EIO) || !strings.Contains(err.Error(), "failing") {
		t.Error(err)
	}
}

func TestLackOfOurOwnEndsTheRun(t *testing.T) {
	t.Parallel()
	var n notes
	if err := n.leaveOut("/file", unix.EMFILE); !errors.Is(err, unix.EMFILE) || n.report.Incomplete != 0 {
		t.Error(err)
	}
}

func TestAFileOfPatternsThatIsNoneExcludesNothingAndBlocksNothing(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(path string) error{
		"pipe":           func(path string) error { return unix.Mkfifo(path, 0o600) },
		"directory":      func(path string) error { return os.Mkdir(path, 0o700) },
		"link to device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"link to itself": func(path string) error { return os.Symlink(patternsFile, path) },
		"too large":      func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("*\n"), maxPatterns), 0o600) },
		"unclosed class": func(path string) error { return os.WriteFile(path, []byte("[a\n"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fill(t, dir, "a")
			must(t, make(filepath.Join(dir, patternsFile)))
			var told []Warning
			got, report := archive(t, dir, Options{Warning: func(w Warning) { told = append(told, w) }})
			if paths := strings.Join(got.paths(t), " "); paths != "/.pxarexclude /a" {
				t.Error(paths)
			}
			if report.Warnings[BadPattern] != 1 || report.Incomplete != 0 || told[0].Path != "/"+patternsFile || told[0].Err == nil {
				t.Errorf("%+v, told %v", report, told)
			}
		})
	}
}

func TestPatternsAreReadThroughALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fill(t, dir, "a", "b")
	outside := filepath.Join(t.TempDir(), "patterns")
	must(t, os.WriteFile(outside, []byte("a\n"), 0o600))
	must(t, os.Symlink(outside, filepath.Join(dir, patternsFile)))
	got, report := archive(t, dir, Options{})
	if paths := strings.Join(got.paths(t), " "); paths != "/.pxarexclude /b" || report.Excluded != 1 {
		t.Error(paths, report)
	}
}

func TestMoreEntriesThanAllowedEndTheRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"d1/a", "d1/b", "d1/c", "d2/a", "d2/b", "d2/c", "d2/d"} {
		plantText(t, dir, name, "")
	}
	for limit, want := range map[int]string{3: `"/d1"`, 4: `"/d1"`, 5: `"/d2"`, 6: ""} {
		_, err := run(t, dir, Options{EntriesMax: limit}, &archiveSink{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d: %v", limit, err)
		}
	}
}

func TestAnEndOfTheContextEndsTheRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fill(t, dir, numbered(1000)...)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	sink := &hookSink{file: func(name string) {
		if name == "f000300" {
			cancel(reason)
		}
	}}
	if report, err := runContext(ctx, t, dir, Options{}, sink); !errors.Is(err, reason) || report.Files > 500 {
		t.Errorf("%v after %d files", err, report.Files)
	}
}

// TestNothingStaysOpen is not parallel: it counts the descriptors of the process.
func TestNothingStaysOpen(t *testing.T) { //nolint:paralleltest // see above
	dir := t.TempDir()
	fill(t, dir, numbered(1000)...)
	must(t, os.MkdirAll(filepath.Join(dir, "z/z/z"), 0o755))
	failure := errors.New("full")
	for _, ahead := range []bool{true, false} {
		before := descriptors(t)
		count := 0
		sink := &failSink{after: 300, err: failure, count: &count}
		if _, err := run(t, dir, Options{ReadAhead: ahead}, sink); !errors.Is(err, failure) {
			t.Error(err)
		}
		archive(t, dir, Options{ReadAhead: ahead})
		if after := descriptors(t); after != before {
			t.Errorf("%d descriptors, %d before", after, before)
		}
	}
}

type failSink struct {
	archiveSink
	after int
	err   error
	count *int
}

func (s *failSink) AddFile(name string, m *pxar.Metadata, size uint64, content io.ReadCloser, linked bool) error {
	if *s.count++; *s.count > s.after {
		return errors.Join(s.err, content.Close())
	}
	return s.archiveSink.AddFile(name, m, size, content, linked)
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

func TestADirectoryOf100000Entries(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("makes 100000 links")
	}
	dir := testds.TempDir(t)
	for _, name := range numbered(100_000) {
		must(t, os.Symlink("x", filepath.Join(dir, name)))
	}
	got, report := archive(t, dir, Options{ReadAhead: true})
	if report.Others != 100_000 || len(got.paths(t)) != 100_000 {
		t.Errorf("%+v", report)
	}
}

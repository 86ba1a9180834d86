package archiver

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/pxar"
)

func TestAFileThatIsWrittenToWithoutChangingItsSizeIsTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, bytes.Repeat([]byte{'x'}, 3*maxAhead), 0o644))
	sink := &hookSink{file: func(string) { overwrite(t, path) }}
	report, err := run(t, filepath.Dir(path), Options{ReadAhead: true}, sink)
	must(t, err)
	if report.Warnings[Written] != 1 || report.Incomplete != 0 {
		t.Errorf("%+v", report)
	}
}

func overwrite(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("other"), 5)
	must(t, err)
	must(t, os.Chtimes(path, time.Time{}, time.Unix(1, 1))) // for clocks that are too coarse
	must(t, f.Close())
}

func TestASmallFileThatIsWrittenToIsReadOnceMoreAndThenTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, []byte("before"), 0o644))
	for last, want := range map[bool]error{false: errChanged, true: nil} {
		c := openContent(t, path)
		c.time.Nsec++ // as if it had been written to since
		if err := c.readAhead(last); err != want {
			t.Errorf("at the last attempt %v: %v", last, err)
		}
		if told := c.notes.report.Warnings[Written]; told == 1 != last {
			t.Errorf("at the last attempt %v: %d are told", last, told)
		}
	}
}

// TestAFileThatGotTheInodeOfAnotherIsNoHardLinkToIt removes a file of which one name is in the archive, and makes others
// until one has the number of its inode.
func TestAFileThatGotTheInodeOfAnotherIsNoHardLinkToIt(t *testing.T) {
	t.Parallel()
	dir, aside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, os.Link(filepath.Join(dir, "a"), filepath.Join(aside, "a")))
	fill(t, dir, numbered(4*inFlight)...)
	must(t, os.WriteFile(filepath.Join(dir, "z"), nil, 0o644))
	sink := &replacingSink{replace: func() { replaceByInode(t, dir, aside) }}
	_, err := run(t, dir, Options{}, sink)
	must(t, err)
	sink.finish(t)
	for _, e := range sink.entries(t) {
		if e.Path == "/z" && e.Kind != pxar.File {
			t.Errorf("it is a %v to %q", e.Kind, e.Target)
		}
	}
	if got := string(sink.content(t, "/z")); got != "another" {
		t.Errorf("it has %q", got)
	}
}

// replacingSink replaces something as soon as it has a file called a, and has closed it.
type replacingSink struct {
	archiveSink
	replace func()
}

func (s *replacingSink) AddFile(name string, m *pxar.Metadata, size uint64, content io.ReadCloser, linked bool) error {
	err := s.archiveSink.AddFile(name, m, size, content, linked)
	if name == "a" && err == nil {
		s.replace()
	}
	return err
}

// replaceByInode puts a file with the inode of a, and two names, in the place of z.
func replaceByInode(t *testing.T, dir, aside string) {
	t.Helper()
	var before, now unix.Stat_t
	must(t, unix.Stat(filepath.Join(dir, "a"), &before))
	must(t, os.Remove(filepath.Join(aside, "a")))
	must(t, os.Remove(filepath.Join(dir, "a")))
	for _, name := range numbered(1000) {
		path := filepath.Join(aside, name)
		must(t, os.WriteFile(path, []byte("another"), 0o644))
		must(t, unix.Stat(path, &now))
		if now.Ino == before.Ino {
			must(t, os.Link(path, filepath.Join(aside, "second")))
			must(t, os.Rename(path, filepath.Join(dir, "z")))
			return
		}
	}
	t.Skip("the file system does not use the number of the inode again")
}

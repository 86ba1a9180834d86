package archiver

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// dirent is an entry as getdents64(2) gives it.
func dirent(name string, kind uint8) []byte {
	length := (19 + len(name) + 1 + 7) / 8 * 8
	b := binary.NativeEndian.AppendUint64(nil, 1)
	b = binary.NativeEndian.AppendUint64(b, 2)
	b = binary.NativeEndian.AppendUint16(b, uint16(length))
	b = append(append(b, kind), name...)
	return append(b, make([]byte, length-len(b))...)
}

func everything([]byte, uint8) (bool, error) { return true, nil }

func TestAListingIsSortedByBytesAndGivesEachNameOnce(t *testing.T) {
	t.Parallel()
	var raw []byte
	for _, name := range []string{".", "b", "\xff", "..", "a.b", "a", "b", "A", strings.Repeat("x", 255)} {
		raw = append(raw, dirent(name, unix.DT_REG)...)
	}
	var l listing
	must(t, l.add(raw, everything))
	l.sort()
	var names []string
	for _, e := range l.entries {
		names = append(names, string(l.name(e)))
	}
	if want := []string{"A", "a", "a.b", "b", strings.Repeat("x", 255), "\xff"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

func TestARefusalEndsAListing(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	var l listing
	if err := l.add(dirent("a", 0), func([]byte, uint8) (bool, error) { return false, refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
}

func TestAListingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fd, err := openRead(unix.AT_FDCWD, t.TempDir(), unix.O_DIRECTORY)
	must(t, err)
	defer unix.Close(fd)
	if _, err := list(ctx, fd, everything); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzListing(f *testing.F) {
	f.Add(dirent("a", unix.DT_DIR))
	f.Add(append(dirent(".", unix.DT_DIR), dirent(strings.Repeat("x", 255), 0)...))
	f.Add(dirent("cut", 0)[:20])
	f.Add(make([]byte, 40))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var l listing
		must(t, l.add(raw, everything))
		l.sort()
		if len(l.names) > len(raw) {
			t.Errorf("%d bytes of names in %d bytes", len(l.names), len(raw))
		}
	})
}

func TestADirectoryThatIsKeptOutIsThereAndEmpty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plantText(t, dir, "store/.chunks/x", "x")
	plantText(t, dir, "other", "x")
	var st unix.Stat_t
	must(t, unix.Stat(filepath.Join(dir, "store"), &st))
	got, report := archive(t, dir, Options{KeepOut: []Inode{inodeOf(&st)}})
	if paths := strings.Join(got.paths(t), " "); paths != "/other /store" || report.Warnings[KeptOut] != 1 || report.Incomplete != 0 {
		t.Error(paths, report)
	}
}

func TestWarningsReadWell(t *testing.T) {
	t.Parallel()
	for want, w := range map[string]Warning{
		`"/a": left out: permission denied`:  {Denied, "/a", unix.EACCES},
		`"/a\n": vanished meanwhile`:         {Vanished, "/a\n", unix.ENOENT},
		`"/a": mount point, not entered`:     {MountPoint, "/a", nil},
		`"/a": unknown: file does not exist`: {Kind(99), "/a", os.ErrNotExist},
		`"/a": left out: input/output error`: {Unreadable, "/a", unix.EIO},
		`"/a": left empty`:                   {KeptOut, "/a", nil},
		`"/a": was written to while it was read; it may be a mixture of before and after`: {Written, "/a", nil},
		`"/a": excludes nothing: not a number`:                                            {BadPattern, "/a", errors.New("not a number")},
	} {
		if got := w.String(); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

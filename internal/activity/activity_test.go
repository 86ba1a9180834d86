package activity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

func newPlace(t testing.TB) (place Place, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "said")
	return Place{Dirs: []string{dir}}, dir
}

func me(t testing.TB) Process {
	t.Helper()
	own, ok := self()
	if !ok {
		t.Fatal("no /proc")
	}
	return own
}

func listen(t testing.TB, place Place) []Activity {
	t.Helper()
	return NewReader(place).Of(me(t), os.Geteuid())
}

func TestWhatIsPublishedIsFoundUntilItEnds(t *testing.T) {
	t.Parallel()
	place, dir := newPlace(t)
	p := NewPublisher(place)
	running := p.Begin(Activity{Store: "/srv/store", Operation: "backup", Object: "vm/100", Message: "weekly"})
	got := listen(t, place)
	if len(got) != 1 || got[0].Object != "vm/100" || got[0].Message != "weekly" || got[0].Started == 0 {
		t.Errorf("%+v", got)
	}
	other := me(t)
	other.Start++
	if got := NewReader(place).Of(other, os.Geteuid()); len(got) != 0 {
		t.Errorf("of another process with that number: %+v", got)
	}
	if got := NewReader(place).Of(me(t), os.Geteuid()+1); len(got) != 0 {
		t.Errorf("of a process of another user: %+v", got)
	}
	for range 2 {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func TestSeveralActivitiesOfAProcess(t *testing.T) {
	t.Parallel()
	place, _ := newPlace(t)
	p, q := NewPublisher(place), NewPublisher(place)
	a, b := p.Begin(Activity{Operation: "read", Object: "vm/100"}), q.Begin(Activity{Operation: "backup", Object: "vm/101"})
	defer b.Close()
	if got := listen(t, place); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	_ = a.Close()
	if got := listen(t, place); len(got) != 1 || got[0].Object != "vm/101" {
		t.Errorf("%+v", got)
	}
}

func TestProgressIsWrittenOnceASecondAndTheLastOfItAsWell(t *testing.T) {
	t.Parallel()
	place, _ := newPlace(t)
	synctest.Test(t, func(t *testing.T) {
		p := NewPublisher(place)
		running := p.Begin(Activity{Operation: Reading, Object: "vm/100"})
		p.Progress("restore", "vm/100/disk.img", 1, 4, false)
		if got := listen(t, place); got[0].Done != 0 || got[0].Operation != Reading {
			t.Errorf("written at once: %+v", got)
		}
		p.Progress("restore", "vm/100/disk.img", 3, 4, false)
		time.Sleep(every)
		synctest.Wait()
		want := Activity{Operation: "restore", Object: "vm/100", Part: "disk.img", Done: 3, Total: 4}
		got := listen(t, place)
		want.Started = got[0].Started
		if got[0] != want {
			t.Errorf("%+v, want %+v", got[0], want)
		}
		p.Progress("restore", "vm/100/disk.img", 4, 4, false)
		_ = running.Close()
		time.Sleep(2 * every)
		if got := listen(t, place); len(got) != 0 {
			t.Errorf("came back after its end: %+v", got)
		}
	})
}

func TestNothingIsPublishedWhereNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, place := range map[string]Place{
		"nowhere": {}, "no parent": {Dirs: []string{"/nonexistent/a/b"}}, "a file in the way": {Dirs: []string{file}},
		"below a file": {Dirs: []string{file + "/x"}}, "a relative path": {Dirs: []string{""}},
	} {
		p := NewPublisher(place)
		running := p.Begin(Activity{Operation: "backup"})
		p.Progress("backup", "", 1, 2, false)
		if err := running.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := listen(t, place); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTheNextDirectoryServesWhereTheFirstDoesNot(t *testing.T) {
	t.Parallel()
	place, _ := newPlace(t)
	place.Dirs = append([]string{"/nonexistent/a/b"}, place.Dirs...)
	running := NewPublisher(place).Begin(Activity{Operation: "backup"})
	defer running.Close()
	if got := listen(t, place); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestWhatTheDeadHaveSaidIsSweptAndOthersStay(t *testing.T) {
	t.Parallel()
	place, dir := newPlace(t)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	own := me(t)
	stale := []string{"999999999-1-abcdef", "999999999-1-.tmp_abcdef", fmt.Sprintf("%d-%d-abcdef", own.PID, own.Start+1)}
	kept := []string{"1-x-abcdef", "readme", fmt.Sprintf("%d-%d-other", own.PID, own.Start)}
	for _, name := range append(append([]string{}, stale...), kept...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_ = NewPublisher(place).Begin(Activity{Operation: "backup"}).Close()
	left := map[string]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		left[entry.Name()] = true
	}
	for _, name := range kept {
		if !left[name] {
			t.Errorf("%s was removed", name)
		}
	}
	if len(left) != len(kept) {
		t.Errorf("left: %v", left)
	}
}

func TestWhatIsNoPlainFileOfTheProcessIsNotBelieved(t *testing.T) {
	t.Parallel()
	place, dir := newPlace(t)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(t.TempDir(), "good")
	text, err := json.Marshal(Activity{Operation: "backup"})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(good, text, 0o644))
	name := func(s string) string { return filepath.Join(dir, me(t).prefix()+s) }
	must(os.Symlink(good, name("link")))
	must(syscall.Mkfifo(name("fifo"), 0o644))
	must(os.Mkdir(name("directory"), 0o755))
	must(os.WriteFile(name("garbage"), []byte("{"), 0o644))
	must(os.WriteFile(name("huge"), append(text, bytes.Repeat([]byte(" "), maxFile)...), 0o644))
	must(os.WriteFile(name(temporary+"x"), text, 0o644))
	if os.Geteuid() == 0 {
		must(os.WriteFile(name("foreign"), text, 0o644))
		must(os.Chown(name("foreign"), 65534, 65534))
	}
	if got := listen(t, place); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	must(os.WriteFile(name("good"), text, 0o644))
	if got := listen(t, place); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	must(os.Rename(dir, dir+".moved"))
	must(os.Symlink(dir+".moved", dir))
	if got := listen(t, place); len(got) != 0 {
		t.Errorf("through a link: %+v", got)
	}
}

func TestActivitiesReadWell(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]Activity{
		"backup of vm/100": {Operation: "backup", Object: "vm/100"},
		"backup of vm/100, 38 % of disk.img done, since 2026-01-02T03:04:05Z (\"weekly\")": {
			Operation: "backup", Object: "vm/100", Part: "disk.img", Done: 38, Total: 100, Started: 1767323045, Message: "weekly",
		},
		"remove of vm/100, 3 done":     {Operation: "remove", Object: "vm/100", Done: 3, Items: true},
		"backup of host/a, 5 MiB done": {Operation: "backup", Object: "host/a", Done: 5 << 20},
		"read of a, 100 % done":        {Operation: "read", Object: "a", Done: 9, Total: 3},
		`\x1b[2J of a\n, 1 % of \u202eb done ("c\"\x00")`: {
			Operation: "\x1b[2J", Object: "a\n", Part: "\u202eb", Done: 1, Total: 100, Message: "c\"\x00",
		},
	} {
		if got := a.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheUsualPlaceIsThatOfTheUser(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/4711")
	want := 2
	if os.Geteuid() == 0 {
		want = 1 // a root that has come by su keeps the other one's
	}
	if got := Usual(); got.Dirs[0] != "/run/pbs-like" || len(got.Dirs) != want {
		t.Errorf("%+v", got)
	}
}

func TestAFileSystemThatIsMountedInTheWayIsNotEntered(t *testing.T) {
	t.Parallel()
	place, dir := newPlace(t)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
		t.Skipf("needs root: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	_ = NewPublisher(place).Begin(Activity{Operation: "backup"}).Close()
	if _, err := open(dir); err == nil {
		t.Error("it was entered")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"store":"/srv","operation":"backup","object":"vm/100","started":1767323045,"done":1,"total":2}`))
	f.Add([]byte(`{"operation":"\u001b[2J","message":"` + strings.Repeat("ü", maxText) + `","started":-1}`))
	f.Add([]byte(`{"done":18446744073709551615,"total":1,"items":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := parse(text)
		if err != nil {
			return
		}
		line := a.String()
		if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) || len(line) > 40*maxText {
			t.Errorf("%q", line)
		}
	})
}

package flock

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/procstat"
)

// fakeProc makes a proc file system in which there is what files say; %s in
// them becomes the device and inode of the locked file.
func fakeProc(t *testing.T, locked string, files map[string]string) (procfs, int, ident) {
	t.Helper()
	var st unix.Stat_t
	fd, err := openPath(locked, unix.O_RDONLY)
	if err == nil {
		err = fstat(fd, &st)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	id := identOf(&st)
	line := fmt.Sprintf("%02x:%02x:%d", unix.Major(id.dev), unix.Minor(id.dev), id.ino)
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if target, ok := strings.CutPrefix(text, "-> "); ok && err == nil {
			err = os.Symlink(strings.ReplaceAll(target, "LOCKED", locked), path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(strings.ReplaceAll(text, "DEVINO", line)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return procfs{root}, fd, id
}

// Far above any process number, so that none of them is alive.
const pid = "999999999"

func TestWhatProcMaySay(t *testing.T) {
	t.Parallel()
	self := fmt.Sprint(os.Getpid())
	for name, c := range map[string]struct {
		files map[string]string
		want  []owner
	}{
		"nothing at all": {nil, nil},
		"garbage": {map[string]string{
			"locks":      "\x00\xff\n1:\n1: FLOCK ADVISORY WRITE x DEVINO 0 EOF\n1: LEASE ACTIVE READ 1 DEVINO 0 EOF\n",
			"1/fdinfo/0": "lock:\n", "1/fd/0": "-> LOCKED", "x/fd/0": "", "2/fd/x": "", "3/fd": "",
		}, nil},
		"a waiter is no holder": {map[string]string{"locks": "1: -> FLOCK  ADVISORY  WRITE 1 DEVINO 0 EOF\n"}, nil},
		"confirmed by the one who took it": {map[string]string{
			"locks":        "1: FLOCK  ADVISORY  WRITE 7 DEVINO 0 EOF\n",
			"7/fdinfo/3":   "pos:\t0\nlock:\t1: FLOCK  ADVISORY  WRITE 7 DEVINO 0 EOF\n",
			"7/fd/3":       "-> LOCKED",
			"8/fdinfo/3":   "lock:\t1: FLOCK  ADVISORY  WRITE 7 DEVINO 0 EOF\n", // not looked at
			"8/fd/3":       "-> LOCKED",
			"8/fdinfo/bad": "",
		}, []owner{{7, Flock, Exclusive}}},
		"passed on to a child": {map[string]string{
			"locks":      "1: FLOCK  ADVISORY  READ  " + pid + " DEVINO 0 EOF\n",
			"8/fdinfo/3": "lock:\t1: FLOCK  ADVISORY  READ " + pid + " DEVINO 0 EOF\n",
			"8/fd/3":     "-> LOCKED",
		}, []owner{{8, Flock, Shared}}},
		"of an open file, without a process": {map[string]string{
			"locks":      "1: OFDLCK ADVISORY  WRITE -1 DEVINO 0 EOF\n",
			"8/fdinfo/3": "lock:\t1: OFDLCK ADVISORY  WRITE -1 DEVINO 0 EOF\n",
			"8/fd/3":     "-> LOCKED",
		}, []owner{{8, OFD, Exclusive}}},
		"of another file with that inode number": {map[string]string{
			"locks":      "1: FLOCK  ADVISORY  WRITE 7 7f:7f:INO 0 EOF\n",
			"7/fdinfo/3": "lock:\t1: FLOCK  ADVISORY  WRITE 7 7f:7f:INO 0 EOF\n",
			"7/fd/3":     "-> /dev/null",
		}, nil},
		"on a file system whose lines have another device": {map[string]string{
			"locks":      "1: FLOCK  ADVISORY  WRITE 7 7f:7f:INO 0 EOF\n",
			"7/fdinfo/3": "lock:\t1: FLOCK  ADVISORY  WRITE 7 7f:7f:INO 0 EOF\n",
			"7/fd/3":     "-> LOCKED",
		}, []owner{{7, Flock, Exclusive}}},
		"of another file, of a process that can't be looked at": {map[string]string{
			"locks": "1: FLOCK  ADVISORY  WRITE " + self + " 7f:7f:INO 0 EOF\n",
		}, nil},
		"closed while we looked": {map[string]string{
			"locks":      "1: FLOCK  ADVISORY  WRITE " + pid + " DEVINO 0 EOF\n",
			"7/fdinfo/3": "lock:\t1: FLOCK  ADVISORY  WRITE " + pid + " DEVINO 0 EOF\n",
		}, []owner{{-1, Flock, Exclusive}}},
		"a hidden process": {map[string]string{
			"locks": "1: FLOCK  ADVISORY  WRITE " + self + " DEVINO 0 EOF\n",
		}, []owner{{os.Getpid(), Flock, Exclusive}}},
		"one that has it no more": {map[string]string{
			"locks":            "1: FLOCK  ADVISORY  WRITE " + self + " DEVINO 0 EOF\n",
			self + "/fdinfo/3": "pos:\t0\n", self + "/fd/3": "-> LOCKED",
		}, []owner{{-1, Flock, Exclusive}}},
		"numbers of another namespace": {map[string]string{
			"locks": "1: FLOCK  ADVISORY  READ 0 DEVINO 0 EOF\n2: OFDLCK ADVISORY  WRITE -1 DEVINO 0 EOF\n",
		}, []owner{{-1, Flock, Shared}, {-1, OFD, Exclusive}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			locked := newFile(t)
			var st unix.Stat_t
			if err := unix.Stat(locked, &st); err != nil {
				t.Fatal(err)
			}
			for name, text := range c.files {
				c.files[name] = strings.ReplaceAll(text, ":INO", fmt.Sprintf(":%d", st.Ino))
			}
			p, fd, id := fakeProc(t, locked, c.files)
			got := p.search(fd, id)
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("search = %v, want %v", got, c.want)
			}
			p.holders(fd, id) // describes what may have vanished
		})
	}
}

func TestOtherUsersProcessOnAFileSystemWithTwoDevices(t *testing.T) {
	t.Parallel()
	locked := newFile(t)
	var st unix.Stat_t
	if err := unix.Stat(locked, &st); err != nil {
		t.Fatal(err)
	}
	p, fd, id := fakeProc(t, locked, map[string]string{
		"locks":          fmt.Sprintf("1: FLOCK  ADVISORY  WRITE %d 00:2a:%d 0 EOF\n", os.Getpid(), st.Ino),
		"self/mountinfo": "29 1 0:41 / /x rw - btrfs x rw\n30 1 0:42 / /srv rw - btrfs x rw\n",
	})
	info := fmt.Sprintf("%s/self/fdinfo/%d", p.root, fd)
	if err := os.MkdirAll(filepath.Dir(info), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(info, []byte("pos:\t0\nflags:\t0\nmnt_id:\t30\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := p.search(fd, id); len(got) != 1 || got[0].pid != os.Getpid() {
		t.Errorf("search = %v", got)
	}
}

func TestHostileProcessesAreQuoted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cmdline, name, want string }{
		{"pbs-like\x00backup\x00vm/100\x00", "x", "pbs-like backup vm/100"},
		{"", "kworker/0:1", "kworker/0:1"},
		{"\x00\x00\x00", "zombie", "zombie"},
		{"a\nb\x1b[2Jc\x00", "", `a\nb\x1b[2Jc`},
		{"\xff\xfe", "", `\xff\xfe`},
		{"\u202egnp.exe", "", `\u202egnp.exe`},
		{`x", user root) since 2020`, "", `x\", user root) since 2020`},
		{"Müller", "", "Müller"},
		{strings.Repeat("a", 1000), "", strings.Repeat("a", maxCommand) + "…"},
		{strings.Repeat("a", maxCommand-1) + "ü", "", strings.Repeat("a", maxCommand-1) + "…"},
	} {
		if got := printable([]byte(c.cmdline), c.name); got != c.want {
			t.Errorf("printable(%q, %q) = %q, want %q", c.cmdline, c.name, got, c.want)
		}
	}
}

func FuzzLockLine(f *testing.F) {
	f.Add("1: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF")
	f.Add("12: -> POSIX  ADVISORY  READ  4711 00:2f:18446744073709551615 0 0")
	f.Add("3: OFDLCK ADVISORY  READ -1 08:01:2 0 EOF")
	f.Add("4: LEASE  ACTIVE    READ 4711 fe:00:131 0 EOF")
	f.Add("5: POSIX  ADVISORY  WRITE 4711 <none>:0 0 EOF")
	f.Fuzz(func(t *testing.T, line string) {
		l, ok := parseLockLine(line)
		if !ok {
			return
		}
		kind := map[Kind]string{Flock: "FLOCK", Record: "POSIX", OFD: "OFDLCK"}[l.kind]
		mode := map[Mode]string{Shared: "READ", Exclusive: "WRITE"}[l.mode]
		again, ok := parseLockLine(fmt.Sprintf("1: %s ADVISORY %s %d %x:%x:%d 0 EOF", kind, mode, l.pid,
			unix.Major(l.id.dev), unix.Minor(l.id.dev), l.id.ino))
		if !ok || again != l {
			t.Errorf("%q: %+v, printed and read again %+v, %v", line, l, again, ok)
		}
	})
}

func FuzzProcessFiles(f *testing.F) {
	f.Add("7 (a) b) S 1 2", "Name:\tx\nUid:\t0\t34\t0\t0\n", []byte("a\x00b\x1b\x00"))
	f.Fuzz(func(t *testing.T, stat, status string, cmdline []byte) {
		process, _ := procstat.Parse([]byte(stat))
		parseUID(status)
		got := printable(cmdline, process.Name)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("printable(%q) = %q", cmdline, got)
		}
	})
}

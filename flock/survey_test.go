package flock

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/helperproc"
)

// memoryDir is a directory for thousands of small files, on a file system that has
// no other locks.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "flock-test-") //nolint:usetesting // that would be on a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func openDir(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// survey makes one of the file system of a directory.
func survey(t testing.TB, o SurveyOptions, dir string) *Survey {
	t.Helper()
	s, err := NewSurvey(t.Context(), o, openDir(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Survey) of(t testing.TB, name string) []Holder {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		t.Fatal(err)
	}
	return s.Holders(uint64(st.Dev), st.Ino)
}

// holdEachKind has other processes hold a lock of each kind, on a file each.
func holdEachKind(t testing.TB, dir string) map[string]int {
	t.Helper()
	pids := map[string]int{}
	for _, kind := range []string{"shared", "exclusive", "record shared", "record exclusive", "classic"} {
		name := filepath.Join(dir, strings.ReplaceAll(kind, " ", "-"))
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if kind == "classic" {
			p := helperproc.Start(t, "classic", "exclusive", name)
			p.Expect("got it")
			pids[name] = p.PID
			continue
		}
		p := helperproc.Start(t, "lock", kind, name)
		p.WaitReady()
		pids[name] = p.PID
	}
	return pids
}

func TestASurveyTellsOfEachFileWhatASearchForItTells(t *testing.T) {
	t.Parallel()
	dir := memoryDir(t)
	pids := holdEachKind(t, dir)
	s := survey(t, SurveyOptions{}, dir)
	for name, pid := range pids {
		want, err := Holders(openDir(t, name))
		got := s.of(t, name)
		if err != nil || len(got) != 1 || got[0].PID != pid || got[0].Ticks == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want pid %d as in %+v, %v", name, got, pid, want, err)
		}
		if !slices.ContainsFunc(s.Files(), func(f LockedFile) bool { return f.Path == name }) {
			t.Errorf("%s is not among %v", name, s.Files())
		}
	}
	free := newFile(t)
	if got := s.of(t, free); len(got) != 0 {
		t.Errorf("of a file that nobody has: %v", got)
	}
}

// roleSurvey says who holds locks on the files of a directory.
func roleSurvey(ctx context.Context, args []string, c *helperproc.IO) error {
	dir, err := os.Open(args[0])
	if err != nil {
		return err
	}
	s, err := NewSurvey(ctx, SurveyOptions{}, dir)
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	for _, name := range names {
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(args[0], name), &st); err != nil {
			return err
		}
		for _, h := range s.Holders(uint64(st.Dev), st.Ino) {
			c.Say(fmt.Sprintf("%s %v %v %d", name, h.Kind, h.Mode, h.PID))
		}
	}
	c.Say(fmt.Sprintf("hidden %v", s.Hidden() > 0))
	return err
}

func TestASurveyByAnotherUserSeesWhatTheKernelTellsEverybody(t *testing.T) {
	t.Parallel()
	other := helperproc.Options{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	needs(t, other)
	dir := memoryDir(t)
	pids := holdEachKind(t, dir)
	p := helperproc.StartWith(t, other, "survey", dir)
	pid := func(name string) int { return pids[filepath.Join(dir, name)] }
	p.Expect(fmt.Sprintf("classic posix exclusive %d", pid("classic")))
	p.Expect(fmt.Sprintf("exclusive flock exclusive %d", pid("exclusive")))
	p.Expect("record-exclusive ofd exclusive -1") // the kernel has no number for these
	p.Expect("record-shared ofd shared -1")
	p.Expect(fmt.Sprintf("shared flock shared %d", pid("shared")))
	p.Expect("hidden true")
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// crowd makes a proc file system with n processes, of which the first hold many locks
// on files in dir, others have other files open, and some can't be looked at.
func crowd(t testing.TB, dir string, n, locks int) (root string, device string) {
	t.Helper()
	root = memoryDir(t)
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	device = fmt.Sprintf("%02x:%02x", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)))
	var all strings.Builder
	for i := range n {
		pid := 1_000_000_000 + i // above any that is alive
		proc := fmt.Sprintf("%s/%d", root, pid)
		must := func(err error) {
			if err != nil {
				t.Helper()
				t.Fatal(err)
			}
		}
		must(os.MkdirAll(proc+"/fd", 0o755))
		must(os.MkdirAll(proc+"/fdinfo", 0o755))
		for fd := range 3 {
			target, info := "/dev/null", "pos:\t0\n"
			if file := 3*i + fd; file < locks {
				target = fmt.Sprintf("%s/%d", dir, file)
				must(os.WriteFile(target, nil, 0o644))
				must(unix.Stat(target, &st))
				line := fmt.Sprintf("%d: FLOCK  ADVISORY  WRITE %d %s:%d 0 EOF\n", file, pid, device, st.Ino)
				info += "lock:\t" + line
				all.WriteString(line)
			}
			must(os.Symlink(target, fmt.Sprintf("%s/fd/%d", proc, fd)))
			must(os.WriteFile(fmt.Sprintf("%s/fdinfo/%d", proc, fd), []byte(info), 0o644))
		}
	}
	if err := os.WriteFile(root+"/locks", []byte(all.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return root, device
}

func TestASurveyOfTenThousandProcessesTakesSeconds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it makes a hundred thousand files")
	}
	dir := memoryDir(t)
	const locks = 3000
	root, _ := crowd(t, dir, 10_000, locks)
	start := time.Now()
	s := survey(t, SurveyOptions{Proc: root}, dir)
	took := time.Since(start)
	t.Logf("10,000 processes with 30,000 descriptors, %d of them locked: %v", locks, took)
	if took > 20*time.Second {
		t.Errorf("a survey took %v", took)
	}
	for file := range locks {
		got := s.of(t, fmt.Sprintf("%s/%d", dir, file))
		if len(got) != 1 || got[0].PID != 1_000_000_000+file/3 {
			t.Fatalf("file %d: %v", file, got)
		}
	}
}

func TestASurveyBearsProcessesThatAreGone(t *testing.T) {
	t.Parallel()
	dir := memoryDir(t)
	root, device := crowd(t, dir, 3, 6)
	gone := filepath.Join(dir, "gone")
	if err := os.WriteFile(gone, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(gone, &st); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(root + "/locks")
	if err != nil {
		t.Fatal(err)
	}
	text = fmt.Appendf(text, "9: FLOCK  ADVISORY  WRITE 1999999999 %s:%d 0 EOF\n\x00\xff:\n1: FLOCK\n", device, st.Ino)
	for name, data := range map[string][]byte{root + "/locks": text, root + "/1000000002/fdinfo/1": nil} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Gone between the list of processes and the look at it, and in the middle of that.
	for _, name := range []string{"/1000000001/fd", "/1000000000/fdinfo/1", "/1000000000/fdinfo/2"} {
		if err := os.RemoveAll(root + name); err != nil {
			t.Fatal(err)
		}
	}
	s := survey(t, SurveyOptions{Proc: root}, dir)
	if got := s.of(t, dir+"/0"); len(got) != 1 || got[0].PID != 1_000_000_000 {
		t.Errorf("of one that is there: %v", got)
	}
	for _, name := range []string{"1", "gone"} {
		if got := s.of(t, filepath.Join(dir, name)); len(got) != 1 || got[0].PID != -1 {
			t.Errorf("%s: %v, want a holder that is not known", name, got)
		}
	}
}

func TestASurveyWhileProcessesComeAndGo(t *testing.T) {
	t.Parallel()
	dir := memoryDir(t)
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tree := openDir(t, dir)
	enough, ended := make(chan struct{}), make(chan int)
	go func() {
		looks := 0
		defer func() { ended <- looks }()
		for ; ; looks++ {
			select {
			case <-enough:
				return
			default:
			}
			s, err := NewSurvey(t.Context(), SurveyOptions{}, tree)
			if err != nil {
				t.Error(err)
				return
			}
			for _, h := range s.of(t, name) {
				if h.Kind != Flock || h.Mode != Shared {
					t.Errorf("%+v", h)
				}
			}
		}
	}()
	for range 20 {
		p := helperproc.Start(t, "lock", "shared", name)
		p.WaitReady()
		p.Kill()
	}
	close(enough)
	t.Logf("%d looks", <-ended)
}

func TestASurveyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewSurvey(ctx, SurveyOptions{}, openDir(t, t.TempDir())); err == nil {
		t.Error("no error")
	}
}

func TestMountPointsBelowADirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(root+"/self", 0o755); err != nil {
		t.Fatal(err)
	}
	text := "30 1 8:1 / / rw - ext4 /dev/a rw\n31 30 8:2 / /srv rw - ext4 b rw\n" +
		"32 31 8:3 / /srv/store/vm/100 rw - ext4 c rw\n33 31 0:44 /sub /srv/store/a\\040b\\134 rw - btrfs d rw\n34 31 8:4 / /srv/store2 rw - x e rw\nbad\n"
	if err := os.WriteFile(root+"/self/mountinfo", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := slices.Collect(procfs{root}.mountsBelow("/srv/store"))
	want := []mountPoint{{"/srv/store/vm/100", unix.Mkdev(8, 3)}, {`/srv/store/a b\`, unix.Mkdev(0, 44)}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// BenchmarkSurvey is one look at this machine's processes.
func BenchmarkSurvey(b *testing.B) {
	dir := memoryDir(b)
	var locked []io.Closer
	for i := range 1000 {
		name := fmt.Sprintf("%s/%d", dir, i)
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			b.Fatal(err)
		}
		g, err := TryExclusive(Ref{Name: name})
		if err != nil {
			b.Fatal(err)
		}
		locked = append(locked, g)
	}
	for b.Loop() {
		survey(b, SurveyOptions{}, dir)
	}
	for _, g := range locked {
		_ = g.Close()
	}
}

package dirstore_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// plant puts one of everything that is no lock into locks/.
func plant(t *testing.T, dir string) (names []string) {
	t.Helper()
	locks := filepath.Join(dir, "locks")
	in := func(name string) string {
		names = append(names, name)
		return filepath.Join(locks, name)
	}
	must(t, os.MkdirAll(locks, 0o755))
	must(t, os.MkdirAll(filepath.Join(in("directory"), "with", "more"), 0o755))
	must(t, os.Mkdir(in("empty directory"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "outside"), []byte("precious"), 0o644))
	must(t, os.Symlink("../outside", in("link")))
	must(t, os.Symlink("nowhere", in("dangling")))
	must(t, unix.Mkfifo(in("fifo"), 0o644))
	must(t, os.WriteFile(in("UPPER"), nil, 0o644))
	must(t, os.WriteFile(in("\xff\n"), []byte("{"), 0o644))
	must(t, os.WriteFile(in(strings.Repeat("a", 255)), []byte("7"), 0o644))
	huge, err := os.Create(in("100 MB"))
	must(t, err)
	must(t, huge.Truncate(100<<20))
	must(t, huge.Close())
	must(t, os.WriteFile(filepath.Join(locks, "tmpabcd1234.tmp"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(locks, "0123456789abcdef.del"), nil, 0o600))
	slices.Sort(names)
	return names
}

func TestWhateverLiesThereIsListedRefusedAndCleared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, dirstore.Options{})
	want := plant(t, dir)
	got, err := s.List(t.Context(), "locks")
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("listed %q, %v, want %q", got, err, want)
	}
	infos, err := storelock.List(t.Context(), s, storelock.Options{})
	if err != nil || len(infos) != len(want) {
		t.Errorf("%d infos, %v", len(infos), err)
	}
	for _, i := range infos {
		if i.Err == nil {
			t.Errorf("%q is a lock: %+v", i.Name, i)
		}
	}
	if _, err := storelock.Acquire(t.Context(), s, storelock.Options{}); !errors.Is(err, storelock.ErrTimeout) {
		t.Errorf("while it is fresh: %v", err)
	}
	removed, err := storelock.Break(t.Context(), s, storelock.Options{}, storelock.BreakOptions{Force: true})
	if err != nil || len(removed) != len(want) {
		t.Errorf("removed %v, %v", removed, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "outside")); string(text) != "precious" {
		t.Errorf("outside: %q, %v", text, err)
	}
	g, err := storelock.Acquire(t.Context(), s, storelock.Options{Exclusive: true})
	must(t, err)
	must(t, g.Close())
}

// TestGarbageGoesStale: nobody has to clear it.
func TestGarbageGoesStale(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, dirstore.Options{})
	want := plant(t, dir)
	cleared := 0
	g, err := storelock.Acquire(t.Context(), s, storelock.Options{
		Exclusive: true, Timeout: time.Minute, Stale: time.Second, RecheckDelay: time.Millisecond, Cleared: func(storelock.Info) { cleared++ },
	})
	must(t, err)
	must(t, g.Close())
	if cleared != len(want) {
		t.Errorf("%d cleared, want %d", cleared, len(want))
	}
}

func TestObjectsFollowTheDirectorysModeAndGroup(t *testing.T) {
	// Not in parallel with others that depend on it: the umask is the process's.
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	for dirMode, want := range map[os.FileMode]os.FileMode{0o700: 0o600, 0o770: 0o660, 0o755: 0o644, 0o777: 0o666} {
		dir := t.TempDir()
		must(t, os.Chmod(dir, dirMode))
		group := os.Getgid()
		if os.Geteuid() == 0 {
			group = 4242
			must(t, os.Chown(dir, -1, group))
		}
		s := open(t, dir, dirstore.Options{})
		must(t, s.Store(t.Context(), "locks/aa", []byte("x")))
		for name, mode := range map[string]os.FileMode{"locks": dirMode | os.ModeDir, "locks/aa": want} {
			st, err := os.Lstat(filepath.Join(dir, name))
			must(t, err)
			var raw unix.Stat_t
			must(t, unix.Lstat(filepath.Join(dir, name), &raw))
			if st.Mode() != mode || int(raw.Gid) != group {
				t.Errorf("%v: %s has %v of group %d, want %v of %d", dirMode, name, st.Mode(), raw.Gid, mode, group)
			}
		}
	}
}

func TestAMissingStoreIsNoEmptyOne(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	if _, err := dirstore.Open(dir, dirstore.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	must(t, os.Mkdir(dir, 0o755))
	s := open(t, dir, dirstore.Options{})
	must(t, os.Remove(dir))
	_, err := storelock.Acquire(t.Context(), s, storelock.Options{})
	if !errors.Is(err, storelock.ErrFailed) || !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestEachFailingChangeLeavesNothing: a full disk, a read-only one, refused deletes.
func TestEachFailingChangeLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, errno := range []unix.Errno{unix.ENOSPC, unix.EROFS, unix.EACCES, unix.EIO} {
		for script := range fsoptest.Failures(t, errno) {
			dir := t.TempDir()
			s := open(t, dir, dirstore.Options{Disk: script.Disk()})
			g, err := storelock.Acquire(t.Context(), s, storelock.Options{Exclusive: true, Timeout: time.Minute})
			if err != nil {
				t.Errorf("%v: one failure is survived: %v", script, err)
				continue
			}
			if err := g.Close(); err != nil && !errors.Is(err, errno) {
				t.Errorf("%v: %v", script, err)
			}
			wantNoObjects(t, dir)
		}
	}
}

func wantNoObjects(t *testing.T, dir string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		left := []string{}
		for _, prefix := range []string{"locks", "queue", "probe"} {
			entries, _ := os.ReadDir(filepath.Join(dir, prefix))
			for _, e := range entries {
				left = append(left, prefix+"/"+e.Name())
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("left: %q", left)
			return
		}
		time.Sleep(10 * time.Millisecond) // what can't be deleted at once is deleted in the background
	}
}

func TestADiskThatFailsForGoodIsAFailure(t *testing.T) {
	t.Parallel()
	for _, errno := range []unix.Errno{unix.ENOSPC, unix.EROFS} {
		s := open(t, t.TempDir(), dirstore.Options{Disk: fsoptest.FailFrom(0, errno).Disk()})
		for _, timeout := range []time.Duration{0, time.Minute} {
			start := time.Now()
			_, err := storelock.Acquire(t.Context(), s, storelock.Options{Timeout: timeout})
			if !errors.Is(err, storelock.ErrFailed) || !errors.Is(err, errno) || storelock.Code(err) != 72 || time.Since(start) > 10*time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		}
	}
}

func TestLeftoversOfWritersThatDiedAreSwept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, dirstore.Options{})
	must(t, os.Mkdir(filepath.Join(dir, "locks"), 0o755))
	old := time.Now().Add(-2 * time.Hour)
	for name, mtime := range map[string]time.Time{"tmpaaaaaaaa.tmp": old, "ABCDEFGH.tmp": old, "tmpbbbbbbbb.tmp": time.Now(), "0123456789abcdef": old} {
		path := filepath.Join(dir, "locks", name)
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Chtimes(path, mtime, mtime))
	}
	must(t, s.Store(t.Context(), "locks/aa", nil))
	entries, err := os.ReadDir(filepath.Join(dir, "locks"))
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if want := []string{"0123456789abcdef", "aa", "tmpbbbbbbbb.tmp"}; !slices.Equal(got, want) {
		t.Errorf("there is %q, want %q", got, want)
	}
}

// TestLockDirectoryOfTheOriginalIsHonoured has the objects that the original wrote.
func TestLockDirectoryOfTheOriginalIsHonoured(t *testing.T) {
	t.Parallel()
	for exclusive, key := range map[bool]string{true: "023f6718cabcce8c", false: "60f57545ade2b146"} {
		dir := t.TempDir()
		must(t, os.Mkdir(filepath.Join(dir, "locks"), 0o755))
		data, err := os.ReadFile("../testdata/objects/" + key)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "locks", key), data, 0o600))
		s := open(t, dir, dirstore.Options{})
		g, err := storelock.Acquire(t.Context(), s, storelock.Options{})
		if (err == nil) == exclusive {
			t.Errorf("shared beside exclusive=%v: %v", exclusive, err)
		}
		must(t, g.Close())
		if _, err := storelock.Acquire(t.Context(), s, storelock.Options{Exclusive: true}); !errors.Is(err, storelock.ErrTimeout) {
			t.Errorf("exclusive beside exclusive=%v: %v", exclusive, err)
		}
		infos, err := storelock.List(t.Context(), s, storelock.Options{})
		if err != nil || len(infos) != 1 || !infos[0].Foreign() || infos[0].HostID != "vm@3281355014145" || infos[0].PID != 4711 || infos[0].Exclusive != exclusive {
			t.Errorf("%v, %v", infos, err)
		}
	}
}

// TestADirectoryWithFilesIsPutAsideAndNotDestroyed: who names the wrong directory has
// not lost what was in it.
func TestADirectoryWithFilesIsPutAsideAndNotDestroyed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"data", strings.Repeat("d", 255)} {
		must(t, os.MkdirAll(filepath.Join(dir, "locks", name), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "locks", name, "precious"), []byte("yes"), 0o644))
	}
	s := open(t, dir, dirstore.Options{})
	_, err := storelock.Break(t.Context(), s, storelock.Options{}, storelock.BreakOptions{Force: true})
	must(t, err)
	g, err := storelock.Acquire(t.Context(), s, storelock.Options{Exclusive: true})
	must(t, err)
	must(t, g.Close())
	kept, err := filepath.Glob(filepath.Join(dir, "locks", "*.del", "precious"))
	if err != nil || len(kept) != 2 {
		t.Errorf("kept %q, %v", kept, err)
	}
}

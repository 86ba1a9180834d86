package treefind

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/catalog"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
)

func numbered(n int) (cacheKey, *nameList) {
	w := listWriter{limit: 1 << 20}
	w.add(&item{path: "/x", kind: catalog.Directory})
	w.add(&item{path: fmt.Sprintf("/x/%04d", n), kind: catalog.File})
	list, _ := w.finish()
	return cacheKey{byte(n), byte(n >> 8)}, list
}

// newCacheIn tells of notices, of which a test that wants some takes them off the list.
func newCacheIn(t *testing.T, dir string, limit int64) (cache *Cache, notices *[]error) {
	t.Helper()
	notices = new([]error)
	cache = NewCache(dir, CacheOptions{Limit: limit, Notice: func(err error) { *notices = append(*notices, err) }})
	t.Cleanup(func() {
		_ = cache.Close()
		if len(*notices) > 0 {
			t.Error(*notices)
		}
	})
	return cache, notices
}

func TestOnlyTheUserCanReadTheCache(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	cache, _ := newCacheIn(t, dir, 0)
	key, list := numbered(1)
	if cache.load(key) != nil {
		t.Error("something in a cache that is not there")
	}
	cache.save(key, list)
	got := cache.load(key)
	if got == nil || string(got.names) != string(list.names) || string(got.records) != string(list.records) {
		t.Fatalf("%+v", got)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Dir(dir): 0o700, filepath.Join(dir, key.file()): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}

func TestAFileThatIsNotAsItWasWrittenIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cache, _ := newCacheIn(t, dir, 0)
	key, list := numbered(1)
	path := filepath.Join(dir, key.file())
	spoil := []func() error{
		func() error { return os.WriteFile(path, []byte("x"), 0o600) },
		func() error { return os.Truncate(path, maxCacheFile+1) },
		func() error { return os.Chmod(path, 0o666) },
		func() error { return errors.Join(os.Remove(path), os.Symlink("/dev/zero", path)) },
		func() error { return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)) },
	}
	for i, change := range spoil {
		cache.save(key, list)
		if cache.load(key) == nil {
			t.Fatalf("%d: it was not replaced", i)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if cache.load(key) != nil {
			t.Errorf("%d: it is trusted", i)
		}
	}
}

func TestADirectoryThatOthersCanWriteToIsNotUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // that is what the test is about
		t.Fatal(err)
	}
	cache, notices := newCacheIn(t, dir, 0)
	key, list := numbered(1)
	cache.save(key, list)
	if cache.load(key) != nil || len(*notices) != 1 {
		t.Errorf("%v", *notices)
	}
	*notices = nil
}

// TestACacheThatCantBeWrittenSaysSoOnce makes each change fail; what is in the directory is then whole, or not there.
func TestACacheThatCantBeWrittenSaysSoOnce(t *testing.T) {
	t.Parallel()
	for script := range fsoptest.Failures(t, unix.ENOSPC) {
		dir := filepath.Join(t.TempDir(), "cache")
		cache, notices := newCacheIn(t, dir, 0)
		cache.disk = script.Disk()
		key, list := numbered(1)
		cache.save(key, list)
		cache.save(key, list)
		if len(*notices) > 1 {
			t.Errorf("%v", *notices)
		}
		*notices = nil
		fresh, _ := newCacheIn(t, dir, 0)
		entries, _ := os.ReadDir(dir)
		if len(entries) > 1 || len(entries) == 1 && fresh.load(key) == nil {
			t.Errorf("left behind: %v", entries)
		}
	}
}

func TestWhatWasNotUsedForTheLongestTimeGoesFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, sample := numbered(0)
	size := int64(len(encodeList(cacheKey{}, sample)))
	cache, _ := newCacheIn(t, dir, 10*size)
	long := time.Now().Add(-100 * time.Hour)
	for n := range 20 {
		key, list := numbered(n)
		cache.save(key, list)
		when := long.Add(time.Duration(n) * time.Minute)
		_ = os.Chtimes(filepath.Join(dir, key.file()), when, when) // some are gone already
	}
	key, list := numbered(20)
	cache.save(key, list)
	oldest := -1
	for n := range 20 { // the oldest that is there is used now
		if key, _ := numbered(n); cache.load(key) != nil {
			oldest = n
			break
		}
	}
	other := filepath.Join(dir, "something else")
	young := filepath.Join(dir, "x.tmp_abcdef")
	abandonedFile := filepath.Join(dir, "y.tmp_abcdef")
	for _, path := range []string{other, young, abandonedFile} {
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chtimes(abandonedFile, long, long), os.Chtimes(other, long, long)); err != nil {
		t.Fatal(err)
	}
	for n := 21; n < 25; n++ {
		key, list := numbered(n)
		cache.save(key, list)
	}
	_ = cache.Close()
	files, err := filepath.Glob(filepath.Join(dir, "*"+fileSuffix))
	if err != nil || len(files) != 10 {
		t.Errorf("%d files, %v", len(files), err)
	}
	used, _ := numbered(oldest)
	newest, _ := numbered(24)
	for _, path := range []string{other, young, filepath.Join(dir, used.file()), filepath.Join(dir, newest.file())} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(abandonedFile); err == nil {
		t.Error("what was abandoned is still there")
	}
}

// TestSeveralProcessesUseOneCache has each write, read and trim; what is read is what was written.
func TestSeveralProcessesUseOneCache(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, sample := numbered(0)
	size := int64(len(encodeList(cacheKey{}, sample)))
	var all sync.WaitGroup
	for range 4 {
		cache, _ := newCacheIn(t, dir, 8*size)
		all.Go(func() {
			for n := range 200 {
				key, list := numbered(n % 16)
				if got := cache.load(key); got != nil && string(got.names) != string(list.names) {
					t.Errorf("%d: %q", n, got.names)
				}
				cache.save(key, list)
			}
		})
	}
	all.Wait()
}

package treefind_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/keys"
	"github.com/pbs-like/pbs-like/treefind"
)

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAPathIsFollowedThroughBothFormsOfATree has a file that changes, goes, and comes back, while the archives change from one form
// to the other; one snapshot has no catalog.
func TestAPathIsFollowedThroughBothFormsOfATree(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	backup(t, store, "host/h", 1, tree{"etc/", "etc/a=5", "etc/b=1"}.unsplit(t), nil)
	backup(t, store, "host/h", 2, tree{"etc/", "etc/a=5"}.split(t), nil)
	backup(t, store, "host/h", 3, tree{"etc/", "etc/a=6", "etc/b=1"}.split(t), nil)
	withoutCatalog := tree{"etc/", "etc/a=6", "etc/b=1"}.unsplit(t)
	delete(withoutCatalog, "catalog.pcat1")
	backup(t, store, "host/h", 4, withoutCatalog, nil)
	for _, cache := range []*treefind.Cache{nil, treefind.NewCache(t.TempDir(), treefind.CacheOptions{})} {
		for range 2 { // out of the cache it is the same
			lines, skipped := found(t, treefind.Search{Matcher: compiled(t, treefind.Query{Pattern: "[ab]"}), Cache: cache}, store, "host/h")
			if len(skipped) > 0 {
				t.Error(skipped)
			}
			wantLines(
				t, lines,
				"root.pxar /etc/a file 5 1-2 x2",
				"root.pxar /etc/a file 6 3-4 x2",
				"root.pxar /etc/b file 1 1-1 x1",
				"root.pxar /etc/b file 1 3-4 x2",
			)
		}
		_ = cache.Close()
	}
}

func TestOnlyTheNewestSnapshotIsSearchedWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	backup(t, store, "host/h", 1, tree{"a=1"}.unsplit(t), nil)
	newest := backup(t, store, "host/h", 2, tree{"a=2"}.unsplit(t), nil)
	lines, _ := found(t, treefind.Search{Matcher: compiled(t, treefind.Query{Pattern: "a"}), Newest: true}, store, "host/h")
	wantLines(t, lines, "root.pxar /a file 2 2-2 x1")
	s := treefind.Search{Store: store.Open(datastore.Options{}), Matcher: compiled(t, treefind.Query{Pattern: "a"})}
	for m, err := range s.Snapshot(t.Context(), newest) {
		if err != nil || m.Versions[0].First != 2 {
			t.Errorf("%+v, %v", m, err)
		}
	}
	newest.Time = 7
	for _, err := range s.Snapshot(t.Context(), newest) {
		if !errors.Is(err, datastore.ErrNotFound) {
			t.Error(err)
		}
	}
}

// TestWhatCantBeSearchedIsNamedAndConcludesNothing has a busy, an unfinished and a damaged snapshot between two good ones.
func TestWhatCantBeSearchedIsNamedAndConcludesNothing(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	backup(t, store, "host/h", 1, tree{"a=1"}.unsplit(t), nil)
	busy := backup(t, store, "host/h", 2, tree{"b=1"}.unsplit(t), nil)
	unfinished := backup(t, store, "host/h", 3, tree{"c=1"}.unsplit(t), nil)
	damaged := backup(t, store, "host/h", 4, tree{"d=1"}.unsplit(t), nil)
	backup(t, store, "host/h", 5, tree{"a=1"}.unsplit(t), nil)
	held, err := store.Open(datastore.Options{}).Hold(t.Context(), busyObject(t, busy), datastore.HoldOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := os.Remove(filepath.Join(store.Dir, unfinished.Dir(), backupinfo.ManifestName)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"catalog.pcat1.didx", "root.pxar.didx"} {
		if err := os.Truncate(filepath.Join(store.Dir, damaged.Dir(), name), 100); err != nil {
			t.Fatal(err)
		}
	}
	lines, skipped := found(t, treefind.Search{Matcher: compiled(t, treefind.Query{Pattern: "*"})}, store, "host/h")
	wantLines(t, lines, "root.pxar /a file 1 1-5 x2")
	text := errors.Join(skipped...).Error()
	for i, want := range []error{flock.ErrLocked, datastore.ErrUnfinished, datastore.ErrCorrupt, datastore.ErrCorrupt} {
		if len(skipped) != 4 || !errors.Is(skipped[i], want) {
			t.Fatalf("%s", text)
		}
	}
	for _, s := range []backupinfo.Snapshot{busy, unfinished, damaged} {
		if !strings.Contains(text, s.String()) {
			t.Errorf("%v is not named in %s", s, text)
		}
	}
}

func busyObject(t *testing.T, s backupinfo.Snapshot) backupinfo.Object {
	t.Helper()
	o, err := backupinfo.ParseObject(backupinfo.Namespace{}, s.String())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestADamagedCatalogIsSearchedAsFarAsItGoes has what is missing from it neither gone nor there.
func TestADamagedCatalogIsSearchedAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	good := tree{"a/", "a/x=1", "b=2"}.unsplit(t)
	backup(t, store, "host/h", 1, good, nil)
	bad := tree{"a/", "a/x=1", "b=2"}.unsplit(t)
	bad["catalog.pcat1"][8] = 0x7f // the length of the first block, which is that of /a
	backup(t, store, "host/h", 2, bad, nil)
	backup(t, store, "host/h", 3, good, nil)
	cache := treefind.NewCache(t.TempDir(), treefind.CacheOptions{})
	defer cache.Close()
	for range 2 { // nor is it kept
		lines, skipped := found(t, treefind.Search{Matcher: compiled(t, treefind.Query{Pattern: "[xb]"}), Cache: cache}, store, "host/h")
		wantLines(t, lines, "root.pxar /a/x file 1 1-3 x2", "root.pxar /b file 2 1-3 x3")
		if len(skipped) != 1 || !errors.Is(skipped[0], datastore.ErrCorrupt) {
			t.Error(skipped)
		}
	}
}

func TestNamesThatCanBeNoneAreDamage(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"..", "a/b", ""} {
		store := testds.New(t)
		streams := tree{"file=1"}.unsplit(t)
		streams["catalog.pcat1"] = withName(t, name)
		backup(t, store, "host/h", 1, streams, nil)
		lines, skipped := found(t, treefind.Search{Matcher: compiled(t, treefind.Query{Pattern: "*"})}, store, "host/h")
		if len(lines) > 0 || len(skipped) != 1 || !errors.Is(skipped[0], datastore.ErrCorrupt) {
			t.Errorf("%q: %q, %v", name, lines, skipped)
		}
	}
}

func withName(t *testing.T, name string) []byte {
	t.Helper()
	data := tree{"file=1"}.catalog(t)
	at := strings.Index(string(data), "file")
	return []byte(string(data[:8]) + string(rune(int(data[8])-4+len(name))) + string(data[9:at-1]) + string(rune(len(name))) + name +
		string(data[at+4:len(data)-10]) + catalogEnd(data, len(name)-4))
}

// catalogEnd moves the pointers at the end of a small catalog.
func catalogEnd(data []byte, by int) string {
	end := slices.Clone(data[len(data)-10:])
	end[1] = end[1] + byte(by) // how far back the tree is
	end[2] = end[2] + byte(by) // where the root is
	return string(end)
}

func newKey(t *testing.T) *keys.Key {
	t.Helper()
	key, err := keys.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func ring(key *keys.Key) func(string) (*keys.Key, error) {
	return func(fingerprint string) (*keys.Key, error) {
		if fingerprint != backupinfo.Fingerprint(key.Fingerprint()).String() {
			return nil, nil
		}
		return key, nil
	}
}

func TestNamesOfEncryptedTreesNeedTheKeyAndAreNotKept(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	key := newKey(t)
	backup(t, store, "host/h", 1, tree{"secret=1"}.unsplit(t), key)
	backup(t, store, "host/h", 2, tree{"secret=1"}.split(t), key)
	dir := t.TempDir()
	search := func(ring func(string) (*keys.Key, error), keep bool) ([]string, []error) {
		cache := treefind.NewCache(dir, treefind.CacheOptions{})
		defer cache.Close()
		return found(t, treefind.Search{
			Matcher: compiled(t, treefind.Query{Pattern: "secret"}), Key: ring, Cache: cache, CacheEncrypted: keep,
		}, store, "host/h")
	}
	const want = "root.pxar /secret file 1 1-2 x2"
	lines, skipped := search(ring(key), false)
	wantLines(t, lines, want)
	if len(skipped) > 0 || len(filesOf(t, dir)) > 0 {
		t.Errorf("%v, %q", skipped, filesOf(t, dir))
	}
	lines, _ = search(ring(key), true)
	wantLines(t, lines, want)
	if len(filesOf(t, dir)) != 2 {
		t.Errorf("%q", filesOf(t, dir))
	}
	for _, other := range []func(string) (*keys.Key, error){nil, ring(newKey(t))} { // also with the names in the cache
		lines, skipped = search(other, true)
		if len(lines) > 0 || len(skipped) != 2 || !errors.Is(skipped[0], blob.ErrNeedKey) || !errors.Is(skipped[1], blob.ErrNeedKey) {
			t.Errorf("%q, %v", lines, skipped)
		}
	}
}

func filesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestTheTreesOfTheOriginalsStoreAreSearched compares what catalogs say with what the archives say.
func TestTheTreesOfTheOriginalsStoreAreSearched(t *testing.T) {
	t.Parallel()
	store := testds.Golden(t, "store")
	lines, skipped := found(t, treefind.Search{Matcher: compiled(t, treefind.Query{Pattern: "hello*"})}, store, "ct/200")
	if len(skipped) > 0 {
		t.Error(skipped)
	}
	wantLines(
		t, lines,
		"root.pxar /etc/sub/hello file 6 1709262245-1709348645 x2",
		"root.pxar /etc/sub/hello-hardlink hardlink 0 1709262245-1709348645 x2",
		"root.pxar /var/hello-hardlink2 hardlink 0 1709262245-1709348645 x2",
	)
}

func TestASearchEndsWithItsContextAndWhereTheCallerStops(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	backup(t, store, "host/h", 1, tree{"a=1", "b=1"}.unsplit(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := treefind.Search{Store: store.Open(datastore.Options{}), Matcher: compiled(t, treefind.Query{Pattern: "*"})}
	for _, err := range s.Group(ctx, store.Group("host/h")) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	n := 0
	for range s.Group(t.Context(), store.Group("host/h")) {
		n++
		break
	}
	if n != 1 {
		t.Error(n)
	}
}

// TestASearchGoesOnBesideRemovals removes snapshots while they are searched: each is searched, busy, or gone.
func TestASearchGoesOnBesideRemovals(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	var all []backupinfo.Snapshot
	for n := range 20 {
		all = append(all, backup(t, store, "host/h", backupinfo.Time(n+1), tree{"a=1"}.unsplit(t), nil))
	}
	removed := make(chan error)
	go func() {
		ds := store.Open(datastore.Options{})
		var failed error
		for _, s := range slices.Backward(all[1:]) {
			_, err := ds.RemoveSnapshot(t.Context(), s, datastore.RemoveOptions{})
			if !errors.Is(err, flock.ErrLocked) {
				failed = errors.Join(failed, err)
			}
		}
		removed <- failed
	}()
	for range 5 {
		lines, skipped := found(t, treefind.Search{Matcher: compiled(t, treefind.Query{Pattern: "a"})}, store, "host/h")
		if len(lines) != 1 {
			t.Errorf("%q", lines)
		}
		for _, err := range skipped {
			if !errors.Is(err, flock.ErrLocked) {
				t.Error(err)
			}
		}
	}
	if err := <-removed; err != nil {
		t.Error(err)
	}
}

// TestALieAboutEncryptionGetsNoNamesIntoTheCache takes the signature off a manifest and calls its archives plain: with the key they
// can be read all the same.
func TestALieAboutEncryptionGetsNoNamesIntoTheCache(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	key := newKey(t)
	s := backup(t, store, "host/h", 1, tree{"secret=1"}.unsplit(t), key)
	path := filepath.Join(store.Dir, s.Dir(), backupinfo.ManifestName)
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder := blob.NewDecoder()
	defer decoder.Close()
	text, err := decoder.Decode(nil, stored, backupinfo.MaxManifestSize)
	if err != nil {
		t.Fatal(err)
	}
	signature := regexp.MustCompile(`"signature": ?"[0-9a-f]*"`)
	lie := signature.ReplaceAllString(strings.ReplaceAll(string(text), `"encrypt"`, `"none"`), `"signature": null`)
	if lie == string(text) || !signature.Match(text) {
		t.Fatalf("%s", text)
	}
	encoder := blob.NewEncoder()
	defer encoder.Close()
	if stored, err = encoder.Encode(nil, []byte(lie)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, stored, 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cache := treefind.NewCache(dir, treefind.CacheOptions{})
	defer cache.Close()
	_, skipped := found(t, treefind.Search{Matcher: compiled(t, treefind.Query{Pattern: "secret"}), Key: ring(key), Cache: cache}, store, "host/h")
	if len(filesOf(t, dir)) > 0 {
		t.Errorf("%q, %v", filesOf(t, dir), skipped)
	}
}

func TestWhatIsSkippedIsNamedOnce(t *testing.T) {
	t.Parallel()
	snapshot, err := backupinfo.ParseSnapshot(backupinfo.Namespace{}, "ct/200/2024-03-01T03:04:05Z")
	if err != nil {
		t.Fatal(err)
	}
	named := `snapshot "ct/200/2024-03-01T03:04:05Z" is unfinished`
	for _, c := range []struct {
		file, text, want string
	}{
		{"", named, named},
		{"", "openat .chunks: permission denied", `"ct/200/2024-03-01T03:04:05Z": openat .chunks: permission denied`},
		{"root.pxar.didx", "damaged", `"ct/200/2024-03-01T03:04:05Z/root.pxar.didx": damaged`},
	} {
		skipped := &treefind.SkippedError{Snapshot: snapshot, File: c.file, Err: errors.New(c.text)}
		if skipped.Error() != c.want {
			t.Errorf("got %s, want %s", skipped, c.want)
		}
	}
}

package pbsrun

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/flock"
)

func TestLockNamesTellWhatTheyAreOf(t *testing.T) {
	t.Parallel()
	const time = "2026-01-15T03:00:00Z"
	long := "host/" + strings.Repeat("a-b.", 60)
	for name, want := range map[string][3]any{
		LockName("", "vm/100"):                           {OfThing, "", "vm/100"},
		LockName("a/b", "ct/x-y.z/"+time):                {OfThing, "a/b", "ct/x-y.z/" + time},
		ManifestLockName("a", "vm/100/"+time):            {OfManifest, "a", "vm/100/" + time},
		OldManifestLockName("ns/a/ns/ns/vm/100/" + time): {OfManifest, "a/ns", "vm/100/" + time},
		OldManifestLockName("vm/100/" + time):            {OfManifest, "", "vm/100/" + time},
		LockName("", long):                               {OfUnknown, "", ""},
		LockName("a", long):                              {OfUnknown, "", ""},
		"move-journal":                                   {OfStore, "", ""},
		"":                                               {OfStore, "", ""},
		`vm-\x2`:                                         {OfUnknown, "", ""},
		`vm-\xzz`:                                        {OfUnknown, "", ""},
		"a/b/c":                                          {OfUnknown, "", ""},
	} {
		role, namespace, thing := ParseLockName(name)
		if got := [3]any{role, namespace, thing}; got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

func FuzzParseLockName(f *testing.F) {
	f.Add("a", "vm/100")
	f.Add("", "host/.-x/2026-01-15T03:00:00Z")
	f.Fuzz(func(t *testing.T, namespace, thing string) {
		role, ns, back := ParseLockName(LockName(namespace, thing))
		plain := !strings.Contains(namespace, ":") && !strings.Contains(namespace, "//") && filepath.IsLocal("x/"+namespace+"/y") && thing != ""
		if role == OfThing && plain && filepath.Clean("/"+namespace) == "/"+namespace && (ns != namespace || back != thing) {
			t.Errorf("%q %q read back as %q %q", namespace, thing, ns, back)
		}
		ParseLockName(thing) // whatever is there
	})
}

func TestLockFilesAreListed(t *testing.T) {
	t.Parallel()
	store, run := testStore(t)
	if files := names(t, store); len(files) != 0 {
		t.Errorf("before there are any: %q", files)
	}
	want := []string{LockName("", "vm/100"), LockName("a", "vm/100"), OldManifestLockName("vm/100/2026-01-15T03:00:00Z")}
	for _, name := range want {
		lock, err := store.Lock(name, flock.Shared)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		if lock.File() == nil {
			t.Error("a lock without its file")
		}
	}
	entry, err := store.Enter(t.Context(), Reading)
	if err != nil {
		t.Fatal(err)
	}
	defer entry.Close()
	want = append(want, "")
	if err := os.Symlink("/", filepath.Join(run, "locks/STORE/link")); err != nil {
		t.Fatal(err)
	}
	got := names(t, store)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func names(t *testing.T, store *Store) (names []string) {
	t.Helper()
	for file, err := range store.LockFiles() {
		if err != nil {
			t.Fatal(err)
		}
		if file.Ino == 0 || !filepath.IsAbs(file.Path) {
			t.Errorf("%+v", file)
		}
		names = append(names, file.Name)
	}
	return names
}

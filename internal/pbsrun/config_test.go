package pbsrun

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const config = `# made by hand
datastore: main
	comment the one
	gc-schedule daily
	maintenance-mode type=read-only,message="till 5, \"sharp\", no later"
	path /srv/main
	tuning chunk-order=none,gc-atime-cutoff=1500

datastore: disk
	backing-device 1234-abcd
	maintenance-mode offline
	path /inner/dir

sync: s1
	path /srv/sync
	datastore: x

datastore: cloud
    backend type=s3,client=a,bucket=b
    path /var/cache/cloud
`

func TestTheConfigurationOfAServerIsRead(t *testing.T) {
	t.Parallel()
	want := []Datastore{
		{
			Name: "main", Path: "/srv/main", GCSchedule: "daily",
			Maintenance: Maintenance{"read-only", `till 5, "sharp", no later`},
			Tuning:      map[string]string{"chunk-order": "none", "gc-atime-cutoff": "1500"},
		},
		{Name: "disk", Path: "/inner/dir", Device: "1234-abcd", Maintenance: Maintenance{Mode: "offline"}},
		{Name: "cloud", Path: "/var/cache/cloud", Backend: "s3"},
	}
	for name, text := range map[string]string{"as written": config, "with CR": strings.ReplaceAll(config, "\n", "\r\n")} {
		got, err := ParseConfig(strings.NewReader(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n%+v", name, err, got)
		}
	}
	if !want[2].OnlyCache() || want[0].OnlyCache() || (Datastore{Backend: "filesystem"}).OnlyCache() {
		t.Error("which are caches")
	}
	if got := want[1].directory("/mnt/datastore"); got != "/mnt/datastore/disk/inner/dir" {
		t.Errorf("a removable one is in %q", got)
	}
}

func TestMaintenanceAllows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{
		"":                                     {true, true},
		"read-only":                            {true, false},
		"type=read-only":                       {true, false},
		`type="read-only"`:                     {true, false},
		"offline":                              {false, false},
		"delete":                               {false, false},
		"type=unmount":                         {false, false},
		"s3-refresh":                           {false, false},
		"message=x":                            {false, false},
		"of a newer server,what=ever":          {false, false},
		`message="type=read-only",type=delete`: {false, false},
	} {
		section := "datastore: abc\n\tpath /x\n"
		if text != "" {
			section += "\tmaintenance-mode " + text + "\n"
		}
		list, err := ParseConfig(strings.NewReader(section))
		if err != nil {
			t.Fatal(err)
		}
		if m := list[0].Maintenance; (m.AllowsReading() != want[0]) || (m.AllowsWriting() != want[1]) {
			t.Errorf("%q: %+v", text, m)
		}
	}
}

func TestAConfigurationThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"line":     "datastore: abc\n\tpath " + strings.Repeat("x", maxConfigLine) + "\n",
		"file":     strings.Repeat("\tcomment x\n", maxConfig/10),
		"sections": strings.Repeat("datastore: abc\n", maxDatastores+1),
	} {
		if _, err := ParseConfig(strings.NewReader(text)); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(config))
	f.Add([]byte("datastore:\n\tmaintenance-mode \"\\\n"))
	f.Add([]byte("datastore: a\n\tbackend ,,,=,\"\n\ttuning a=\"b\"c,d\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := ParseConfig(bytes.NewReader(text))
		if err != nil && list != nil {
			t.Errorf("both %v and %v", list, err)
		}
		for _, d := range list {
			if !d.Maintenance.AllowsReading() && d.Maintenance.AllowsWriting() {
				t.Errorf("%+v", d)
			}
		}
	})
}

// serverWith is a server with a configuration.
func serverWith(t *testing.T, text string) (*Server, string) {
	t.Helper()
	etc := t.TempDir()
	name := filepath.Join(etc, "datastore.cfg")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return New(Options{Etc: etc, Run: filepath.Join(t.TempDir(), "run"), Mounts: filepath.Join(etc, "mnt")}), name
}

func find(t *testing.T, s *Server, dir string) (*Store, error) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	return s.Find(uint64(st.Dev), st.Ino)
}

func TestADatastoreIsFoundByItsDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text, want string
		err        error
	}{
		"served":         {"datastore: main\n\tpath " + dir + "\n", "main", nil},
		"over a link":    {"datastore: main\n\tpath " + link + "\n", "main", nil},
		"second":         {"datastore: one\n\tpath /nowhere\n\ndatastore: two\n\tpath " + dir + "\n", "two", nil},
		"another":        {"datastore: one\n\tpath /nowhere\n", "", nil},
		"other section":  {"sync: one\n\tpath " + dir + "\n", "", nil},
		"twice":          {"datastore: one\n\tpath " + dir + "\ndatastore: two\n\tpath " + link + "\n", "", ErrConfig},
		"name of a path": {"datastore: ../../x\n\tpath " + dir + "\n", "", ErrConfig},
		"empty":          {"", "", nil},
		"no text":        {"\x00\xff\n\n path\n:\n", "", nil},
	} {
		s, _ := serverWith(t, test.text)
		store, err := find(t, s, dir)
		if !errors.Is(err, test.err) || (test.err == nil) != (err == nil) || (store == nil) != (test.want == "") || store != nil && store.Name != test.want {
			t.Errorf("%s: %v, %v", name, store, err)
		}
	}
	if store, err := find(t, New(Options{Etc: "/nonexistent"}), dir); store != nil || err != nil {
		t.Errorf("without a server: %v, %v", store, err)
	}
}

func TestAChangedConfigurationIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, name := serverWith(t, "datastore: one\n\tpath "+dir+"\n")
	for _, mode := range []string{"", "offline", "read-only", "unmount", ""} {
		text := "datastore: one\n\tpath " + dir + "\n"
		if mode != "" {
			text += "\tmaintenance-mode " + mode + "\n"
		}
		if err := errors.Join(os.WriteFile(name+".new", []byte(text), 0o644), os.Rename(name+".new", name)); err != nil {
			t.Fatal(err)
		}
		store, err := find(t, s, dir)
		if err != nil || store.Maintenance.Mode != mode {
			t.Errorf("%q: %+v, %v", mode, store, err)
		}
	}
}

func TestARemovableDatastoreIsMountedOrNot(t *testing.T) {
	t.Parallel()
	s, name := serverWith(t, "datastore: disk\n\tbacking-device 12-34\n\tpath /in\n")
	dir := filepath.Join(filepath.Dir(name), "mnt/disk/in")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	store, err := find(t, s, dir)
	if err != nil || store == nil {
		t.Fatal(store, err)
	}
	if mounted, err := store.Mounted(); mounted || err != nil {
		t.Errorf("a plain directory: %v, %v", mounted, err)
	}
	proc := &Store{Datastore{Name: "proc", Device: "x"}, New(Options{Mounts: "/"})}
	if mounted, err := proc.Mounted(); !mounted || err != nil {
		t.Errorf("a file system: %v, %v", mounted, err)
	}
	if mounted, err := (&Store{}).Mounted(); !mounted || err != nil {
		t.Errorf("one that is not removable: %v, %v", mounted, err)
	}
}

func TestTheServersUser(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"root": 0, "0": 0, "4242424": 4242424} {
		if got, err := New(Options{User: name}).Owner(); err != nil || got.UID != want || got.GID != want {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	if _, err := New(Options{User: "no such user"}).Owner(); err == nil || !strings.Contains(err.Error(), "no such user") {
		t.Error(err)
	}
}

func TestTheMarkOfOldLocking(t *testing.T) {
	t.Parallel()
	store, run := testStore(t)
	if old, err := store.OldLocking(); old || err != nil {
		t.Error(old, err)
	}
	if err := errors.Join(os.Mkdir(run, 0o755), os.WriteFile(filepath.Join(run, "old-locking"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if old, err := store.OldLocking(); !old || err != nil {
		t.Error(old, err)
	}
}

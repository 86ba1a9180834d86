package pbsrun

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/unitname"
)

const runPrefix = "/run/proxmox-backup/locks/STORE/"

// vectors are names that servers of both styles gave.
type vectors struct {
	Old struct {
		Cases []struct {
			Lock      string `json:"manifest-lock"`
			Namespace string `json:"ns"`
			Snapshot  string `json:"snapshot"`
		} `json:"cases"`
	} `json:"3.2.4"`
	Cases []struct {
		Length    int    `json:"encoded-len"`
		Full      string `json:"full"`
		File      string `json:"lock-file"`
		Namespace string `json:"ns"`
		Name      string `json:"rel-path"`
		What      string `json:"what"`
	} `json:"cases"`
}

func readVectors(t testing.TB) (v vectors) {
	t.Helper()
	text, err := os.ReadFile("testdata/lockpaths.json")
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil || len(v.Cases) < 300 || len(v.Old.Cases) != 2 {
		t.Fatalf("%v, %d and %d cases", err, len(v.Cases), len(v.Old.Cases))
	}
	return v
}

func TestNamesOfLockFilesAreThoseOfTheServers(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	for _, c := range v.Cases {
		if got := LockName(c.Namespace, c.Name); got != c.File || runPrefix+got != c.Full || len(unitname.Escape(c.Name)) != c.Length {
			t.Errorf("%q, %q: %q (%d bytes), want %q", c.Namespace, c.Name, got, len(unitname.Escape(c.Name)), c.File)
		}
	}
	for _, c := range v.Old.Cases {
		dir := c.Snapshot
		if c.Namespace != "" {
			dir = "ns/" + strings.ReplaceAll(c.Namespace, "/", "/ns/") + "/" + dir
		}
		if got := runPrefix + OldManifestLockName(dir); got != c.Lock {
			t.Errorf("%q: %q, want %q", dir, got, c.Lock)
		}
	}
	if got, want := ManifestLockName("a", "vm/1/2022-05-02T08:11:33Z"), `a/vm-1-2022\x2d05\x2d02T08\x3a11\x3a33Z-.index.json.lck`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := unitname.Escape(".a/.b"); got != `\x2ea-.b` {
		t.Errorf("a dot in front: %q", got)
	}
}

// TestEveryNameCanBeLocked makes the files, also those whose names are too long for
// a server of version 4.2.3: it adds to them while it makes the file.
func TestEveryNameCanBeLocked(t *testing.T) {
	t.Parallel()
	store, dir := testStore(t)
	long := 0
	for _, c := range readVectors(t).Cases {
		lock, err := store.Lock(LockName(c.Namespace, c.Name), flock.Exclusive)
		if err != nil {
			t.Errorf("%q: %v", c.Name, err)
			continue
		}
		if c.Length >= 245 && c.Length < 255 {
			long++
		}
		checkMade(t, filepath.Join(dir, "locks/STORE", c.File), unix.S_IFREG|0o660)
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	}
	if long == 0 {
		t.Error("no vector is of the length that the server can't make")
	}
	for _, name := range []string{"", "locks", "locks/STORE", "locks/STORE/hashed", "locks/STORE/ns1:ns2:ns3", "locks/STORE/ns1:ns2:ns3/hashed"} {
		checkMade(t, filepath.Join(dir, name), unix.S_IFDIR|0o755)
	}
}

func checkMade(t *testing.T, path string, mode uint32) {
	t.Helper()
	uid, gid := testOwner(t)
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil || st.Mode != mode || st.Uid != uid || st.Gid != gid {
		t.Errorf("%s: %v, mode %o, owner %d:%d, want %o and %d:%d", path, err, st.Mode, st.Uid, st.Gid, mode, uid, gid)
	}
}

func TestDifferentThingsNeverShareALock(t *testing.T) {
	t.Parallel()
	names := map[string]string{}
	add := func(namespace, name string) {
		file, thing := LockName(namespace, name), namespace+" | "+name
		if other, taken := names[file]; taken && other != thing {
			t.Errorf("%q: %s, and %s", file, thing, other)
		}
		names[file] = thing
	}
	long := strings.Repeat("a", 250)
	const at = "/2022-05-02T08:11:33Z"
	for _, id := range []string{"100", "hashed", "a-b", "a_b", "a.b", `a.2db`, "x2d", long, long + "b", strings.Repeat("a-", 60), strings.Repeat("a.", 120)} {
		for _, kind := range []string{"vm", "ct", "host"} {
			for _, namespace := range []string{"", "hashed", "hashed/hashed", "vm", "a/b", "a.b", "a-b", "a", strings.Repeat("n/", 6) + "n"} {
				name := kind + "/" + id
				add(namespace, name)
				add(namespace, name+at)
				names[ManifestLockName(namespace, name+at)] = fmt.Sprint("manifest of ", namespace, name)
			}
		}
	}
	if want := 11 * 3 * 9 * 3; len(names) != want {
		t.Errorf("%d names, want %d", len(names), want)
	}
}

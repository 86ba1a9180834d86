package datastore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
)

func leasesOf(t *testing.T, ds *datastore.Datastore, opts datastore.LocksOptions) (lines []string, infos []datastore.LockInfo) {
	t.Helper()
	for info, err := range ds.Locks(t.Context(), opts) {
		if err != nil {
			t.Error(err)
		}
		if info.Means == datastore.LockByLease {
			lines = append(lines, fmt.Sprintf("%s %s %s", info.Resource, info.Object.Group.Dir(), info.Holder.Mode))
			infos = append(infos, info)
		}
	}
	slices.Sort(lines)
	return lines, infos
}

func TestLeasesOfAnotherHostAreListedAmongTheLocks(t *testing.T) {
	t.Parallel()
	store := matrixStore(t)
	share(t, store, 0)
	ds := store.Open(datastore.Options{})
	started := time.Now().Add(-time.Second)
	long := strings.Repeat("long-", 40)
	store.Backup("vm/"+long[:100], first, []byte("x"))
	one := running["back up in a"]
	one.host = host{id: "elsewhere"}
	holder := one.start(t, store, one.script)
	waitUntilHeld(holder)
	lines, infos := leasesOf(t, ds, datastore.LocksOptions{})
	if want := []string{"datastore / shared", "group ns/a/vm/100 exclusive", "snapshot ns/a/vm/100 shared"}; !slices.Equal(lines, want) {
		t.Fatalf("%q, want %q", lines, want)
	}
	for _, info := range infos {
		h := info.Holder
		if info.Lease == nil || info.Lease.HostID != "elsewhere+pbs-like" || h.PID != holder.PID || h.UID != os.Geteuid() || h.Command == "" ||
			h.Since.Before(started) || h.Since.After(time.Now()) || info.Lease.Time.Before(h.Since) || info.Lease.Left <= 0 {
			t.Errorf("%+v, %+v", info, info.Lease)
		}
	}
	in := func(ns, name string) *backupinfo.Object {
		object, err := backupinfo.ParseObject(namespace(ns), name)
		if err != nil {
			t.Fatal(err)
		}
		return &object
	}
	for name, c := range map[string]struct {
		opts datastore.LocksOptions
		want []string
	}{
		"the store":     {datastore.LocksOptions{OnlyStore: true}, []string{"datastore / shared"}},
		"the group":     {datastore.LocksOptions{Within: in("a", "vm/100")}, []string{"group ns/a/vm/100 exclusive", "snapshot ns/a/vm/100 shared"}},
		"a snapshot":    {datastore.LocksOptions{Within: in("a", "vm/100/"+first.String())}, []string{"snapshot ns/a/vm/100 shared"}},
		"another group": {datastore.LocksOptions{Within: in("", "vm/100")}, nil},
	} {
		if lines, _ := leasesOf(t, ds, c.opts); !slices.Equal(lines, c.want) {
			t.Errorf("%s: %q, want %q", name, lines, c.want)
		}
	}
	holder.Send("go on")
	holder.Expect("done")
	if lines, _ := leasesOf(t, ds, datastore.LocksOptions{}); len(lines) > 0 {
		t.Errorf("afterwards: %q", lines)
	}
}

func TestWhatLiesAmongTheLeasesIsListedAsWhatItIs(t *testing.T) {
	t.Parallel()
	store := matrixStore(t)
	share(t, store, 0)
	for name, text := range map[string]string{
		`snapshots-vm-100/locks/garbage`:                "{",
		`group-vm-300/locks/0123456789abcdef`:           `{"exclusive": false, "hostid": "h", "processid": 7, "threadid": 0, "time": "2026-01-01T00:00:00.000+00:00"}`,
		`group-vm-300/queue/t0-x`:                       "", // waits
		`unknown/locks/x`:                               "",
		`+` + strings.Repeat("n", 20) + `/locks/hashed`: `{"exclusive": false, "hostid": "h", "message": "group/vm/1"}`,
	} {
		path := filepath.Join(store.Dir, ".pbs-like-locks", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
	}
	ds := store.Open(datastore.Options{})
	lines, infos := leasesOf(t, ds, datastore.LocksOptions{})
	want := []string{"group vm/300 shared", "other / shared", "other / exclusive", "snapshot vm/100 exclusive"}
	slices.Sort(want)
	if !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
	for _, info := range infos {
		if unreadable := info.Lease.Err != nil; unreadable != (info.Holder.PID == -1) || unreadable && info.Holder.Mode != flock.Exclusive {
			t.Errorf("%+v", info)
		}
	}
	if _, err := ds.BreakStoreLocks(t.Context(), breakAll); err != nil {
		t.Error(err)
	}
	// In a store of one host they mean nothing.
	write(t, filepath.Join(store.Dir, ".pbs-like-locks", `unknown/locks/x`), "")
	if _, err := ds.SetLockScheme(t.Context(), datastore.LockLocal, datastore.SetLockSchemeOptions{}); err != nil {
		t.Fatal(err)
	}
	if lines, _ := leasesOf(t, ds, datastore.LocksOptions{}); len(lines) > 0 {
		t.Errorf("in local mode: %q", lines)
	}
}

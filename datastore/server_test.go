package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// operateWithUmask is operate for a user who lets nobody else read what he makes.
func operateWithUmask(ctx context.Context, args []string, pipe *helperproc.IO) error {
	unix.Umask(0o077)
	return operate(ctx, args, pipe)
}

// allOperations are operations that go through all that there is, one after the other.
var allOperations = []operation{
	{name: "backup", object: "ct/200", time: third, data: "xs64:3:100000"},
	{name: "notes", object: "ct/200/" + third.String(), data: "x"},
	{name: "notes", object: "ct/200", data: "x"},
	{name: "change-owner", object: "ct/200", data: "a@pam"},
	{name: "protect", object: "ct/200/" + third.String()},
	{name: "unprotect", object: "ct/200/" + third.String()},
	{name: "verify"},
	{name: "restore", object: "vm/100/" + second.String()},
	{name: "remove-snapshot", object: "vm/100/" + first.String()},
	{name: "prune", object: "vm/100"},
	{name: "collect"},
}

const servedUser = 34

func giveTo(t testing.TB, uid int, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, uid, uid))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func needsRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
}

// TestWhatRootMakesBelongsToTheServer has root do everything with a umask that
// shuts others out, and then looks whether the server's user can use all of it.
func TestWhatRootMakesBelongsToTheServer(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	store := serve(t, matrixStore(t), newServer)
	giveTo(t, servedUser, store.Dir)
	if err := os.Remove(filepath.Join(store.Dir, ".lock")); err != nil { // so that root makes that too
		t.Fatal(err)
	}
	store.place.User, store.place.Run = fmt.Sprint(servedUser), filepath.Join(testds.TempDir(t), "proxmox-backup")
	for _, o := range allOperations {
		o.server = store.place
		p := helperproc.Start(t, "operate with umask", o.arguments(store.Store, "record")...)
		if line := p.Line(); line != "done" {
			t.Errorf("%s %s: %s", o.name, o.object, line)
		}
	}
	for _, dir := range []string{store.Dir, store.place.Run} {
		eachFile(t, dir, func(path string, st *unix.Stat_t) {
			want := uint32(0o644)
			switch {
			case st.Mode&unix.S_IFMT == unix.S_IFDIR && filepath.Base(path) == "active-operations":
				want = 0o750
			case st.Mode&unix.S_IFMT == unix.S_IFDIR:
				want = 0o755
			case dir == store.place.Run:
				want = 0o660
			}
			if mode := st.Mode & 0o7777; st.Uid != servedUser || st.Gid != servedUser || mode != want && !strings.Contains(path, ".chunks") {
				t.Errorf("%s belongs to %d:%d, mode %o, want %o", path, st.Uid, st.Gid, mode, want)
			}
		})
	}
}

func eachFile(t testing.TB, dir string, look func(path string, st *unix.Stat_t)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &st)
		}
		look(path, &st)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// asUser does an operation as another user, and gives what came of it.
func (s *servedStore) asUser(uid uint32, o operation) string {
	s.T.Helper()
	o.server = s.place
	user := helperproc.Options{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return helperproc.StartWith(s.T, user, "operate", o.arguments(s.Store, "record")...).Line()
}

const nobody = 65534

// forNobody gives a store, and all directories of its server, to a user without privileges.
func forNobody(t *testing.T, user int) *servedStore {
	t.Helper()
	needsRoot(t)
	store := serve(t, matrixStore(t), newServer)
	store.place.User = fmt.Sprint(user)
	base := filepath.Dir(store.place.Etc)
	giveTo(t, nobody, store.Dir, base)
	for _, dir := range []string{filepath.Dir(store.Dir), base} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

func TestTheServersUserCanDoEverything(t *testing.T) {
	t.Parallel()
	store := forNobody(t, nobody)
	for _, o := range allOperations {
		if line := store.asUser(nobody, o); line != "done" {
			t.Errorf("%s %s: %s", o.name, o.object, line)
		}
	}
	server := startServerAs(t, helperproc.Options{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}})
	server.hold(t, store.group("vm/100", "exclusive"))
	if line := store.asUser(nobody, starting["change owner"]); !strings.Contains(line, "in use") {
		t.Error(line)
	}
}

func TestWhoCantTakeTheServersLocksChangesNothing(t *testing.T) {
	t.Parallel()
	store := forNobody(t, servedUser)
	for _, o := range allOperations {
		line := store.asUser(nobody, o)
		if o.name == "restore" {
			if line != "done" {
				t.Errorf("reading: %s", line)
			}
		} else if !strings.Contains(line, "run it as") || !strings.Contains(line, `\"34\"`) {
			t.Errorf("%s %s: %s", o.name, o.object, line)
		}
	}
	if _, err := os.Stat(filepath.Join(store.place.Run, "locks")); err == nil {
		t.Error("a refused operation made lock files")
	}
}

// TestWhoMayNotReadTheServersConfigurationChangesHisOwnStore: it is none of the server's, which could not use it.
func TestWhoMayNotReadTheServersConfigurationChangesHisOwnStore(t *testing.T) {
	t.Parallel()
	store := forNobody(t, servedUser)
	if err := errors.Join(os.Chown(store.place.Etc, 0, 0), os.Chmod(store.place.Etc, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, o := range append(slices.Clip(allOperations), starting["move namespace"]) {
		if line := store.asUser(nobody, o); line != "done" {
			t.Errorf("%s %s: %s", o.name, o.object, line)
		}
	}
}

func TestAReaderWithoutPrivilegesGoesOnWithANotice(t *testing.T) {
	t.Parallel()
	store := serve(t, matrixStore(t), newServer)
	snapshot := store.snapshotOf("vm/100/" + second.String())
	for name, plant := range map[string]func(){
		"a file in the way":     func() { put(t, filepath.Join(store.place.Run, "locks"), "") },
		"configuration too odd": func() { store.configure("path " + strings.Repeat("x", 100<<10)) },
	} {
		plant()
		var notices []string
		ds := store.Open(datastore.Options{Server: store.place, Events: datastore.Events{Notice: func(n datastore.Notice) {
			notices = append(notices, fmt.Sprint(n))
		}}})
		reader, err := ds.OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{})
		if err := errors.Join(err, reader.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(notices) == 0 || !strings.Contains(notices[0], "Proxmox Backup Server") {
			t.Errorf("%s: %q", name, notices)
		}
		if _, err := ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{DryRun: true}); err == nil {
			t.Errorf("%s: a change goes on without locks", name)
		}
	}
}

// lockFiles are the names of all lock files.
func (s *servedStore) lockFiles() (names []string) {
	s.T.Helper()
	eachFile(s.T, s.locksFile(""), func(path string, st *unix.Stat_t) {
		if st.Mode&unix.S_IFMT == unix.S_IFREG {
			names = append(names, strings.TrimPrefix(path, s.locksFile("")+"/"))
		}
	})
	return names
}

func TestTheLockFilesOfWhatIsRemovedGo(t *testing.T) {
	t.Parallel()
	for _, style := range []style{newServer, markedServer} {
		store := serve(t, matrixStore(t), style)
		for _, o := range allOperations {
			if err := store.do(o); err != nil {
				t.Errorf("%s %s: %v", o.name, o.object, err)
			}
		}
		before := store.lockFiles()
		for _, group := range []string{"vm/100", "ct/200", "vm/300"} {
			if err := store.do(operation{name: "remove-group", object: group}); err != nil {
				t.Error(err)
			}
		}
		if left := store.strayLockFiles(); len(before) == 0 || len(left) != 0 {
			t.Errorf("%s: of %q there are left %q", style, before, left)
		}
		if _, err := os.Stat(store.locksFile("vm/100")); err == nil {
			t.Errorf("%s: a directory of old locks is left", style)
		}
	}
}

func TestABackupThatIsGivenUpLeavesNoLockFile(t *testing.T) {
	t.Parallel()
	store := serve(t, matrixStore(t), newServer)
	w, err := store.open().Backup(t.Context(), store.Group("host/new"), datastore.BackupOptions{Time: third})
	if err != nil {
		t.Fatal(err)
	}
	if files := store.lockFiles(); len(files) != 2 {
		t.Errorf("while it runs: %q", files)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if files := store.lockFiles(); len(files) != 0 {
		t.Errorf("left: %q", files)
	}
}

func TestMaintenanceModesAreHonoured(t *testing.T) {
	t.Parallel()
	store := serve(t, matrixStore(t), newServer)
	for mode, allowed := range map[string]struct{ read, write bool }{
		"": {true, true}, "read-only": {true, false}, "offline": {}, "delete": {}, "unmount": {}, `type=offline,message="till noon"`: {},
	} {
		if mode == "" {
			store.configure()
		} else {
			store.configure("maintenance-mode " + mode)
		}
		for _, o := range allOperations {
			if o.name == "remove-snapshot" || o.name == "prune" || o.name == "backup" {
				o.object = "vm/100/" + second.String() // which stays
				if o.name != "remove-snapshot" {
					continue
				}
				if allowed.write {
					continue
				}
			}
			if !allowed.write && strings.HasPrefix(o.object, "ct/") {
				o.object = strings.NewReplacer("ct/200", "vm/100", third.String(), second.String()).Replace(o.object)
			}
			if allowed.write && strings.HasPrefix(o.object, "ct/") {
				continue
			}
			err := store.do(o)
			isAllowed := allowed.write || allowed.read && o.name == "restore"
			if isAllowed != (err == nil) || !isAllowed && !errors.Is(err, datastore.ErrMaintenance) {
				t.Errorf("%q: %s %s: %v", mode, o.name, o.object, err)
			}
			if !isAllowed && strings.Contains(mode, "noon") && !strings.Contains(err.Error(), "till noon") {
				t.Errorf("without the administrator's message: %v", err)
			}
		}
		stopped := store.Open(datastore.Options{Server: store.place, ServerStopped: true})
		if _, err := stopped.RemoveSnapshot(t.Context(), store.snapshotOf("vm/100/"+first.String()), datastore.RemoveOptions{DryRun: true}); err != nil {
			t.Errorf("%q, with the server stopped: %v", mode, err)
		}
	}
}

// TestAModeThatBeginsIsSeenByWhoWaits sets a mode between the look at it and the lock.
func TestAModeThatBeginsBeforeTheOperationIsCountedStopsIt(t *testing.T) {
	t.Parallel()
	store := serve(t, matrixStore(t), newServer)
	ds := store.open()
	reader, err := ds.OpenSnapshot(t.Context(), store.snapshotOf("vm/100/"+first.String()), datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if list := store.active(); len(list) != 1 || !strings.Contains(list[0], `"read":1,"write":0`) {
		t.Errorf("counted: %q", list)
	}
	store.configure("maintenance-mode offline")
	for range 100 {
		if _, err := ds.OpenSnapshot(t.Context(), reader.Snapshot(), datastore.ReadOptions{}); !errors.Is(err, datastore.ErrMaintenance) {
			t.Fatal(err)
		}
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	if list := store.active(); len(list) != 0 {
		t.Errorf("still counted: %q", list)
	}
}

func TestWhatIsNoStoreToChangeIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	store := serve(t, matrixStore(t), newServer)
	collect := operation{name: "collect"}
	store.configure("backend type=s3,client=c,bucket=b")
	if err := store.do(collect); !errors.Is(err, datastore.ErrObjectCache) || !errors.Is(err, datastore.ErrNotDatastore) {
		t.Errorf("a cache: %v", err)
	}
	store.configure("backend type=filesystem")
	if err := store.do(collect); err != nil {
		t.Errorf("no cache: %v", err)
	}
	// A removable store whose directory is on the disk of the machine.
	put(t, filepath.Join(store.place.Etc, "datastore.cfg"), "datastore: main\n\tbacking-device 12-34\n\tpath /in\n")
	if err := os.MkdirAll(filepath.Join(store.place.Mounts, "main"), 0o755); err != nil {
		t.Fatal(err)
	}
	symlink(t, store.Dir, filepath.Join(store.place.Mounts, "main/in"))
	for _, o := range []operation{collect, starting["restore base"]} {
		if err := store.do(o); !errors.Is(err, datastore.ErrNotMounted) || !strings.Contains(err.Error(), "12-34") {
			t.Errorf("%s: not mounted: %v", o.name, err)
		}
	}
	if _, err := store.Open(datastore.Options{Server: store.place, ServerStopped: true}).Collect(t.Context(), datastore.CollectOptions{}); !errors.Is(err, datastore.ErrNotMounted) {
		t.Errorf("whether the server runs does not matter: %v", err)
	}
	store.configure()
	store.place.User = "4242"
	if err := store.do(collect); !errors.Is(err, datastore.ErrWrongUser) || !strings.Contains(err.Error(), `"4242"`) {
		t.Errorf("another owner: %v", err)
	}
	store.place.User = "no such user"
	if err := store.do(collect); err == nil || !strings.Contains(err.Error(), "no such user") {
		t.Errorf("an unknown user: %v", err)
	}
}

// TestAFailureBesideAServer makes every change fail once, also those below the run
// directory. What was done is right, and nothing stays counted or locked.
func TestAFailureBesideAServer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a backup with a base", "the backup of a group", "removing the last one", "removing a group", "pruning two", "notes on a snapshot", "moving a group", "merging a group", "moving a namespace"} {
		if sampled() && name != "removing the last one" && name != "merging a group" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for script := range fsoptest.Failures(t, unix.ENOSPC) {
				s := scenarios[name]
				store := serve(t, s.store(t), newServer)
				store.Leftovers = true
				s.server = store.place
				err := s.run(t.Context(), store.Dir, script.Disk(), nil)
				done := s.check(t, store.Store, script)
				switch {
				case err == nil && !done:
					t.Errorf("%s: reported as done, and is not", script)
				case err != nil && !errors.Is(err, unix.ENOSPC):
					t.Errorf("%s: another error: %v", script, err)
				}
				if !done {
					s.again(t, store.Store, script)
				}
				sweepLeftovers(t, store.Store)
				store.checkQuiet(script)
			}
		})
	}
}

// checkQuiet makes sure that a server finds nobody at work, but for an entry that
// could not be taken out of the list, which is there until this process ends.
func (s *servedStore) checkQuiet(injected fmt.Stringer) {
	s.T.Helper()
	for _, file := range s.lockFiles() {
		fd, err := serverLock([]string{"file", "exclusive", s.locksFile(file)})
		if err != nil {
			s.T.Errorf("%s: %s is still locked: %v", injected, file, err)
			continue
		}
		unix.Close(fd)
	}
}

func TestANamespaceLikeTheDirectoryOfHashedNamesIsItsOwn(t *testing.T) {
	t.Parallel()
	store := serve(t, testds.New(t), newServer)
	for _, dir := range []string{"ns/hashed", "ns/vm"} {
		if err := os.MkdirAll(filepath.Join(store.Dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ds := store.open()
	var writers []*datastore.SnapshotWriter
	for _, ns := range []string{"", "hashed", "vm"} {
		for _, id := range []string{"100", "hashed", strings.Repeat("a-", 100) + "x", strings.Repeat("a-", 100) + "y", strings.Repeat("a", 245)} {
			namespace, err := backupinfo.ParseNamespace(ns)
			if err != nil {
				t.Fatal(err)
			}
			group := backupinfo.Group{Namespace: namespace, Type: "vm", ID: id}
			w, err := ds.Backup(t.Context(), group, datastore.BackupOptions{Time: first})
			if err != nil {
				t.Fatalf("%s: %v", group.Dir(), err)
			}
			writers = append(writers, w)
		}
	}
	if files := store.lockFiles(); len(files) != 2*len(writers) {
		t.Errorf("%d lock files for %d groups", len(files), len(writers))
	}
	for _, w := range writers {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestMovesAreInTheServersJournal(t *testing.T) {
	t.Parallel()
	store := serve(t, matrixStore(t), newServer)
	stopped := store.Open(datastore.Options{Server: store.place, ServerStopped: true})
	// The server may not have the name under which the store was opened.
	link := filepath.Join(testds.TempDir(t), "link")
	symlink(t, store.Dir, link)
	linked, err := datastore.Open(link, datastore.Options{Server: store.place})
	if err != nil {
		t.Fatal(err)
	}
	for _, ds := range []*datastore.Datastore{stopped, store.Open(datastore.Options{}), linked} {
		if err := ds.JournalMoves(t.Context(), []string{"new/a.fidx", "new/b.didx"}); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(store.locksFile("move-journal")); err != nil || string(text) != store.Dir+"/new/a.fidx\n"+store.Dir+"/new/b.didx\n" {
		t.Errorf("%v: %q", err, text)
	}
	write(t, filepath.Join(store.place.Etc, "datastore.cfg"), "datastore: ../x\n\tpath "+store.Dir+"\n")
	if err := store.open().JournalMoves(t.Context(), []string{"new/a.fidx"}); err == nil {
		t.Error("a journal that can't be found was written")
	}
}

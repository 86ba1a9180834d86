package datastore_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// styles are how servers lock. In a sample one has to do.
func styles() []style {
	if sampled() {
		return []style{newServer}
	}
	return []style{newServer, markedServer, oldServer}
}

// refusedByServer are our operations that find a lock held while a server does
// something. All others go on.
var refusedByServer = map[string][]string{
	"back up":      {"back up", "remove base", "remove group", "protect base", "unprotect base", "note on group", "change owner", "collect", "move group"},
	"restore base": {"remove base", "remove group", "protect base", "unprotect base", "move group"},
	"remove base":  {"restore base", "remove base", "remove group", "protect base", "unprotect base", "note on base", "verify base", "move group"},
	"remove group": {
		"back up", "restore base", "restore older", "remove base", "remove older", "remove group",
		"protect base", "unprotect base", "note on base", "note on group", "change owner", "verify base", "verify older", "move group",
	},
	"protect base": {"restore base", "remove base", "remove group", "protect base", "unprotect base", "note on base", "verify base", "move group"},
	"note on base": {"remove base", "note on base", "verify base"},
	"change owner": {"back up", "remove group", "note on group", "change owner", "move group"},
	"collect":      {"back up", "back up another", "back up in third", "collect", "move group", "merge group", "move namespace", "back up in b"},

	"restore in a":         {"move namespace"},
	"back up third":        {"back up in third", "remove another", "merge group", "collect"},
	"restore another":      {"remove another", "merge group"},
	"back up in b":         {"back up in b", "merge group", "collect"},
	"restore in b":         {},
	"make group in b":      {"move group"},
	"make snapshot in b":   {"move group"},
	"make merged":          {"merge group"},
	"make group in b/c":    {"move namespace"},
	"make snapshot in b/c": {"move namespace"},
}

// inOrder are the starting operations such that each that goes on leaves what the
// next ones need, for two stores.
var inOrder = map[string][]string{
	"in place": {
		"restore base", "restore older", "restore another", "verify base", "verify older", "note on base", "note on group",
		"protect base", "unprotect base", "change owner", "collect", "back up", "back up another", "back up in third",
		"remove older", "remove base", "remove another", "prune", "remove group",
	},
	"moves": {"restore in a", "restore in b", "back up in b", "merge group", "move group", "move namespace"},
}

// TestOurOperationsBesideWhatAServerDoes has a stand-in for the server stopped in
// the middle of each thing that it does, tries all of ours, and kills it.
func TestOurOperationsBesideWhatAServerDoes(t *testing.T) {
	t.Parallel()
	for _, style := range styles() {
		for doing := range refusedByServer {
			for kind, names := range inOrder {
				if style == newServer || !strings.HasPrefix(doing, "make ") {
					t.Run(doing+"/"+kind+"/"+string(style), func(t *testing.T) {
						t.Parallel()
						besideServer(t, style, doing, names)
					})
				}
			}
		}
	}
}

func besideServer(t *testing.T, style style, doing string, names []string) {
	t.Helper()
	store := serve(t, matrixStore(t), style)
	refused := refusedByServer[doing]
	server := startServer(t)
	server.hold(t, store.serverOperations()[doing]...)
	server.Stop()
	for _, name := range names {
		store.checkBeside(server, name, slices.Contains(refused, name))
	}
	server.Kill()
	for _, name := range names {
		if err := store.do(starting[name]); slices.Contains(refused, name) && err != nil && !isMissing(err) && !errors.Is(err, datastore.ErrOlder) {
			t.Errorf("%s, after the server's death: %v", name, err)
		}
	}
}

func isMissing(err error) bool { return errors.Is(err, datastore.ErrNotFound) }

func (s *servedStore) checkBeside(server serverProcess, name string, refused bool) {
	s.T.Helper()
	o := starting[name]
	if name == "change owner" {
		o.data = "root@pam" // whom it belongs to, so that backups go on
	}
	err := s.do(o)
	switch {
	case refused && (!errors.Is(err, flock.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint("pid ", server.PID))):
		s.T.Errorf("%s should be refused because of process %d: %v", name, server.PID, err)
	case (name == "prune" || name == "remove group") && isMissing(err): // what went before removed the last
	case !refused && err != nil:
		s.T.Errorf("%s should go on: %v", name, err)
	}
}

// refusedToServer is what a server can't do while we do something.
var refusedToServer = map[string][]string{
	"back up":       {"back up", "remove base", "remove group", "protect base", "change owner", "collect"},
	"restore base":  {"remove base", "remove group", "protect base"},
	"remove base":   {"back up", "restore base", "remove base", "remove group", "protect base", "note on base"},
	"remove group":  {"back up", "restore base", "remove base", "remove group", "protect base", "change owner"},
	"prune":         {"remove group"},
	"protect base":  {"back up", "restore base", "remove base", "remove group", "protect base"},
	"note on base":  {"remove base", "remove group", "protect base", "note on base"},
	"note on group": {"back up", "remove group", "change owner"},
	"change owner":  {"back up", "remove group", "change owner"},
	"collect":       {"back up", "back up third", "back up in b", "collect"},
	"verify base":   {"remove base", "remove group", "protect base", "note on base"},

	"move group": {
		"back up", "restore base", "remove base", "remove group", "protect base", "change owner", "collect",
		"make group in b", "make snapshot in b",
	},
	"merge group":    {"restore another", "back up third", "back up in b", "make merged", "collect"},
	"move namespace": {"restore in a", "collect", "make group in b/c", "make snapshot in b/c"},
}

// TestWhatAServerCanDoBesideOurOperations stops each of our operations in the
// middle and has a stand-in for the server try to take the locks of all of its own.
func TestWhatAServerCanDoBesideOurOperations(t *testing.T) {
	t.Parallel()
	for _, style := range styles() {
		for doing, refused := range refusedToServer {
			t.Run(doing+"/"+string(style), func(t *testing.T) {
				t.Parallel()
				store := serve(t, matrixStore(t), style)
				server := startServer(t)
				goOn := store.pause(running[doing].operation)
				for name, locks := range store.serverOperations() {
					if got := server.try(locks...); strings.HasPrefix(got, "busy") != slices.Contains(refused, name) {
						t.Errorf("the server, to %s: %s", name, got)
					}
				}
				if err := goOn(); err != nil {
					t.Error(err)
				}
				for name, locks := range store.serverOperations() {
					if got := server.try(locks...); strings.HasPrefix(got, "busy") && !strings.Contains(got, "no such file") {
						t.Errorf("afterwards the server, to %s: %s", name, got)
					}
				}
			})
		}
	}
}

// pause begins an operation and returns when it has all its locks. What it gives
// lets the operation go on, and returns how it ended.
func (s *servedStore) pause(o operation) (goOn func() error) {
	s.T.Helper()
	o.server = s.place
	if o.name == "held restore" {
		reader, err := s.open().OpenSnapshot(s.T.Context(), s.snapshotOf(o.object), datastore.ReadOptions{})
		if err != nil {
			s.T.Fatal(err)
		}
		return reader.Close
	}
	there := ""
	if o.name == "held backup" {
		o.name, there = "backup", "/index.json.tmp_"
	}
	reached, on, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	stopped := false
	disk := &fsop.Disk{Before: func(c fsop.Change) error {
		if !stopped && strings.HasPrefix(c.Path, s.Dir) && strings.Contains(c.Path, there) {
			stopped = true
			close(reached)
			<-on
		}
		return nil
	}}
	go func() { done <- o.run(s.T.Context(), s.Dir, disk, nil) }()
	select {
	case <-reached:
	case err := <-done:
		s.T.Fatalf("%s was not stopped: %v", o.name, err)
	}
	return func() error { close(on); return <-done }
}

func (s *servedStore) snapshotOf(name string) backupinfo.Snapshot {
	s.T.Helper()
	object, err := backupinfo.ParseObject(backupinfo.Namespace{}, name)
	if err != nil {
		s.T.Fatal(err)
	}
	snapshot, _ := object.Snapshot()
	return snapshot
}

// TestAKilledOperationHoldsNothingUpForAServer stops and kills a process of ours.
func TestAKilledOperationHoldsNothingUpForAServer(t *testing.T) {
	t.Parallel()
	for _, style := range styles() {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			store := serve(t, matrixStore(t), style)
			store.Leftovers = true
			server := startServer(t)
			o := running["back up"].operation
			o.server = store.place
			holder := o.start(t, store.Store, "record")
			waitUntilHeld(holder)
			holder.Stop()
			for _, name := range refusedToServer["back up"] {
				if got := server.try(store.serverOperations()[name]...); !strings.HasPrefix(got, "busy") {
					t.Errorf("the server, to %s: %s", name, got)
				}
			}
			if list := store.active(); len(list) != 1 || !strings.Contains(list[0], fmt.Sprintf(`"pid":%d,`, holder.PID)) || !strings.Contains(list[0], `"write":1`) {
				t.Errorf("counted: %q", list)
			}
			holder.Kill()
			for name, locks := range store.serverOperations() {
				if got := server.try(locks...); got != "ready" {
					t.Errorf("after its death the server, to %s: %s", name, got)
				}
			}
			if err := store.do(starting["restore base"]); err != nil {
				t.Error(err)
			}
			if list := store.active(); len(list) != 0 {
				t.Errorf("still counted: %q", list)
			}
		})
	}
}

// active are the entries of the list of operations.
func (s *servedStore) active() []string {
	s.T.Helper()
	text, err := os.ReadFile(filepath.Join(s.place.Run, "active-operations/main"))
	if err != nil {
		s.T.Fatal(err)
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(string(text), "["), "]")
	if inner == "" {
		return nil
	}
	return strings.SplitAfter(inner, "}},")
}

func TestRunLocksSurviveTheGarbageCollectorAndReachNoChild(t *testing.T) {
	t.Parallel()
	store := serve(t, matrixStore(t), newServer)
	server := startServer(t)
	w, err := store.open().Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: third})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		runtime.GC()
	}
	lock, err := os.Open(filepath.Join(store.Dir, ".lock"))
	if err != nil || lock.Close() != nil {
		t.Fatal(err)
	}
	for _, name := range refusedToServer["back up"] {
		if got := server.try(store.serverOperations()[name]...); !strings.HasPrefix(got, "busy") {
			t.Errorf("the server, to %s: %s", name, got)
		}
	}
	out, err := exec.Command("ls", "-l", "/proc/self/fd").CombinedOutput()
	if err != nil || strings.Contains(string(out), store.Dir) || strings.Contains(string(out), store.place.Run) {
		t.Errorf("%v: a child has:\n%s", err, out)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

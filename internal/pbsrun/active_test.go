package pbsrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/helperproc"
)

func readActive(t *testing.T, run string) []activeProcess {
	t.Helper()
	var list []activeProcess
	text, err := os.ReadFile(filepath.Join(run, "active-operations/STORE"))
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestOperationsAreCounted(t *testing.T) {
	t.Parallel()
	store, run := testStore(t)
	var entries []*Entry
	for _, use := range []Use{Reading, Writing, Writing} {
		entry, err := store.Enter(t.Context(), use)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry)
	}
	start, err := startTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(run, "active-operations/STORE"))
	want := fmt.Sprintf(`[{"pid":%d,"starttime":%d,"active_operations":{"read":1,"write":2}}]`, os.Getpid(), start)
	if err != nil || string(text) != want {
		t.Errorf("%v: %s, want %s", err, text, want)
	}
	checkMade(t, filepath.Join(run, "active-operations"), unix.S_IFDIR|0o750)
	checkMade(t, filepath.Join(run, "active-operations/STORE"), unix.S_IFREG|0o660)
	checkMade(t, filepath.Join(run, "active-operations/STORE.lock"), unix.S_IFREG|0o660)
	for _, entry := range entries {
		if err := errors.Join(entry.Close(), entry.Close()); err != nil {
			t.Error(err)
		}
	}
	if list := readActive(t, run); len(list) != 0 {
		t.Errorf("afterwards: %+v", list)
	}
	files, err := os.ReadDir(filepath.Join(run, "active-operations"))
	if err != nil || len(files) != 2 {
		t.Errorf("%v: %v", err, files)
	}
}

func TestAKilledProcessIsNotCountedAnyMore(t *testing.T) {
	t.Parallel()
	store, run := testStore(t)
	uid, _ := testOwner(t)
	p := helperproc.Start(t, "operate", run, fmt.Sprint(uid))
	p.WaitReady()
	entry, err := store.Enter(t.Context(), Reading)
	if err != nil {
		t.Fatal(err)
	}
	if list := readActive(t, run); len(list) != 2 || list[0].PID != p.PID || list[0].Operations.Write != 1 {
		t.Errorf("while it lives: %+v", list)
	}
	p.Kill()
	if err := entry.Close(); err != nil {
		t.Fatal(err)
	}
	if list := readActive(t, run); len(list) != 0 {
		t.Errorf("after its death: %+v", list)
	}
}

func TestEntriesOfOthers(t *testing.T) {
	t.Parallel()
	start, err := startTime(1)
	if err != nil {
		t.Skip(err)
	}
	own, err := startTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	alive := fmt.Sprintf(`{"pid":1,"starttime":%d,"active_operations":{"read":0,"write":3},"of-a-newer-server":[1.50]}`, start)
	for name, test := range map[string]struct{ before, after string }{
		"none":                   {``, `[]`},
		"alive, as it is":        {`[` + alive + `]`, `[` + alive + `]`},
		"another of that number": {`[{"pid":1,"starttime":999999999999,"active_operations":{"read":1,"write":0}}]`, `[]`},
		"of our number":          {fmt.Sprintf(`[{"pid":%d,"starttime":1,"active_operations":{"read":7,"write":0}}]`, os.Getpid()), `[]`},
		"no process":             {`[{"pid":-1,"starttime":1},{"pid":0,"starttime":1},` + alive + `]`, `[` + alive + `]`},
		"ours":                   {fmt.Sprintf(`[{"pid":%d,"starttime":%d,"active_operations":{"read":7,"write":0}}]`, os.Getpid(), own), fmt.Sprintf(`[{"pid":%d,"starttime":%d,"active_operations":{"read":7,"write":0}}]`, os.Getpid(), own)},
	} {
		more, err := counted([]byte(test.before), os.Getpid(), Writing, 1)
		if err != nil || !strings.Contains(string(more), `"write":1}`) {
			t.Errorf("%s: %v: %s", name, err, more)
		}
		less, err := counted(more, os.Getpid(), Writing, -1)
		if err != nil || string(less) != test.after {
			t.Errorf("%s: %v: %s, want %s", name, err, less, test.after)
		}
	}
	for _, garbage := range []string{"{}", "[", `[1]`, `[{"pid":"1"}]`, "\x00"} {
		if _, err := counted([]byte(garbage), os.Getpid(), Writing, 1); !errors.Is(err, errList) {
			t.Errorf("%q: %v", garbage, err)
		}
	}
	if _, err := counted(nil, os.Getpid(), Reading, -1); err != nil {
		t.Errorf("somebody emptied the list: %v", err)
	}
}

func FuzzCounted(f *testing.F) {
	f.Add([]byte(`[{"pid":1,"starttime":2,"active_operations":{"read":0,"write":3}}]`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		more, err := counted(text, os.Getpid(), Writing, 1)
		if err != nil {
			return
		}
		if _, err := counted(more, os.Getpid(), Writing, -1); err != nil {
			t.Errorf("what was written can't be read: %v: %s", err, more)
		}
	})
}

func TestTheListIsWaitedFor(t *testing.T) {
	t.Parallel()
	store, run := testStore(t)
	entry, err := store.Enter(t.Context(), Writing)
	if err != nil {
		t.Fatal(err)
	}
	server := helperproc.Start(t, "server lock", filepath.Join(run, "active-operations/STORE.lock"), "exclusive")
	server.WaitReady()
	done := make(chan error, 1)
	go func() { done <- entry.Close() }()
	server.CloseInput()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAContextEndsTheWaitForTheList(t *testing.T) {
	t.Parallel()
	store, run := testStore(t)
	entry, err := store.Enter(t.Context(), Reading)
	if err != nil {
		t.Fatal(err)
	}
	defer entry.Close()
	server := helperproc.Start(t, "server lock", filepath.Join(run, "active-operations/STORE.lock"), "exclusive")
	server.WaitReady()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = store.Enter(ctx, Writing)
	if !errors.Is(err, flock.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(server.PID)) {
		t.Errorf("the server has the list: %v", err)
	}
	server.Kill()
}

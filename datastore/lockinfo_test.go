package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/pbsrun"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// lockLines lists locks in a form that is easily compared.
func lockLines(ctx context.Context, store *datastore.Datastore, opts datastore.LocksOptions) (lines []string, err error) {
	for l, failed := range store.Locks(ctx, opts) {
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s by %s %d", l.Resource, thingName(l), l.Holder.Mode, l.Means, l.Holder.PID)))
	}
	return lines, err
}

func thingName(l datastore.LockInfo) string {
	switch {
	case l.Object.Group.ID == "":
		return filepath.Base(l.Path)
	case l.Object.Group.Namespace.IsRoot():
		return l.Object.String()
	}
	return l.Object.Group.Namespace.String() + ":" + l.Object.String()
}

func expectLocks(t *testing.T, store *datastore.Datastore, opts datastore.LocksOptions, want ...string) {
	t.Helper()
	got, err := lockLines(t.Context(), store, opts)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("locks:\n%s\nwant:\n%s\n%v", strings.Join(got, "\n"), strings.Join(want, "\n"), err)
	}
}

func TestLocksOfABackupOfAnotherProcessAreListed(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds := store.Open(datastore.Options{})
	expectLocks(t, ds, datastore.LocksOptions{})
	base := store.Backup("vm/100", first, []byte("x"))
	store.Backup("vm/101", first, []byte("x"))
	p := operation{name: "held backup", object: "vm/100", time: second, data: "xs64:1:1M"}.start(t, store, "record")
	waitReady(p)
	group := fmt.Sprintf("group vm/100 exclusive by directory %d", p.PID)
	old := fmt.Sprintf("snapshot %s shared by directory %d", base, p.PID)
	fresh := fmt.Sprintf("snapshot vm/100/%s exclusive by directory %d", second, p.PID)
	record := fmt.Sprintf("datastore .lock shared by record %d", p.PID)
	expectLocks(t, ds, datastore.LocksOptions{}, record, group, old, fresh)
	expectLocks(t, ds, datastore.LocksOptions{OnlyStore: true}, record)
	in := backupinfo.Object{Group: base.Group}
	expectLocks(t, ds, datastore.LocksOptions{Within: &in}, group, old, fresh)
	in.Time, in.IsSnapshot = base.Time, true
	expectLocks(t, ds, datastore.LocksOptions{Within: &in}, old)
	in = backupinfo.Object{Group: store.Group("vm/101")}
	expectLocks(t, ds, datastore.LocksOptions{Within: &in})
	in = backupinfo.Object{Group: store.Group("vm/102")}
	if _, err := lockLines(t.Context(), ds, datastore.LocksOptions{Within: &in}); !errors.Is(err, datastore.ErrNotFound) {
		t.Errorf("of a group that is not there: %v", err)
	}
	for range ds.Locks(t.Context(), datastore.LocksOptions{}) {
		break // who has seen enough
	}
	p.Kill()
	store.Leftovers = true
	expectLocks(t, ds, datastore.LocksOptions{})
}

// waitReady reads up to where the role stands still: what it changes is told too.
func waitReady(p *helperproc.Proc) {
	for p.Line() != "ready" {
		continue
	}
}

func TestLocksOfAServerAreListedWithItsTask(t *testing.T) {
	t.Parallel()
	for _, style := range styles() {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			s := serve(t, testds.New(t), style)
			long := "host/" + strings.Repeat("a-", 60) + "b"
			for _, group := range []string{"vm/100", long} {
				s.Backup(group, first, []byte("x"))
			}
			server := helperproc.Start(t, "stand in")
			server.WaitReady()
			locks := []string{s.store("shared"), s.group("vm/100", "exclusive"), s.snapshot(long, first, "shared"), s.manifest("vm/100", first)}
			server.Send("hold " + strings.Join(locks, "|"))
			server.WaitReady()
			task := s.logTask(server.PID, "main:vm/100")
			by := "directory"
			if style == newServer {
				by = "server"
			}
			var got []string
			for l, err := range s.open().Locks(t.Context(), datastore.LocksOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				if len(l.Tasks) != 1 || l.Tasks[0].String() != task || !strings.Contains(l.Holder.Doing, task) {
					t.Errorf("%s: tasks %v, %q", l.Path, l.Tasks, l.Holder.Doing)
				}
				got = append(got, fmt.Sprintf("%s %s %s by %s", l.Resource, thingName(l), l.Holder.Mode, l.Means))
			}
			want := []string{
				"datastore .lock shared by record",
				"group vm/100 exclusive by " + by,
				fmt.Sprintf("snapshot %s/%s shared by %s", long, first, by),
				fmt.Sprintf("manifest vm/100/%s exclusive by server", first),
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			// A refusal tells of the task, too.
			err := s.do(operation{name: "change-owner", object: "vm/100", data: "a@pbs"})
			if !errors.Is(err, flock.ErrLocked) || !strings.Contains(err.Error(), task) {
				t.Errorf("refusal: %v", err)
			}
		})
	}
}

// logTask enters a task of the process into the server's list.
func (s *servedStore) logTask(pid int, id string) string {
	s.T.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		s.T.Fatal(err)
	}
	var start uint64
	fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
	if _, err := fmt.Sscan(fields[19], &start); err != nil {
		s.T.Fatal(err)
	}
	task := backupinfo.UPID{Node: "pbs", PID: uint32(pid), ProcessStart: start, Start: 1767323045, WorkerType: "backup", WorkerID: id, AuthID: "root@pam"}
	older := task
	older.ProcessStart++ // another process that had the number
	s.place.Log = filepath.Join(filepath.Dir(s.place.Etc), "log")
	if err := os.MkdirAll(filepath.Join(s.place.Log, "tasks"), 0o755); err != nil {
		s.T.Fatal(err)
	}
	ended := task
	ended.TaskID++
	write(s.T, filepath.Join(s.place.Log, "tasks/active"), fmt.Sprintf("%s\n%s 6789ABCD OK\n\x00garbage\n%s\n", older, ended, task))
	return task.String()
}

func TestALockFileWhoseNameIsHashedIsToldFromTheStore(t *testing.T) {
	t.Parallel()
	s := serve(t, testds.New(t), newServer)
	group := "host/" + strings.Repeat("a-", 100) + "b"
	name := pbsrun.LockName("", group)
	if !strings.HasPrefix(name, "hashed/") {
		t.Fatalf("%q is not hashed", name)
	}
	s.Backup(group, first, []byte("x"))
	server := helperproc.Start(t, "stand in")
	server.WaitReady()
	server.Send("hold " + s.group(group, "exclusive"))
	server.WaitReady()
	expectLocks(t, s.open(), datastore.LocksOptions{}, fmt.Sprintf("group %s exclusive by server %d", group, server.PID))
}

// listLocks says what is locked.
func listLocks(ctx context.Context, args []string, pipe *helperproc.IO) error {
	store, err := datastore.Open(args[0], datastore.Options{OnlyHost: true})
	if err != nil {
		return err
	}
	hidden := 0
	lines, err := lockLines(ctx, store, datastore.LocksOptions{Hidden: func(n int) { hidden = n }})
	for _, line := range lines {
		pipe.Say(line)
	}
	pipe.Say(fmt.Sprintf("hidden %v", hidden > 0))
	return err
}

func TestAnotherUserSeesLocksAndThatThereIsMore(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	store := testds.New(t)
	for dir := store.Dir; dir != "/dev/shm" && dir != "/tmp"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := operation{name: "held backup", object: "vm/100", time: second, data: "xs64:1:1M"}.start(t, store, "record")
	waitReady(p)
	other := helperproc.StartWith(t, helperproc.Options{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}, "list locks", store.Dir)
	other.Expect("datastore .lock shared by record -1")
	other.Expect(fmt.Sprintf("group vm/100 exclusive by directory %d", p.PID))
	other.Expect(fmt.Sprintf("snapshot vm/100/%s exclusive by directory %d", second, p.PID))
	other.Expect("hidden true")
	p.Kill()
	store.Leftovers = true
}

func TestLocksOnWhatHasNoNameAreListedToo(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	name := filepath.Join(store.Dir, "vm", ".pbs-like-leftover-x")
	if err := os.MkdirAll(name, 0o755); err != nil {
		t.Fatal(err)
	}
	store.Leftovers = true
	p := helperproc.Start(t, "stand in")
	p.WaitReady()
	p.Send("hold dir exclusive " + name)
	p.WaitReady()
	expectLocks(t, store.Open(datastore.Options{}), datastore.LocksOptions{}, fmt.Sprintf("other .pbs-like-leftover-x exclusive by file %d", p.PID))
}

func TestAHolderWithAHostileNameIsQuoted(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash")
	}
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("needs flock(1)")
	}
	store := testds.New(t)
	store.Backup("vm/100", first, []byte("x"))
	script := `exec 9<"$1"; flock -x 9; echo held; exec -a $'\e[2J\n"x", user root) \xff'"$(printf %0500d 0)" cat`
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script, "bash", filepath.Join(store.Dir, "vm/100"))
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("held\n"))); err != nil {
		t.Fatal(err)
	}
	// What it sends back shows that it goes by the other name.
	if _, err := io.WriteString(in, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for l, err := range store.Open(datastore.Options{}).Locks(t.Context(), datastore.LocksOptions{}) {
		if err != nil || !strings.HasPrefix(l.Holder.Command, `\x1b[2J\n\"x\", user root) \xff000`) || len(l.Holder.Command) > 300 {
			t.Errorf("%q, %v", l.Holder.Command, err)
		}
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
}

func TestARefusalSaysWhatTheHolderIsDoing(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	says := datastore.ActivityPlace{Dirs: []string{filepath.Join(testds.TempDir(t), "said")}}
	p := helperproc.Start(t, "hold", store.Dir, "vm/100", says.Dirs[0])
	store.Backup("vm/100", first, []byte("x"))
	p.Send("go")
	p.WaitReady()
	ds := store.Open(datastore.Options{Activities: says})
	_, err := ds.RemoveGroup(t.Context(), store.Group("vm/100"), datastore.RemoveGroupOptions{})
	want := `: lock of vm/100, since 20`
	if !errors.Is(err, flock.ErrLocked) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `("off-site copy")`) {
		t.Errorf("%v, want %q in it", err, want)
	}
	for l, err := range ds.Locks(t.Context(), datastore.LocksOptions{}) {
		if err != nil || len(l.Activities) != 1 || l.Activities[0].Message != "off-site copy" || l.Activities[0].Operation != "lock" {
			t.Errorf("%+v, %v", l.Activities, err)
		}
	}
	p.Kill()
	if entries, err := os.ReadDir(says.Dirs[0]); err != nil || len(entries) != 1 {
		t.Fatalf("what a killed process leaves: %v, %v", entries, err)
	}
	if _, err := ds.RemoveGroup(t.Context(), store.Group("vm/100"), datastore.RemoveGroupOptions{}); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(says.Dirs[0]); err != nil || len(entries) != 0 {
		t.Errorf("what the next one leaves: %v, %v", entries, err)
	}
}

// holdObject holds a group until its input ends.
func holdObject(ctx context.Context, args []string, pipe *helperproc.IO) error {
	store, err := datastore.Open(args[0], datastore.Options{OnlyHost: true, Activities: datastore.ActivityPlace{Dirs: args[2:]}})
	if err != nil {
		return err
	}
	object, err := backupinfo.ParseObject(backupinfo.Namespace{}, args[1])
	if err != nil {
		return err
	}
	if _, err := pipe.Next(); err != nil {
		return err
	}
	held, err := store.Hold(ctx, object, datastore.HoldOptions{Message: "off-site copy"})
	if err != nil {
		return err
	}
	pipe.Ready()
	_, _ = pipe.Next()
	return held.Close()
}

func TestProgressIsToldToOthersAndToTheCaller(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	says := datastore.ActivityPlace{Dirs: []string{filepath.Join(testds.TempDir(t), "said")}}
	told := 0
	ds := store.Open(datastore.Options{Activities: says, Events: datastore.Events{Progress: func(datastore.Progress) { told++ }}})
	snapshot, err := testds.Backup(t.Context(), ds, store.Group("vm/100"), first, image(t, "xs64:1:1M"))
	if err != nil || told == 0 {
		t.Fatalf("%d times, %v", told, err)
	}
	reader, err := ds.OpenSnapshot(t.Context(), snapshot, datastore.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ds.RemoveSnapshot(t.Context(), snapshot, datastore.RemoveOptions{})
	if !errors.Is(err, flock.ErrLocked) || !strings.Contains(err.Error(), "by this process") {
		t.Errorf("%v", err)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(says.Dirs[0]); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

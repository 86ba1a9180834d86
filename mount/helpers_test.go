package mount_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/mount"
)

func TestMain(m *testing.M) {
	helperproc.Main(m, map[string]helperproc.Role{"mount": mountRole, "remove": removeRole, "collect": collectRole})
}

// needFUSE skips a test where nothing can be mounted.
func needFUSE(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("no /dev/fuse:", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root may mount without a helper")
	}
}

// needProgram skips a test that needs one, but on the machine where all are installed.
func needProgram(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil && os.Getenv("CI") == "" {
			t.Skip(err)
		}
	}
}

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// told are the problems that a mount tells of.
type told struct {
	mu     sync.Mutex
	all    []string
	hidden int
}

func (e *told) events() mount.Events {
	return mount.Events{
		Problem: func(path string, err error) { e.add(path + ": " + err.Error()) },
		Hidden: func(path string, count int, first error) {
			e.add(path + ": hidden: " + first.Error())
			e.mu.Lock()
			defer e.mu.Unlock()
			e.hidden += count
		},
		Cleared: func(point string) { e.add("cleared " + point) },
	}
}

func (e *told) add(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, text)
}

func (e *told) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.all, "\n")
}

func (e *told) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hidden
}

// mounted mounts for the time of the test, and looks for what is left behind afterwards.
func mounted(t testing.TB, ds *datastore.Datastore, opts mount.Options) (string, *mount.Mount) {
	t.Helper()
	needFUSE(t)
	point := t.TempDir()
	m, err := mount.New(t.Context(), point, ds, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		select {
		case <-m.Done():
		case <-time.After(10 * time.Second):
			t.Error("the mount does not end")
		}
		if entries, err := os.ReadDir(point); err != nil || len(entries) > 0 {
			t.Errorf("the mount point afterwards: %v, %v", entries, err)
		}
	})
	return m.Point(), m
}

// goroutines are those that have something of a mount on their stack.
func goroutines() int {
	buf := make([]byte, 1<<20)
	count := 0
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "pbs-like/mount.(*") || strings.Contains(stack, "go-fuse") {
			count++
		}
	}
	return count
}

func archiveName(t testing.TB, name string) backupinfo.ArchiveName {
	t.Helper()
	parsed, err := backupinfo.ParseArchiveName(name)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// mountRole serves a mount of a store on a directory, as a host, until it is told to end, or killed.
func mountRole(ctx context.Context, args []string, out *helperproc.IO) error {
	ds, err := datastore.Open(args[0], datastore.Options{OnlyHost: true, HostID: args[2]})
	if err != nil {
		return err
	}
	m, err := mount.New(ctx, args[1], ds, mount.Options{Idle: time.Hour})
	if err != nil {
		return err
	}
	out.Ready()
	if _, err := out.Next(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return m.Close()
}

// removeRole tries to remove a snapshot each time it is told to, and says what came of it.
func removeRole(ctx context.Context, args []string, out *helperproc.IO) error {
	ds, err := datastore.Open(args[0], datastore.Options{OnlyHost: true})
	if err != nil {
		return err
	}
	out.Ready()
	for {
		line, err := out.Next()
		if err != nil {
			return nil //nolint:nilerr // the test is done
		}
		snapshot, err := backupinfo.ParseSnapshotDir(strings.TrimPrefix(line, "force "))
		if err == nil {
			_, err = ds.RemoveSnapshot(ctx, snapshot, datastore.RemoveOptions{Force: strings.HasPrefix(line, "force ")})
		}
		out.Say(strings.ReplaceAll(errText(err), "\n", " "))
	}
}

func collectRole(ctx context.Context, args []string, out *helperproc.IO) error {
	ds, err := datastore.Open(args[0], datastore.Options{OnlyHost: true})
	if err != nil {
		return err
	}
	out.Ready()
	for {
		if _, err := out.Next(); err != nil {
			return nil //nolint:nilerr // the test is done
		}
		_, err = ds.Collect(ctx, datastore.CollectOptions{Cutoff: datastore.NoCutoff})
		out.Say(errText(err))
	}
}

func errText(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}

// isErrno tells whether an operation failed with a number.
func isErrno(err error, want syscall.Errno) bool {
	var got syscall.Errno
	return errors.As(err, &got) && got == want
}

// below lists the descriptors of this process that lead into a directory.
func below(t testing.TB, dir string) (open []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && strings.HasPrefix(target, dir) {
			open = append(open, target)
		}
	}
	return open
}

// eventually waits for something that happens by itself, and soon.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !is() {
		if time.Now().After(deadline) {
			t.Fatal("it does not come about that", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func names(t testing.TB, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// streams makes a snapshot of host/h with these streams.
func streams(t testing.TB, store *testds.Store, content map[string][]byte) backupinfo.Snapshot {
	t.Helper()
	ds := store.Open(datastore.Options{})
	w, err := ds.Backup(t.Context(), store.Group("host/h"), datastore.BackupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for name, data := range content {
		if _, err := w.AddStream(t.Context(), archiveName(t, name), strings.NewReader(string(data))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	latest, err := ds.Latest(t.Context(), store.Group("host/h"))
	if err != nil {
		t.Fatal(err)
	}
	return latest
}

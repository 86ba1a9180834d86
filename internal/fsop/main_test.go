package fsop_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
)

// The test binary runs itself again: with another user, in a mount namespace
// of its own, or to be killed.
const (
	envAgain = "FSOP_TEST_AGAIN" // why this is such a run
	envWrite = "FSOP_TEST_WRITE" // a directory in which to write a file, under the script of
	envSpec  = "FSOP_TEST_SPEC"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(envWrite); dir != "" {
		os.Exit(writeUnderScript(dir, os.Getenv(envSpec)))
	}
	os.Exit(m.Run())
}

func writeUnderScript(dir, spec string) int {
	script, err := fsoptest.Parse(spec, nil, nil)
	if err != nil {
		fmt.Println(err)
		return 2
	}
	d, err := os.Open(dir)
	if err != nil {
		fmt.Println(err)
		return 2
	}
	defer d.Close()
	if err := script.Disk().WriteFile(d, target, []byte(newData), 0o644); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// again runs tests of this binary in another process.
func again(t *testing.T, why, tests string, attr *syscall.SysProcAttr, env ...string) {
	t.Helper()
	// The directory that go test builds in is not open to other users. This
	// link leads to the binary all the same.
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run="+tests, "-test.v", "-test.timeout=60s")
	cmd.Dir = "/"
	cmd.Env = append(append(os.Environ(), env...), envAgain+"="+why)
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if err != nil && errorsIsPermission(err) {
		t.Skipf("not allowed here: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Fatalf("%s: %v\n%s", why, err, out)
	}
}

func errorsIsPermission(err error) bool {
	return strings.Contains(err.Error(), "operation not permitted")
}

func isAgain() bool { return os.Getenv(envAgain) != "" }

// What root may do hides mistakes: everything once more without privileges.
func TestEverythingHoldsWithoutPrivileges(t *testing.T) {
	if isAgain() || os.Getuid() != 0 {
		t.Skip("needs root, to become somebody else")
	}
	const nobody = 65534
	tmp, err := os.MkdirTemp("", "fsop") //nolint:usetesting // the parent of t.TempDir is closed to others
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(tmp) })
	must(t, os.Chown(tmp, nobody, nobody))
	attr := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	again(t, "without privileges", ".", attr, "TMPDIR="+tmp)
}

const (
	target  = "index.json.blob"
	oldData = "the old content"
	newData = "the new content, which is longer"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens a directory for the length of the test.
func open(t testing.TB, path string) *os.File {
	t.Helper()
	d, err := os.Open(path)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func tempDir(t testing.TB) *os.File { t.Helper(); return open(t, t.TempDir()) }

func put(t testing.TB, dir *os.File, name, data string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir.Name(), name), []byte(data), 0o600))
}

func content(t testing.TB, dir *os.File, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir.Name(), name))
	must(t, err)
	return string(data)
}

func names(t testing.TB, dir *os.File) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir.Name())
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// wantNames compares the whole content of a directory, so that leftovers show.
func wantNames(t testing.TB, dir *os.File, want ...string) {
	t.Helper()
	if got := names(t, dir); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%s contains %q, want %q", dir.Name(), got, want)
	}
}

func stat(t testing.TB, dir *os.File, name string) (st unix.Stat_t) {
	t.Helper()
	must(t, unix.Lstat(filepath.Join(dir.Name(), name), &st))
	return st
}

// countFDs counts the open descriptors of this process.
func countFDs(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

// real is the disk without any hook.
var real *fsop.Disk

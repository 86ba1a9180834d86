package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pbs-like/pbs-like/storelock/storelocktest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"pbs-like": main})
}

// TestScripts runs the stories in testdata/script over the real program.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               scriptEnvironment,
		Condition:           scriptCondition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   cmdExits,
			"store":   cmdStore,
			"golden":  cmdGolden,
			"feed":    cmdFeed,
			"endfeed": cmdEndFeed,
			"random":  cmdRandom,
			"cutoff":  cmdCutOff,
			"deep":    cmdDeep,

			"objectstore": cmdObjectStore,
		},
	})
}

// objectstore starts a server with a bucket, and makes the program use it.
func cmdObjectStore(ts *testscript.TestScript, _ bool, _ []string) {
	server, err := storelocktest.StartObjectStore(context.Background(), ts.MkAbs("server"))
	ts.Check(err)
	ts.Defer(server.Close)
	ts.Setenv("AWS_ENDPOINT_URL", server.Endpoint)
	ts.Setenv("AWS_REGION", "us-east-1")
	ts.Setenv("AWS_ACCESS_KEY_ID", storelocktest.AccessKey)
	ts.Setenv("AWS_SECRET_ACCESS_KEY", storelocktest.SecretKey)
}

// scriptCondition knows whether there is an object store, and whether a file system in user space can be mounted.
func scriptCondition(cond string) (bool, error) {
	switch cond {
	case "objectstore":
		return storelocktest.HasObjectStore(), nil
	case "fuse":
		_, err := os.Stat("/dev/fuse")
		return err == nil && os.Geteuid() == 0, nil
	}
	return false, fmt.Errorf("no condition %q", cond)
}

// scriptEnvironment keeps the user's own store out of the stories.
func scriptEnvironment(env *testscript.Env) error {
	env.Setenv("PBS_LIKE_DATASTORE", filepath.Join(env.WorkDir, "store"))
	for _, name := range []string{"PBS_REPOSITORY", "PBS_LIKE_ONLY_HOST", "PBS_LIKE_LOCK_WAIT"} {
		env.Setenv(name, "")
	}
	env.Setenv("PBS_LIKE_RUNTIME_DIR", filepath.Join(env.WorkDir, "runtime"))
	env.Setenv("PBS_LIKE_STATE_DIR", filepath.Join(env.WorkDir, "state"))
	env.Setenv("PBS_LIKE_CACHE_DIR", filepath.Join(env.WorkDir, "cache"))
	fast, err := fastDir()
	if err != nil {
		return err
	}
	env.Defer(func() { _ = os.RemoveAll(fast) })
	env.Setenv("FAST", fast)
	env.Values[feeds{}] = map[string]*os.File{}
	return nil
}

// fastDir is in memory where it can be: making the 65,536 directories of a real
// store on a busy disk takes longer than all other tests together, and removing
// them longer still.
func fastDir() (string, error) {
	if dir, err := os.MkdirTemp("/dev/shm", "pbs-like-test"); err == nil {
		return dir, nil
	}
	return os.MkdirTemp("", "pbs-like-test")
}

// exits CODE COMMAND... runs a command that must end with just this exit code.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if want, err := strconv.Atoi(args[0]); err != nil || code != want {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// store makes an empty store at once: the 65,536 directories of a real one are made on the way.
func cmdStore(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		ts.Check(os.MkdirAll(filepath.Join(ts.MkAbs(name), ".chunks"), 0o755))
	}
}

// golden DIR unpacks the store that the original program wrote.
func cmdGolden(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: golden DIR")
	}
	source := filepath.Join(repository(ts), "testdata", "golden", "store.tar.gz")
	ts.Check(unpack(source, ts.MkAbs(args[0])))
}

func repository(ts *testscript.TestScript) string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	ts.Check(err)
	return dir
}

// unpack leaves owners out: the tests run as anybody.
func unpack(archive, target string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	files := tar.NewReader(zipped)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, rest, _ := strings.Cut(header.Name, "/")
		if err := unpackFile(filepath.Join(target, rest), header, files); err != nil {
			return err
		}
	}
}

func unpackFile(path string, header *tar.Header, content io.Reader) error {
	if header.Typeflag == tar.TypeDir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, header.FileInfo().Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// feeds is the key of the FIFOs that a script keeps open.
type feeds struct{}

// feed FIFO writes more into a FIFO than its buffer holds, and keeps it open: when
// it returns, the reader is in the middle of its work and stays there.
func cmdFeed(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: feed FIFO")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	ts.Value(feeds{}).(map[string]*os.File)[args[0]] = f
	_, err = f.Write(make([]byte, 1<<20))
	ts.Check(err)
}

// endfeed FIFO... closes what feed opened.
func cmdEndFeed(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		ts.Check(ts.Value(feeds{}).(map[string]*os.File)[name].Close())
	}
}

// random FILE SIZE SEED writes bytes that do not compress, the same for each seed.
func cmdRandom(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: random FILE SIZE SEED")
	}
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	x, err := strconv.ParseUint(args[2], 10, 64)
	ts.Check(err)
	data := make([]byte, size)
	for i := range data {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		data[i] = byte(x)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o644))
}

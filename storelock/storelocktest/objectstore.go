package storelocktest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// What an object store has that StartObjectStore starts.
const (
	Bucket    = "bucket"
	AccessKey = "me"
	SecretKey = "secret-secret"
)

// objectStoreVersion is what is installed if there is no versitygw yet. It has hundreds of
// requirements of its own, so it is in no go.mod of ours. The Makefile has it too.
const objectStoreVersion = "v1.8.0"

// An ObjectStore is a real server, versitygw over a directory, that listens on loopback.
type ObjectStore struct {
	Endpoint string
	cmd      *exec.Cmd
	out      output
	ended    chan struct{}
}

// StartObjectStore starts one with its objects below a directory. It has to be closed. The error
// says where the program can't be had.
func StartObjectStore(ctx context.Context, dir string) (*ObjectStore, error) {
	path, err := objectStoreProgram(ctx)
	if err != nil {
		return nil, fmt.Errorf("versitygw %s can't be had: %w", objectStoreVersion, err)
	}
	root, sidecar := filepath.Join(dir, "objects"), filepath.Join(dir, "attributes")
	for _, d := range []string{filepath.Join(root, Bucket), sidecar} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	s := &ObjectStore{Endpoint: "http://" + address, ended: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, path, "--access", AccessKey, "--secret", SecretKey, "--port", address, "--quiet", "posix", "--sidecar", sidecar, root)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	if err := s.start(); err != nil {
		return nil, err
	}
	if err := s.wait(ctx, address); err != nil {
		s.Close()
		return nil, fmt.Errorf("%w\n%s", err, s.Output())
	}
	return s, nil
}

func (s *ObjectStore) start() error {
	started := make(chan error)
	go func() {
		defer close(s.ended)
		// The signal comes when the thread ends that has started the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread() // else the thread ends with us, and takes along what others have started on it
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait() // it is killed
		}
	}()
	return <-started
}

// wait waits until it listens: it says nothing when it does.
func (s *ObjectStore) wait(ctx context.Context, address string) error {
	var dialer net.Dialer
	for end := time.Now().Add(30 * time.Second); ; {
		c, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(end) {
			return fmt.Errorf("the server does not listen: %w", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Close ends the server.
func (s *ObjectStore) Close() {
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.ended
}

// Output is what the server has said.
func (s *ObjectStore) Output() string { return s.out.String() }

// HasObjectStore tells whether the program is there, and does not try to get it.
func HasObjectStore() bool {
	_, err := builtObjectStore()
	return err == nil
}

func objectStoreProgram(ctx context.Context) (string, error) {
	if path, err := builtObjectStore(); err == nil {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "pbs-like-test", objectStoreVersion)
	ctx, stop := context.WithTimeout(ctx, 8*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "go", "install", "github.com/versity/versitygw/cmd/versitygw@"+objectStoreVersion)
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-mod=mod")
	cmd.Dir = os.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return filepath.Join(dir, "versitygw"), nil
}

// builtObjectStore looks where `make object-store` puts it, and where an earlier test did.
func builtObjectStore() (string, error) {
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".bin", "versitygw-"+objectStoreVersion)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "pbs-like-test", objectStoreVersion, "versitygw")
	_, err = os.Stat(path)
	return path, err
}

func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/s3store"
	"github.com/pbs-like/pbs-like/storelock/storelocktest"
)

// serverVersion is what is installed if there is no versitygw yet. It has hundreds of
// requirements of its own, so it is in no go.mod of ours.
const serverVersion = "v1.8.0"

// program is built once for all tests of this process, and kept for later ones.
var program = sync.OnceValues(func() (string, error) {
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path, nil
	}
	if path, err := filepath.Abs("../../.bin/versitygw-" + serverVersion); err == nil {
		if _, err := os.Stat(path); err == nil { // make object-store
			return path, nil
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "pbs-like-test", serverVersion)
	path := filepath.Join(dir, "versitygw")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	ctx, stop := context.WithTimeout(context.Background(), 8*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "go", "install", "github.com/versity/versitygw/cmd/versitygw@"+serverVersion)
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-mod=mod")
	cmd.Dir = os.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// server starts a real server on loopback and gives its address.
func server(t *testing.T) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Skipf("NOT TESTED against a real server: versitygw %s can't be had: %v", serverVersion, err)
	}
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bucket"), 0o755); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	cmd := exec.CommandContext(t.Context(), path, "--access", "me", "--secret", "secret-secret", "--port", address, "--quiet", "posix", "--sidecar", t.TempDir(), root)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out
	started, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		// The signal comes when the thread ends that has started the process.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("the server: %v\n%s", cmd.ProcessState, out.String())
		}
	})
	for end := time.Now().Add(30 * time.Second); ; {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return "http://" + address
		}
		if time.Now().After(end) {
			t.Fatalf("the server does not listen\n%s", out.String())
		}
		time.Sleep(10 * time.Millisecond) // it says nothing when it is ready
	}
}

type output struct {
	mu   sync.Mutex
	text []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

var places atomic.Int64

func open(t *testing.T, endpoint string) *s3store.Store {
	t.Helper()
	s, err := s3store.Open(fmt.Sprintf("s3://bucket/place/%d", places.Add(1)), s3store.Options{
		Endpoint: endpoint, Region: "us-east-1", AccessKey: "me", SecretKey: "secret-secret",
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestObjectStoreConforms(t *testing.T) {
	t.Parallel()
	endpoint := server(t)
	storelocktest.Conformance(t, func(t *testing.T) storelock.Backend {
		t.Helper()
		return open(t, endpoint)
	})
}

func TestResourceInAnObjectStoreConforms(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the same again below another prefix")
	}
	endpoint := server(t)
	storelocktest.Conformance(t, func(t *testing.T) storelock.Backend {
		t.Helper()
		return open(t, endpoint).Resource("vm/100")
	})
}

// proxy is between client and server, and makes what its hook says of each request.
func proxy(t *testing.T, endpoint string, fault func(*http.Request) string) string {
	t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is in the signature
	}}
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch fault(r) {
		case "refuse":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "lose the answer":
			forward.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusInternalServerError)
		case "drop the connection":
			panic(http.ErrAbortHandler)
		case "twice":
			body, _ := io.ReadAll(r.Body)
			again := r.Clone(r.Context())
			again.Body, r.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
			forward.ServeHTTP(httptest.NewRecorder(), again)
			forward.ServeHTTP(w, r)
		default:
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(p.Close)
	return p.URL
}

func TestEachFaultOfTheNetworkLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	endpoint := server(t)
	for _, fault := range []string{"refuse", "lose the answer", "drop the connection", "twice"} {
		for n := int64(1); ; n++ {
			var calls atomic.Int64
			s := open(t, proxy(t, endpoint, func(*http.Request) string {
				if calls.Add(1) == n {
					return fault
				}
				return ""
			}))
			g, err := storelock.Acquire(t.Context(), s, storelock.Options{Exclusive: true, Timeout: 20 * time.Second})
			if err != nil {
				t.Errorf("%s at %d: %v", fault, n, err)
				continue
			}
			if err := g.Check(t.Context()); err != nil {
				t.Errorf("%s at %d: %v", fault, n, err)
			}
			if err := g.Close(); err != nil && calls.Load() < n {
				t.Errorf("%s at %d: %v", fault, n, err)
			}
			wantNothing(t, s)
			if calls.Load() < n {
				break
			}
		}
	}
}

func wantNothing(t *testing.T, s *s3store.Store) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; {
		locks, err := s.List(t.Context(), "locks")
		queue, err2 := s.List(t.Context(), "queue")
		if len(locks)+len(queue) == 0 && err == nil && err2 == nil {
			return
		}
		if time.Now().After(end) {
			t.Errorf("left: %q %q, %v %v", locks, queue, err, err2)
			return
		}
		time.Sleep(20 * time.Millisecond) // what was lost is deleted in the background
	}
}

func TestAMissingBucketIsNoEmptyStore(t *testing.T) {
	t.Parallel()
	s, err := s3store.Open("s3://nowhere/x", s3store.Options{Endpoint: server(t), Region: "us-east-1", AccessKey: "me", SecretKey: "secret-secret"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storelock.Acquire(t.Context(), s, storelock.Options{}); !errors.Is(err, storelock.ErrFailed) {
		t.Error(err)
	}
}

func TestOnlyAddressesOfObjectStoresAreTaken(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "bucket/x", "http://bucket/x", "s3:///x", "s3://u:p@bucket/x", "s3://bucket/x?y"} {
		if _, err := s3store.Open(address, s3store.Options{}); !errors.Is(err, s3store.ErrAddress) {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, endpoint := range []string{"minio:9000", "ftp://x", "http://"} {
		if _, err := s3store.Open("s3://bucket/x", s3store.Options{Endpoint: endpoint}); !errors.Is(err, s3store.ErrAddress) {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
	s, err := s3store.Open("s3://bucket//a/../b/", s3store.Options{AccessKey: "x"})
	if err != nil || s.String() != "s3://bucket/b" {
		t.Errorf("%v, %v", s, err)
	}
}

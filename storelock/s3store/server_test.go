package s3store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/s3store"
	"github.com/pbs-like/pbs-like/storelock/storelocktest"
)

// server starts a real server on loopback and gives its address.
func server(t *testing.T) string {
	t.Helper()
	s, err := storelocktest.StartObjectStore(t.Context(), t.TempDir())
	if err != nil {
		t.Skip("NOT TESTED against a real server: ", err)
	}
	t.Cleanup(func() {
		s.Close()
		if t.Failed() {
			t.Log(s.Output())
		}
	})
	return s.Endpoint
}

var places atomic.Int64

func open(t *testing.T, endpoint string) *s3store.Store {
	t.Helper()
	s, err := s3store.Open(fmt.Sprintf("s3://"+storelocktest.Bucket+"/place/%d", places.Add(1)), s3store.Options{
		Endpoint: endpoint, Region: "us-east-1", AccessKey: storelocktest.AccessKey, SecretKey: storelocktest.SecretKey,
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

// TestAServerWithoutConditionalRequestsHasAllThatIsNeeded: one that refuses whatever has a condition.
func TestAServerWithoutConditionalRequestsHasAllThatIsNeeded(t *testing.T) {
	t.Parallel()
	s := open(t, proxy(t, server(t), func(r *http.Request) string {
		for _, header := range []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "X-Amz-If-Match-Size"} {
			if r.Header.Get(header) != "" {
				t.Errorf("%s %s has %s", r.Method, r.URL, header)
				return "refuse"
			}
		}
		return ""
	}))
	var inside, turns atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 3 {
				g, err := storelock.Acquire(t.Context(), s, storelock.Options{Exclusive: true, Timeout: 20 * time.Second, RecheckDelay: 20 * time.Millisecond})
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two at a time")
				}
				if err := g.Migrate(t.Context(), storelock.Owner{}); err != nil {
					t.Error(err)
				}
				turns.Add(1)
				inside.Add(-1)
				if err := g.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if _, err := storelock.SelfTest(t.Context(), s, storelock.SelfTestOptions{}); err != nil || turns.Load() != 12 {
		t.Errorf("%d turns, %v", turns.Load(), err)
	}
	wantNothing(t, s)
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
	s, err := s3store.Open("s3://nowhere/x", s3store.Options{Endpoint: server(t), Region: "us-east-1", AccessKey: storelocktest.AccessKey, SecretKey: storelocktest.SecretKey})
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

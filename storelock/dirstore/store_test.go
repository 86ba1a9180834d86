package dirstore_test

import (
	"testing"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
	"github.com/pbs-like/pbs-like/storelock/storelocktest"
)

func open(t testing.TB, dir string, opts dirstore.Options) *dirstore.Store {
	t.Helper()
	s, err := dirstore.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestDirectoryConforms(t *testing.T) {
	t.Parallel()
	storelocktest.Conformance(t, func(t *testing.T) storelock.Backend {
		t.Helper()
		return open(t, t.TempDir(), dirstore.Options{})
	})
}

func TestDirectoryOfAResourceConforms(t *testing.T) {
	t.Parallel()
	storelocktest.Conformance(t, func(t *testing.T) storelock.Backend {
		t.Helper()
		return open(t, t.TempDir(), dirstore.Options{}).Resource("vm/100").Resource("snapshots")
	})
}

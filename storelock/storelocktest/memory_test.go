package storelocktest_test

import (
	"testing"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/storelocktest"
)

func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	storelocktest.Conformance(t, func(*testing.T) storelock.Backend { return &storelocktest.Memory{} })
}

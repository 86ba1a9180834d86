package keys

import (
	"testing"
)

func TestDigestAllocatesNothing(t *testing.T) {
	k := k1(t)
	h := k.NewHasher()
	data := make([]byte, 10000)
	if n := testing.AllocsPerRun(10, func() {
		one := k.Digest(data)
		_, _ = h.Write(data)
		if h.Digest() != one {
			t.Error("two digests of one data")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

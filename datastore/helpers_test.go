package datastore_test

import (
	"iter"
	"testing"

	"github.com/pbs-like/pbs-like/internal/goldenspec"
	"github.com/pbs-like/pbs-like/internal/helperproc"
)

func iterPull[K, V any](seq iter.Seq2[K, V]) (func() (K, V, bool), func()) { return iter.Pull2(seq) }

// image gives bytes from a specification, such as "xs64:1:9M+zero:8M".
func image(t testing.TB, spec string) []byte {
	t.Helper()
	data, err := goldenspec.Expand(spec)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestMain(m *testing.M) { helperproc.Main(m, roles) }

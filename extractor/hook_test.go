package extractor

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/pxar"
)

func TestMain(m *testing.M) {
	helperproc.Main(m, map[string]helperproc.Role{"extract": extractRole})
}

// extractRole extracts the archive in a file, and prints the problems. With a number it stops at that place of the archive, for good.
func extractRole(ctx context.Context, args []string, hp *helperproc.IO) error {
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	source := &hookedReader{r: bytes.NewReader(data), at: -1}
	if len(args) > 2 {
		source.at = int64(len(data)) / 2
		source.hook = func() {
			hp.Ready()
			_, _ = hp.Next()
		}
	}
	a, err := pxar.Open(source, int64(len(data)), pxar.OpenOptions{})
	if err != nil {
		return err
	}
	source.armed.Store(true)
	r := &report{}
	_, err = Extract(ctx, a, args[1], Options{Events: r.events()})
	for _, p := range r.problems {
		hp.Say(p.Error())
	}
	hp.Say("done")
	return err
}

// hookedReader calls a hook once, when a place is read.
type hookedReader struct {
	r     io.ReaderAt
	at    int64
	hook  func()
	once  sync.Once
	armed atomic.Bool
	read  atomic.Int64
	bad   [2]int64 // a range that can't be read
}

func (h *hookedReader) ReadAt(p []byte, at int64) (int, error) {
	if h.armed.Load() && h.at >= 0 && at <= h.at && h.at < at+int64(len(p)) {
		h.once.Do(h.hook)
	}
	if at < h.bad[1] && at+int64(len(p)) > h.bad[0] {
		return 0, io.ErrNoProgress
	}
	h.read.Add(int64(len(p)))
	return h.r.ReadAt(p, at)
}

func hooked(t testing.TB, data []byte, at int64, hook func()) *pxar.Archive {
	t.Helper()
	h := &hookedReader{r: bytes.NewReader(data), at: at, hook: hook}
	a, err := pxar.Open(h, int64(len(data)), pxar.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h.armed.Store(true)
	return a
}

// await waits until workers have made what is below a directory.
func await(t testing.TB, dir string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		for _, err := os.Lstat(filepath.Join(dir, path)); err != nil && t.Context().Err() == nil; _, err = os.Lstat(filepath.Join(dir, path)) {
			runtime.Gosched()
		}
	}
}

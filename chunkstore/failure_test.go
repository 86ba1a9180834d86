package chunkstore

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/helperproc"
)

// scenario is what an insertion of the sample's small form finds.
type scenario struct {
	name  string
	there func(c sample) []byte // nil: not even a directory
}

func scenarios() []scenario {
	return []scenario{
		{"nothing", func(sample) []byte { return nil }},
		{"cut off", func(c sample) []byte { return c.large[:5000] }},
		{"a larger one", func(c sample) []byte { return c.large }},
		{"the same", func(c sample) []byte { return c.small }},
	}
}

func TestAnInsertionThatFailsLeavesTheOldOrTheNew(t *testing.T) {
	t.Parallel()
	c := newSample(sampleSeed, sampleSize)
	for _, sc := range scenarios() {
		for _, errno := range []unix.Errno{unix.ENOSPC, unix.EIO, unix.EACCES, unix.EDQUOT, unix.EROFS} {
			t.Run(sc.name+"/"+errno.Error(), func(t *testing.T) {
				t.Parallel()
				for script := range fsoptest.Failures(t, errno) {
					checkFailure(t, script, c, c.small, sc.there(c))
				}
			})
		}
	}
}

// A large one is written in two steps where the file system is known for it.
func TestAnInsertionPastThePageCacheThatFailsLeavesTheOldOrTheNew(t *testing.T) {
	t.Parallel()
	data := make([]byte, directMin+100)
	random(4, data)
	stored := append(make([]byte, 0, 1<<20), mustEncode(t, data)...)
	c := sample{digest: digest.Of(data), data: data}
	for script := range fsoptest.Failures(t, unix.ENOSPC) {
		checkFailure(t, script, c, stored, nil)
	}
}

func checkFailure(t *testing.T, script *fsoptest.Script, c sample, comes, there []byte) {
	t.Helper()
	root := newRoot(t) // looks for temporary files in the end
	before := openStore(t, root, nil)
	if there != nil {
		put(t, before, c.digest, there)
	}
	s := openStore(t, root, script.Disk())
	_, err := s.Insert(t.Context(), c.digest, comes)
	if err == nil {
		checkGood(t, before, c)
	} else if !script.Injected() {
		t.Error(err)
	}
	checkOldOrNew(t, before, c.digest, there, comes)
	// And the next one gets through.
	if _, err := before.Insert(t.Context(), c.digest, comes); err != nil {
		t.Error(err)
	}
	checkGood(t, before, c)
}

func checkOldOrNew(t *testing.T, s *Store, d digest.Digest, there, comes []byte) {
	t.Helper()
	if now := content(t, s, d); !bytes.Equal(now, there) && !bytes.Equal(now, comes) {
		t.Errorf("neither the old nor the new is there, but %d bytes", len(now))
	}
}

func TestAnInsertionOnADiskThatDiesLeavesTheOldOrTheNew(t *testing.T) {
	t.Parallel()
	c := newSample(sampleSeed, sampleSize)
	for _, sc := range scenarios() {
		for script := range fsoptest.Deaths(t, unix.EIO) {
			s := openStore(t, rootOfTheDead(t), script.Disk())
			if there := sc.there(c); there != nil {
				put(t, s, c.digest, there)
			}
			_, err := s.Insert(t.Context(), c.digest, c.small)
			if script.Injected() == (err == nil) {
				t.Errorf("%s: %v", sc.name, err)
			}
			checkOldOrNew(t, s, c.digest, sc.there(c), c.small)
		}
	}
}

// rootOfTheDead is a root in which temporary files may be left.
func rootOfTheDead(t *testing.T) *os.File {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, chunksName), 0o750); err != nil {
		t.Fatal(err)
	}
	return openRoot(t, dir)
}

func TestAWriterThatIsKilledLeavesTheOldOrTheNew(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes hundreds of processes, and -short was asked for")
	}
	c := newSample(sampleSeed, sampleSize)
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			// To be killed before the next step is the same as after this one.
			for n := 0; checkKilled(t, fsoptest.KillAfter(n), c, sc.there(c)); n++ {
			}
		})
	}
}

func checkKilled(t *testing.T, script *fsoptest.Script, c sample, there []byte) (died bool) {
	t.Helper()
	root := rootOfTheDead(t)
	s := openStore(t, root, nil)
	if there != nil {
		put(t, s, c.digest, there)
	}
	died = helperproc.Start(t, "insert", root.Name(), script.Spec()).Ended() != nil
	checkOldOrNew(t, s, c.digest, there, c.small)
	checkLeftovers(t, root.Name(), c.digest)
	if _, err := s.Insert(t.Context(), c.digest, c.small); err != nil {
		t.Error(err)
	}
	checkGood(t, s, c)
	return died
}

// checkLeftovers fails for names that a collection would not know as temporary
// files of a chunk.
func checkLeftovers(t *testing.T, root string, d digest.Digest) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, e fs.DirEntry, err error) error {
		prefix := ".chunks/" + nameOf(d).path()
		if err == nil && !e.IsDir() && path != prefix {
			if suffix, ok := strings.CutPrefix(path, prefix+".tmp_"); !ok || len(suffix) != 6 {
				t.Errorf("%q is left", path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAnInsertionMakesFewChanges(t *testing.T) {
	t.Parallel()
	script := fsoptest.Record()
	s := openStore(t, newRoot(t), script.Disk())
	c := newSample(sampleSeed, sampleSize)
	if err := os.Mkdir(filepath.Dir(s.pathOf(c.digest)), 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Insert(t.Context(), c.digest, c.small); err != nil {
		t.Fatal(err)
	}
	var ops []fsop.Op
	for _, change := range script.Changes() {
		ops = append(ops, change.Op)
	}
	want := []fsop.Op{fsop.OpCreate, fsop.OpWrite, fsop.OpClose, fsop.OpRename}
	if len(ops) != len(want) {
		t.Errorf("changes %v, want %v", ops, want)
	}
}

// Not parallel: nothing else may open files meanwhile.
func TestNoDescriptorStaysOpen(t *testing.T) {
	c := newSample(sampleSeed, sampleSize)
	count := func() int {
		t.Helper()
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	root := newRoot(t)
	good := openStore(t, root, nil)
	l := good.NewLoader()
	defer l.Close()
	before := count()
	for n := range 10 {
		s, err := Open(root, Options{Disk: fsoptest.FailAt(n, unix.EIO).Disk()})
		if err != nil {
			t.Fatal(err)
		}
		for _, stored := range [][]byte{c.small[:5], c.large, c.small, c.encrypted} {
			_, _ = s.Insert(t.Context(), c.digest, stored)
		}
		_, _ = s.Reuse(c.digest)
		_, _ = s.ReuseVerified(c.digest, l)
		_, _ = l.Load(c.digest, 5)
		_, _ = s.Lookup(digest.Digest{})
		guard, err := s.LockShared(t.Context(), flock.Wait{})
		if err == nil {
			_, _ = s.LockExclusive(t.Context(), flock.Wait{})
		}
		guard.Close()
		s.Close()
		if err := os.RemoveAll(filepath.Dir(good.pathOf(c.digest))); err != nil {
			t.Fatal(err)
		}
	}
	if after := count(); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

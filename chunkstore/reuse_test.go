package chunkstore

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
)

func TestReuseTouchesWhatItTrusts(t *testing.T) {
	t.Parallel()
	c := newSample(sampleSeed, sampleSize)
	for name, stored := range map[string][]byte{"plain": c.large, "compressed": c.small, "encrypted": c.encrypted, "rotten": c.large[:100]} {
		s := newStore(t)
		put(t, s, c.digest, stored)
		if ok, err := s.Reuse(c.digest); !ok || err != nil {
			t.Fatalf("%s: %v, %v", name, ok, err)
		}
		checkFresh(t, s, c.digest)
		info, err := os.Stat(s.pathOf(c.digest))
		if err != nil {
			t.Fatal(err)
		}
		if !info.ModTime().Equal(longAgo()) {
			t.Errorf("%s: the time of change moved to %v", name, info.ModTime())
		}
	}
}

func TestMissingAndEmptyChunksAreNotReused(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	l := s.NewLoader()
	defer l.Close()
	c := newSample(sampleSeed, sampleSize)
	check := func(what string) {
		t.Helper()
		if ok, err := s.Reuse(c.digest); ok || err != nil {
			t.Errorf("%s: Reuse = %v, %v", what, ok, err)
		}
		if ok, err := s.ReuseVerified(c.digest, l); ok || err != nil {
			t.Errorf("%s: ReuseVerified = %v, %v", what, ok, err)
		}
	}
	check("no directory")
	put(t, s, c.digest, nil)
	check("empty")
	info, err := os.Stat(s.pathOf(c.digest))
	if err != nil || info.Sys().(*syscall.Stat_t).Atim.Sec != longAgo().Unix() {
		t.Errorf("an empty chunk was touched, so that it would outlive a collection: %v", err)
	}
	if err := os.Remove(s.pathOf(c.digest)); err != nil {
		t.Fatal(err)
	}
	check("no file")
}

func TestDamagedChunksAreNotReusedVerified(t *testing.T) {
	t.Parallel()
	c := newSample(sampleSeed, sampleSize)
	for name, stored := range damagedForms(c) {
		s := newStore(t)
		putDamaged(t, s, c, stored)
		l := s.NewLoader()
		if ok, err := s.ReuseVerified(c.digest, l); ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
		l.Close()
	}
}

func TestAChunkThatMayNotBeTouchedIsAnError(t *testing.T) {
	t.Parallel()
	disk := &fsop.Disk{Before: func(c fsop.Change) error { return unix.EPERM }}
	s := openStore(t, newRoot(t), disk)
	c := newSample(sampleSeed, sampleSize)
	put(t, s, c.digest, c.large)
	if ok, err := s.Reuse(c.digest); ok || !errors.Is(err, unix.EPERM) {
		t.Errorf("Reuse = %v, %v", ok, err)
	}
	if _, err := s.Insert(t.Context(), c.digest, c.large); !errors.Is(err, unix.EPERM) {
		t.Errorf("Insert: %v", err)
	}
}

// foreigners are what somebody may have put in the place of a chunk, or of the
// directory of one. elsewhere holds a good chunk.
func foreigners(elsewhere string) map[string]func(path string) error {
	return map[string]func(path string) error{
		"symbolic link":          func(p string) error { return os.Symlink(elsewhere, p) },
		"dangling symbolic link": func(p string) error { return os.Symlink("nowhere", p) },
		"pipe":                   func(p string) error { return unix.Mkfifo(p, 0o666) },
		"device": func(p string) error {
			return unix.Mknod(p, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3)))
		},
		"socket": func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o666, 0) },
	}
}

func TestForeignThingsAreRefusedAndNeitherFollowedNorOpened(t *testing.T) {
	t.Parallel()
	c := newSample(sampleSeed, sampleSize)
	elsewhere := t.TempDir()
	target := filepath.Join(elsewhere, c.digest.String())
	if err := os.WriteFile(target, c.large, 0o644); err != nil {
		t.Fatal(err)
	}
	makeOld(t, target)
	for name, plant := range foreigners(target) {
		t.Run(name+" as chunk", func(t *testing.T) { checkForeign(t, c, true, plant) })
	}
	t.Run("directory as chunk", func(t *testing.T) {
		checkForeign(t, c, true, func(p string) error { return os.Mkdir(p, 0o755) })
	})
	for name, plant := range foreigners(elsewhere) {
		t.Run(name+" as directory", func(t *testing.T) { checkForeign(t, c, false, plant) })
	}
	t.Run("file as directory", func(t *testing.T) {
		checkForeign(t, c, false, func(p string) error { return os.WriteFile(p, nil, 0o644) })
	})
	info, err := os.Stat(target)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != int64(len(c.large)) || info.Sys().(*syscall.Stat_t).Atim.Sec != longAgo().Unix() {
		t.Error("the target of a link was changed, read or touched")
	}
}

func checkForeign(t *testing.T, c sample, asChunk bool, plant func(path string) error) {
	t.Helper()
	s := newStore(t)
	path := filepath.Dir(s.pathOf(c.digest))
	if asChunk {
		if err := os.Mkdir(path, 0o750); err != nil {
			t.Fatal(err)
		}
		path = s.pathOf(c.digest)
	}
	if err := plant(path); errors.Is(err, unix.EPERM) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	l := s.NewLoader()
	defer l.Close()
	_, err1 := s.Lookup(c.digest)
	_, err2 := s.Reuse(c.digest)
	_, err3 := s.ReuseVerified(c.digest, l)
	_, err4 := s.Insert(t.Context(), c.digest, c.small)
	_, err5 := s.Load(c.digest, nil)
	_, err6 := l.Load(c.digest, AnySize)
	for i, err := range []error{err1, err2, err3, err4, err5, err6} {
		if !errors.Is(err, ErrForeign) {
			t.Errorf("operation %d: %v", i, err)
		}
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

// A medium that has lost a chunk answers EIO; every other errno says nothing about
// the chunk.
func TestOnlyEIOIsDamage(t *testing.T) {
	t.Parallel()
	for errno, want := range map[unix.Errno]bool{
		unix.EIO: true, unix.EACCES: false, unix.ESTALE: false, unix.ETIMEDOUT: false, unix.EMFILE: false, unix.ENOMEM: false,
	} {
		if err := (&os.PathError{Op: "read", Path: "x", Err: errno}); isDamage(err) != want {
			t.Errorf("%v: damage = %v", err, !want)
		}
	}
	if !isDamage(&CorruptChunkError{}) {
		t.Error("a corrupt chunk is not damaged")
	}
}

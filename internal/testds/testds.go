package testds

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// Store is a datastore in a temporary directory.
type Store struct {
	T   testing.TB
	Dir string
	// Damaged says that finished snapshots need not restore.
	Damaged bool
	// Leftovers says that leftovers of a crash are expected.
	Leftovers bool
}

// OnDisk makes an empty store in the test's temporary directory.
func OnDisk(t testing.TB) *Store {
	t.Helper()
	return At(t, filepath.Join(t.TempDir(), "store"))
}

// New makes an empty store. Its chunk directories are made as they are needed.
func New(t testing.TB) *Store {
	t.Helper()
	return At(t, filepath.Join(TempDir(t), "store"))
}

// TempDir is a directory for the test on a file system in memory, if there is
// one with room: a sync costs nothing there, and tests that count through all
// failures of an operation sync thousands of times.
func TempDir(t testing.TB) string {
	t.Helper()
	const memory, room = "/dev/shm", 1 << 30
	var stat unix.Statfs_t
	if err := unix.Statfs(memory, &stat); err != nil || stat.Bavail*uint64(stat.Bsize) < room {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "pbs-like-test-") //nolint:usetesting // t.TempDir can't be told where
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// At makes an empty store in a directory, such as one on a file system of its own.
func At(t testing.TB, dir string) *Store {
	t.Helper()
	for _, name := range []string{dir, filepath.Join(dir, ".chunks")} {
		if err := os.Mkdir(name, 0o755); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".lock"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return watch(t, dir)
}

func watch(t testing.TB, dir string) *Store {
	t.Helper()
	s := &Store{T: t, Dir: dir}
	t.Cleanup(func() {
		if !t.Failed() {
			s.Check()
		}
	})
	return s
}

// Open opens the store. Changes are allowed whatever the file system is that the tests run on.
func (s *Store) Open(opts datastore.Options) *datastore.Datastore {
	s.T.Helper()
	opts.OnlyHost = true
	store, err := datastore.Open(s.Dir, opts)
	if err != nil {
		s.T.Fatal(err)
	}
	return store
}

// OpenWith opens the store with its changes to the disk under control.
func (s *Store) OpenWith(disk *fsop.Disk) *datastore.Datastore {
	return s.Open(datastore.Options{Disk: disk})
}

// Check is the consistency check that runs after every test.
func (s *Store) Check() {
	s.T.Helper()
	for _, problem := range s.Problems() {
		s.T.Errorf("after the test: %s", problem)
	}
}

// Problems lists what is wrong with the store.
func (s *Store) Problems() []string {
	s.T.Helper()
	problems := s.heldLocks()
	problems = append(problems, s.openDescriptors()...)
	if !s.Leftovers {
		problems = append(problems, s.leftovers()...)
	}
	if !s.Damaged {
		for _, err := range s.Unrestorable() {
			problems = append(problems, err.Error())
		}
	}
	return problems
}

func (s *Store) heldLocks() (problems []string) {
	for _, path := range flock.Held() {
		if strings.HasPrefix(path, s.Dir+"/") {
			problems = append(problems, "still locked: "+path)
		}
	}
	return problems
}

func (s *Store) openDescriptors() (problems []string) {
	for _, path := range s.Descriptors() {
		problems = append(problems, "descriptor still open: "+path)
	}
	return problems
}

// Descriptors are the files in the store that this process has open.
func (s *Store) Descriptors() (paths []string) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		target, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err == nil && (target == s.Dir || strings.HasPrefix(target, s.Dir+"/")) {
			paths = append(paths, target)
		}
	}
	return paths
}

// leftovers finds what an operation should have taken away: hidden names of ours and temporary files.
func (s *Store) leftovers() (problems []string) {
	err := filepath.WalkDir(s.Dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		_, unfinished := os.Stat(filepath.Join(filepath.Dir(path), backupinfo.ManifestName))
		if name == ".pbs-like-writer" && unfinished == nil {
			return nil // a mark that could not be removed harms nobody in a finished snapshot
		}
		if strings.HasPrefix(name, ".pbs-like-") && !slices.Contains([]string{".pbs-like-leftover", ".pbs-like-locks", ".pbs-like-locking"}, name) || strings.Contains(name, ".tmp_") && !s.Damaged {
			problems = append(problems, "left behind: "+path)
		}
		return nil
	})
	if err != nil {
		problems = append(problems, err.Error())
	}
	return problems
}

// Unrestorable restores every archive of every snapshot that is listed as
// finished, and tells which of them could not be. Encrypted archives are passed over.
func (s *Store) Unrestorable() (failures []error) {
	ctx := s.T.Context()
	if ctx.Err() != nil { // during clean-up the test's context is over
		ctx = contextWithoutEnd()
	}
	store := s.Open(datastore.Options{})
	for _, snapshot := range s.Finished() {
		err := func() error {
			reader, err := store.OpenSnapshot(ctx, snapshot, datastore.ReadOptions{})
			if err != nil {
				return err
			}
			defer reader.Close() //nolint:errcheck // the restore is what counts
			for _, file := range reader.Manifest().Files() {
				if file.CryptMode == backupinfo.CryptEncrypt {
					continue
				}
				if err := restore(ctx, reader, file.Name, io.Discard); err != nil {
					return err
				}
			}
			return nil
		}()
		if err != nil {
			failures = append(failures, fmt.Errorf("finished snapshot %q does not restore: %w", snapshot.Dir(), err))
		}
	}
	return failures
}

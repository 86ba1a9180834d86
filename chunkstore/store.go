package chunkstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/keys"
)

const (
	chunksName = ".chunks"
	lockName   = ".lock"

	dirMode   fs.FileMode = 0o750
	chunkMode fs.FileMode = 0o644
	lockMode  fs.FileMode = 0o644
)

// Store is an open chunk store. All its methods may be called concurrently, until
// Close.
type Store struct {
	root   *os.File // the caller's
	chunks *os.File
	disk   *fsop.Disk
	key    *keys.Key // nil for none

	// direct says that writing past the page cache is worth trying.
	direct atomic.Bool
	// loaders are for looking at what an insertion finds in its place.
	loaders sync.Pool
}

// Options for [Open]. The zero value is ready for use.
type Options struct {
	// Disk makes the changes; its Owner is whose new files are. nil: the real
	// disk, owner as it comes.
	Disk *fsop.Disk
	// Key proves encrypted chunks: whoever reads or writes those needs it. nil: none.
	Key *keys.Key
}

// Open opens the chunk store in the open directory root, which the caller keeps
// open for as long as the Store is used, and closes. Without a .chunks directory
// in it, also when that is a symbolic link, the error unwraps to [ErrNoStore].
func Open(root *os.File, opts Options) (*Store, error) {
	chunks, err := beneath.OpenDir(root, chunksName)
	if err != nil {
		return nil, noStore(err)
	}
	s := &Store{root: root, chunks: chunks, disk: opts.Disk, key: opts.Key}
	s.direct.Store(directPays(chunks))
	s.loaders.New = func() any { return s.NewLoader() }
	return s, nil
}

func noStore(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, beneath.ErrSymlink) {
		return fmt.Errorf("%w: %w", ErrNoStore, err)
	}
	return err
}

// Close closes the store, but not the directory that it was opened in.
func (s *Store) Close() error { return s.chunks.Close() }

// Sync makes everything durable that was inserted so far, and whatever else was
// written to the file system of the chunks.
func (s *Store) Sync() error { return s.disk.SyncFS(s.chunks) }

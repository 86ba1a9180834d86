package treefind

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// CacheOptions are how names are kept.
type CacheOptions struct {
	// Limit is how many bytes the files may come to; 0 is 1 GiB. Those that were not used for the longest time go first.
	Limit int64
	// Notice is called, once, with why the cache can't be used or written. The search goes on without.
	Notice func(error)
}

// Cache keeps names of trees in a directory that only this user can read. Several processes may use it at the same time. Its
// methods may be called on nil, which keeps nothing.
type Cache struct {
	path    string
	limit   int64
	notice  func(error)
	disk    *fsop.Disk // nil is the real one
	dir     *os.File   // nil before it is needed
	off     bool       // it can't be used
	written int64      // since it was trimmed
}

const usualLimit = 1 << 30

// NewCache gives the cache in a directory, which is made with those above it when it is first written to. It has to be
// outside of the store. The cache has to be closed.
func NewCache(dir string, opts CacheOptions) *Cache {
	c := &Cache{path: dir, limit: opts.Limit, notice: opts.Notice}
	if c.limit == 0 {
		c.limit = usualLimit
	}
	return c
}

// Close removes what is beyond the limit. A second Close does nothing.
func (c *Cache) Close() error {
	if c == nil || c.dir == nil {
		return nil
	}
	if c.written > 0 && !c.off {
		c.giveUp(c.trim())
	}
	err := c.dir.Close()
	c.dir, c.off = nil, true
	return err
}

// giveUp says that the cache can't be used.
func (c *Cache) giveUp(err error) {
	if err == nil || c.off {
		return
	}
	c.off = true
	if c.notice != nil {
		c.notice(err)
	}
}

// room is how large a list may be.
func (c *Cache) room() int {
	if c == nil || c.off {
		return 0
	}
	return int(min(maxCacheFile, c.limit)) - cacheHeader
}

// load gives a list, or nil if there is none that can be trusted.
func (c *Cache) load(key cacheKey) *nameList {
	if c == nil || c.off {
		return nil
	}
	if err := c.open(); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.giveUp(err)
		}
		return nil
	}
	data, err := readOwn(c.dir, key.file())
	if err != nil {
		return nil // not there, or something else: a new one takes its place, or that says why not
	}
	list, err := parseList(key, data)
	if err != nil {
		return nil
	}
	_ = c.disk.Touch(c.dir, key.file()) // else it goes earlier than it should
	return list
}

// open opens the directory, in which nobody else may write: he could put names there.
func (c *Cache) open() error {
	if c.dir != nil {
		return nil
	}
	dir, err := os.OpenFile(c.path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	if err := checkOwn(dir); err != nil {
		return errors.Join(err, dir.Close())
	}
	c.dir = dir
	return nil
}

func checkOwn(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	switch {
	case int64(st.Uid) != int64(os.Geteuid()):
		return fmt.Errorf("%q belongs to user %d, who is somebody else", f.Name(), st.Uid)
	case st.Mode&0o022 != 0:
		return fmt.Errorf("%q can be written to by others", f.Name())
	}
	return nil
}

func readOwn(dir *os.File, name string) ([]byte, error) {
	f, err := beneath.OpenRegular(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := checkOwn(f); err != nil {
		return nil, err
	}
	stat, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if stat.Size() > maxCacheFile {
		return nil, fmt.Errorf("%q is longer than %d bytes", f.Name(), int64(maxCacheFile))
	}
	data := make([]byte, stat.Size())
	_, err = io.ReadFull(f, data)
	return data, err
}

// save keeps a list. Nothing is synced: what a power cut spoils has another checksum.
func (c *Cache) save(key cacheKey, list *nameList) {
	if c == nil || c.off {
		return
	}
	err := c.open()
	if errors.Is(err, fs.ErrNotExist) {
		if err = c.makeDir(c.path); err == nil {
			err = c.open()
		}
	}
	if err == nil {
		err = c.write(key.file(), encodeList(key, list))
	}
	if err == nil && c.written > c.limit/8 {
		err = c.trim()
	}
	c.giveUp(err)
}

func (c *Cache) write(name string, data []byte) error {
	f, err := c.disk.CreateTemp(c.dir, fsop.TempPrefix(name), 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Discard())
	}
	c.written += int64(len(data))
	return f.Commit(name, fsop.CommitOptions{})
}

// makeDir makes a directory, and those above it where they are missing.
func (c *Cache) makeDir(path string) error {
	parent := filepath.Dir(path)
	above, err := os.OpenFile(parent, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(parent) != parent {
		if err = c.makeDir(parent); err == nil {
			above, err = os.OpenFile(parent, os.O_RDONLY|unix.O_DIRECTORY, 0)
		}
	}
	if err != nil {
		return err
	}
	defer above.Close()
	err = c.disk.Mkdir(above, filepath.Base(path), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

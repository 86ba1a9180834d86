package treefind

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
)

// abandoned is the age from which on a temporary file belongs to nobody.
const abandoned = time.Hour

type cachedFile struct {
	name string
	size int64
	used int64 // seconds since 1970
}

// trim removes the files that were not used for the longest time until the others are within the limit. What another process removes meanwhile is gone as well.
func (c *Cache) trim() error {
	c.written = 0
	files, err := c.files(time.Now())
	if err != nil {
		return err
	}
	slices.SortFunc(files, func(a, b cachedFile) int { return cmp.Compare(b.used, a.used) })
	total := int64(0)
	for _, f := range files {
		if total += f.size; total <= c.limit {
			continue
		}
		if err := c.disk.Remove(c.dir, f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// files lists what is ours. What a killed process has left counts as used long ago, and as too large to stay.
func (c *Cache) files(now time.Time) (files []cachedFile, err error) {
	if _, err := c.dir.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	names, err := c.dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		temporary := strings.Contains(name, ".tmp_")
		if !temporary && !strings.HasSuffix(name, fileSuffix) {
			continue
		}
		stat, err := beneath.Stat(c.dir, name)
		if err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		f := cachedFile{name, stat.Size, max(stat.Atim.Sec, stat.Mtim.Sec)}
		if temporary {
			if now.Sub(time.Unix(stat.Mtim.Sec, 0)) < abandoned {
				continue
			}
			f.used, f.size = 0, c.limit+1
		}
		files = append(files, f)
	}
	return files, nil
}

package archiver

import (
	"golang.org/x/sys/unix"
)

// hole tells how many bytes from the current place on are a hole, for which nothing has to be read. With none,
// data1 is where the next one begins.
func (c *content) hole() (uint64, error) {
	if c.at >= c.data1 {
		if err := c.findData(); err != nil {
			return 0, err
		}
	}
	if c.at < c.data0 {
		return c.data0 - c.at, nil
	}
	return 0, nil
}

// findData looks for the next bytes that are stored. A file system that can't tell says that all are.
func (c *content) findData() error {
	from, err := seek(c.fd, c.at, unix.SEEK_DATA)
	switch {
	case err == unix.ENXIO: // nothing but a hole, or nothing at all: settle finds out
		c.data0, c.data1 = c.size, c.size
		return nil
	case err == unix.EINVAL, err == unix.EOPNOTSUPP:
		c.sparse = false
		c.data0, c.data1 = c.at, c.size
		return nil
	case err != nil:
		return err
	}
	to, err := seek(c.fd, from, unix.SEEK_HOLE)
	if err == unix.ENXIO {
		to, err = c.size, nil
	}
	c.data0, c.data1 = min(from, c.size), min(max(to, from+1), c.size)
	return err
}

func seek(fd int, from uint64, whence int) (at uint64, err error) {
	err = again(func() error {
		n, err := unix.Seek(fd, int64(from), whence)
		at = uint64(n)
		return err
	})
	return at, err
}

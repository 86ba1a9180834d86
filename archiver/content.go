package archiver

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// content reads a regular file: as many bytes as it had when it was opened, whatever becomes of it.
type content struct {
	ctx   context.Context
	notes *notes
	where *place
	name  string

	fd   int    // -1 when it is closed
	size uint64 // that it has to give
	at   uint64
	data *bytes.Reader // of a file that was read ahead, else nil

	sparse  bool   // has fewer blocks than its size needs
	data0   uint64 // where the next data begins, if it is sparse
	data1   uint64 // and where it ends
	settled bool   // that it was too short or too long has been told
}

func newContent(ctx context.Context, a *Archiver, it *item, fd int, st *unix.Stat_t) *content {
	const block = 512 // of st_blocks, whatever the file system has
	return &content{
		ctx: ctx, notes: &a.notes, where: it.where, name: it.name,
		fd: fd, size: uint64(st.Size), sparse: uint64(st.Blocks)*block < uint64(st.Size),
	}
}

// Read gives the bytes of the file, and zeros for what it has lost meanwhile.
func (c *content) Read(p []byte) (int, error) {
	switch {
	case c.data != nil:
		return c.data.Read(p)
	case len(p) == 0:
		return 0, nil
	case c.ctx.Err() != nil:
		return 0, context.Cause(c.ctx)
	case c.at >= c.size:
		c.settle()
		return 0, io.EOF
	}
	p = p[:min(uint64(len(p)), c.size-c.at)]
	n, err := c.fill(p)
	if err != nil {
		return 0, fmt.Errorf("%q can't be read at byte %d, and is in the archive already, which ends here; exclude it, or repair what it is on: %w",
			c.path(), c.at, err)
	}
	c.at += uint64(n)
	if c.at == c.size {
		c.settle()
	}
	return n, nil
}

// fill gives at least one byte.
func (c *content) fill(p []byte) (int, error) {
	if c.fd < 0 {
		return 0, unix.EBADF
	}
	if c.sparse {
		hole, err := c.hole()
		if err != nil {
			return 0, err
		}
		if hole > 0 {
			p = p[:min(uint64(len(p)), hole)]
			clear(p)
			return len(p), nil
		}
		p = p[:min(uint64(len(p)), c.data1-c.at)]
	}
	n, err := pread(c.fd, p, c.at)
	if n == 0 && err == nil {
		clear(p) // it is shorter now, which settle tells
		n = len(p)
		c.note(Shrunk)
	}
	return n, err
}

// settle compares what was read with what is there now, once.
func (c *content) settle() {
	if c.settled || c.fd < 0 {
		return
	}
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(c.fd, &st) }); err != nil {
		return
	}
	switch {
	case uint64(st.Size) < c.size:
		c.note(Shrunk)
	case uint64(st.Size) > c.size:
		c.note(Grown)
	}
	c.settled = true
}

func (c *content) note(kind Kind) {
	if !c.settled {
		c.notes.warn(Warning{Kind: kind, Path: c.path()})
	}
	c.settled = true
}

func (c *content) path() string { return c.where.pathOf(c.name) }

// Close lets the descriptor go. Further calls do nothing.
func (c *content) Close() error {
	if c.fd >= 0 {
		_ = unix.Close(c.fd) // only read from
		c.fd = -1
	}
	return nil
}

// maxAhead is the size up to which files are read before the sink asks for them.
const maxAhead = 128 << 10

// readAhead reads a small file and lets its descriptor go. If the size has changed, that is errChanged, unless
// it is the last attempt.
func (c *content) readAhead(last bool) error {
	if c.size > maxAhead {
		return nil
	}
	data := make([]byte, c.size+1) // the byte more shows whether it has become longer
	n, err := readFull(c.fd, data)
	switch {
	case err != nil:
		return err
	case uint64(n) != c.size && !last:
		return errChanged
	case uint64(n) < c.size:
		c.note(Shrunk)
	case uint64(n) > c.size:
		c.note(Grown)
	}
	c.data = bytes.NewReader(data[:c.size])
	return c.Close()
}

func readFull(fd int, p []byte) (n int, err error) {
	for n < len(p) {
		more, err := pread(fd, p[n:], uint64(n))
		if err != nil || more == 0 {
			return n, err
		}
		n += more
	}
	return n, nil
}

func pread(fd int, p []byte, at uint64) (n int, err error) {
	err = again(func() (err error) {
		n, err = unix.Pread(fd, p, int64(at))
		return err
	})
	return max(n, 0), err
}

// inMemory is a content that is there already.
func inMemory(text []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(text)) }

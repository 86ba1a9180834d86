package archiver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sys/unix"
)

// content reads a regular file: as many bytes as it had when it was opened, whatever becomes of it.
type content struct {
	ctx   context.Context
	notes *notes
	where *place
	name  string

	fd    int           // -1 when it is closed
	time  unix.Timespec // of its last change when it was opened
	size  uint64        // that it has to give
	at    uint64
	ahead *buffer // what was read ahead, nil if nothing was
	pool  *sync.Pool

	sparse  bool   // has fewer blocks than its size needs
	data0   uint64 // where the next data begins, if it is sparse
	data1   uint64 // and where it ends
	settled bool   // that it was too short or too long has been told
}

func newContent(ctx context.Context, a *Archiver, it *item, fd int, st *unix.Stat_t) *content {
	const block = 512 // of st_blocks, whatever the file system has
	return &content{
		ctx: ctx, notes: &a.notes, where: it.where, name: it.name, pool: &a.buffers,
		fd: fd, time: st.Mtim, size: uint64(st.Size), sparse: uint64(st.Blocks)*block < uint64(st.Size),
	}
}

// Read gives the bytes of the file, and zeros for what it has lost meanwhile.
func (c *content) Read(p []byte) (int, error) {
	switch {
	case len(p) == 0:
		return 0, nil
	case c.ctx.Err() != nil:
		return 0, context.Cause(c.ctx)
	case c.at >= c.size:
		c.settle()
		return 0, io.EOF
	}
	p = p[:min(uint64(len(p)), c.size-c.at)]
	if c.ahead != nil {
		n := copy(p, c.ahead[c.at:])
		c.at += uint64(n)
		return n, nil
	}
	n, err := c.fill(p)
	if err != nil {
		return 0, fmt.Errorf("%q can't be read from byte %d on, and its beginning is in the archive already; exclude it, or repair what it is on: %w",
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
	case st.Mtim != c.time:
		c.note(Written)
	}
	c.settled = true
}

// isWritten tells that the file was changed since it was opened.
func (c *content) isWritten() bool {
	var st unix.Stat_t
	err := again(func() error { return unix.Fstat(c.fd, &st) })
	return err == nil && st.Mtim != c.time
}

func (c *content) note(kind Kind) {
	if !c.settled {
		c.notes.warn(Warning{Kind: kind, Path: c.path()})
	}
	c.settled = true
}

func (c *content) path() string { return c.where.pathOf(c.name) }

// Close lets go what it holds. Further calls do nothing.
func (c *content) Close() error {
	c.closeFile()
	if c.ahead != nil {
		c.pool.Put(c.ahead)
		c.ahead = nil
	}
	return nil
}

func (c *content) closeFile() {
	closeFD(c.fd)
	c.fd = -1
}

// maxAhead is the size up to which files are read before the sink asks for them.
const maxAhead = 128 << 10

// buffer has a byte more, which shows whether a file has become longer.
type buffer [maxAhead + 1]byte

// readAhead reads a small file and lets its descriptor go. If it was written to meanwhile, that is errChanged, unless
// it is the last attempt.
func (c *content) readAhead(last bool) error {
	if c.size > maxAhead {
		return nil
	}
	data, ok := c.pool.Get().(*buffer)
	if !ok {
		data = new(buffer)
	}
	c.ahead = data // so that Close gives it back
	n, err := readFull(c.fd, data[:c.size+1])
	switch {
	case err != nil:
		return err
	case !last && (uint64(n) != c.size || c.isWritten()):
		return errChanged
	case uint64(n) < c.size:
		clear(data[n:c.size])
		c.note(Shrunk)
	case uint64(n) > c.size:
		c.note(Grown)
	case last:
		c.settle()
	}
	c.closeFile()
	return nil
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

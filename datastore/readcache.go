package datastore

import (
	"container/list"
	"io"
)

const (
	cacheBlock = 64 << 10
	// maxCacheBlocks bound a cache to 16 MiB: the table of a directory of half a million entries, and some.
	maxCacheBlocks = 256
)

// readCache keeps the blocks of an archive that were read last. Looking names up in order goes
// back and forth between the entries and the table of their directory, which lie in different chunks: without it each
// step would load one. It is not for concurrent use.
type readCache struct {
	source io.ReaderAt
	size   int64
	blocks map[int64]*list.Element
	order  *list.List // of *cachedBlock, the last one used in front
}

type cachedBlock struct {
	number int64
	data   []byte
}

func newReadCache(source io.ReaderAt, size uint64) *readCache {
	return &readCache{source: source, size: int64(size), blocks: map[int64]*list.Element{}, order: list.New()}
}

// ReadAt reads at any offset, see [io.ReaderAt].
func (c *readCache) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		at := offset + int64(n)
		if at >= c.size {
			return n, io.EOF
		}
		data, err := c.block(at / cacheBlock)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], data[at%cacheBlock:])
	}
	return n, nil
}

func (c *readCache) block(number int64) ([]byte, error) {
	if e, there := c.blocks[number]; there {
		c.order.MoveToFront(e)
		return e.Value.(*cachedBlock).data, nil
	}
	b := c.spare()
	b.number = number
	b.data = b.data[:min(cacheBlock, c.size-number*cacheBlock)]
	if _, err := io.ReadFull(io.NewSectionReader(c.source, number*cacheBlock, int64(len(b.data))), b.data); err != nil {
		return nil, err
	}
	c.blocks[number] = c.order.PushFront(b)
	return b.data, nil
}

// spare gives the block that was not used for the longest time, or a new one.
func (c *readCache) spare() *cachedBlock {
	if c.order.Len() < maxCacheBlocks {
		return &cachedBlock{data: make([]byte, cacheBlock)}
	}
	b := c.order.Remove(c.order.Back()).(*cachedBlock)
	delete(c.blocks, b.number)
	return b
}

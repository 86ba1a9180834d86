package datastore

import (
	"golang.org/x/sys/unix"
)

const (
	// encodingSlack is by how much a chunk may grow while it is encoded, before the
	// encoder finds that it has not become smaller.
	encodingSlack = 64 << 10
	// keptMemory is how much of a buffer for encoded chunks stays in memory between
	// chunks. Few are larger, and those must not cost memory for ever.
	keptMemory = 8 << 20
)

// room gives a buffer of at least that capacity. One that is too small is
// replaced by one for the largest chunk, once, rather than growing step by step
// and leaving garbage: memory is only used as far as it is written to.
func room(buffer []byte, size int) []byte {
	switch {
	case cap(buffer) >= size:
		return buffer
	case size <= imageChunkSize+encodingSlack:
		return make([]byte, 0, imageChunkSize+encodingSlack)
	default:
		return make([]byte, 0, max(size, maxStreamChunk+encodingSlack))
	}
}

// trim gives the memory of a buffer beyond what is kept back to the system. Its
// content there is lost.
func trim(buffer []byte) {
	if cap(buffer) <= keptMemory || len(buffer) <= keptMemory {
		return
	}
	// Buffers of this size begin at a page. Where the kernel sees that differently,
	// the memory is simply kept.
	_ = unix.Madvise(buffer[keptMemory:cap(buffer)], unix.MADV_DONTNEED)
}

package chunker

// Chunker cuts one stream. It is not for concurrent use. It never keeps the
// slices that it is given: only the last 64 bytes are copied.
type Chunker struct {
	rule *Rule
	size int // bytes of the present chunk that were seen
	// seam begins with the last of them, the very last at Window-1. Behind them
	// is room for the bytes that the windows which begin among them end in.
	seam [2*Window - 1]byte
}

// New returns a Chunker for chunks of avg bytes on average; see [NewRule].
func New(avg int) (*Chunker, error) {
	r, err := NewRule(avg)
	if err != nil {
		return nil, err
	}
	return r.Chunker(), nil
}

// Chunker returns a Chunker at the beginning of a stream.
func (r *Rule) Chunker() *Chunker { return &Chunker{rule: r} }

// Rule returns the rule by which c cuts.
func (c *Chunker) Rule() *Rule { return c.rule }

// Size returns the number of bytes that were scanned since the last cut.
func (c *Chunker) Size() int { return c.size }

// Reset makes c begin a new stream.
func (c *Chunker) Reset() { c.size = 0 }

// Scan takes the next bytes of the stream. It returns n > 0 when the present
// chunk ends after data[:n]: the next call begins with data[n:], which was not
// taken. It returns 0 when the chunk goes on beyond data, all of which was taken.
// A cut after the last byte of data is n = len(data). What is left at the end of
// a stream is its last chunk, which may have any size from 1 byte on.
//
// However a stream is split into calls, its cuts are the same.
func (c *Chunker) Scan(data []byte) int {
	n := c.find(data)
	if n == 0 {
		c.take(data)
	} else {
		c.size = 0
	}
	return n
}

func (c *Chunker) find(data []byte) int {
	last := c.rule.Max() - c.size
	from := max(1, c.rule.firstEnd()-c.size)
	to := min(last, len(data))
	if n := c.firstIn(data[:to], from); n > 0 {
		return n
	}
	if to == last {
		return last
	}
	return 0
}

// firstIn returns the first candidate of data from place from on, or 0.
func (c *Chunker) firstIn(data []byte, from int) int {
	if c.isQuiet(data) {
		return 0
	}
	// The windows of the first places begin in what was scanned before.
	if from < Window {
		n := Window + copy(c.seam[Window:], data)
		if at := c.rule.first(c.seam[:n], Window+from); at > 0 {
			return at - Window
		}
	}
	return c.rule.first(data, max(from, Window))
}

// quietSize is how many bytes are worth a look whether they are all zero.
const quietSize = 4 << 10

// isQuiet tells that data are zeros behind zeros. Their hash is 0, for each word is in it twice in every place, so that
// there is no candidate among them. Sparse files are full of them, and to compare is several times faster than to search.
func (c *Chunker) isQuiet(data []byte) bool {
	return len(data) >= quietSize && isZero(data) && (c.size == 0 || isZero(c.seam[:Window]))
}

// isZero compares at least eight bytes with themselves, eight bytes on: that needs no block of zeros.
func isZero(data []byte) bool {
	const step = 8
	return string(data[:step]) == "\x00\x00\x00\x00\x00\x00\x00\x00" && string(data[step:]) == string(data[:len(data)-step])
}

// take counts data to the present chunk.
func (c *Chunker) take(data []byte) {
	c.size += len(data)
	keep := data[max(0, len(data)-Window):]
	copy(c.seam[:Window], c.seam[len(keep):Window])
	copy(c.seam[Window-len(keep):Window], keep)
}

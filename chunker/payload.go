package chunker

// PayloadChunker cuts one stream at places that its caller suggests, such as the
// ends of files in a payload archive, and by the ordinary rule where there is no
// suggestion in reach. A suggestion that makes the present chunk shorter than
// [Rule.Min] is passed over; one that makes it longer than [Rule.Max] leaves the
// chunk to the ordinary rule and is looked at again for the next one; any other
// is the next cut, whatever the hash says before it.
//
// The format asks for none of this: a reader takes any cuts. It is what the
// original client (4.x) does with its payload archives.
type PayloadChunker struct {
	plain       Chunker
	offset      uint64 // of the next byte
	suggestions []uint64
}

// PayloadChunker returns a PayloadChunker at the beginning of a stream.
func (r *Rule) PayloadChunker() *PayloadChunker {
	return &PayloadChunker{plain: Chunker{rule: r}}
}

// Suggest says that a chunk should end at this offset in the stream. Suggestions
// come in ascending order and before the first byte of the chunk that they would
// end is scanned; others may have no effect.
func (p *PayloadChunker) Suggest(end uint64) {
	p.suggestions = append(p.suggestions, end)
}

// Scan is like [Chunker.Scan].
func (p *PayloadChunker) Scan(data []byte) int {
	n := p.scan(data)
	if n > 0 {
		p.offset += uint64(n)
	} else {
		p.offset += uint64(len(data))
	}
	return n
}

func (p *PayloadChunker) scan(data []byte) int {
	start := p.offset - uint64(p.plain.size)
	p.drop(max(start+uint64(p.plain.rule.Min()), p.offset+1))
	if len(p.suggestions) == 0 || p.suggestions[0] > start+uint64(p.plain.rule.Max()) {
		return p.plain.Scan(data)
	}
	if left := p.suggestions[0] - p.offset; left <= uint64(len(data)) {
		p.plain.Reset()
		return int(left)
	}
	p.plain.take(data)
	return 0
}

// drop forgets the suggestions before first.
func (p *PayloadChunker) drop(first uint64) {
	n := 0
	for n < len(p.suggestions) && p.suggestions[n] < first {
		n++
	}
	p.suggestions = p.suggestions[n:]
}

package blob

const (
	sampleSpots = 64
	spotSize    = 64
	sampleSize  = sampleSpots * spotSize

	// For random bytes, the sum of the squared counts of the 256 byte values in a
	// sample of 4096 is 69,616 on average and below 76,000 practically always (that
	// is a chi-squared of 255 on average and of 654). Base64 gives 262,144, text
	// more.
	randomSum = 76_000
)

// looksRandom reports whether the bytes at some spots all over data are about
// equally frequent. It is for speed alone: no answer is wrong.
func looksRandom(data []byte) bool {
	if len(data) < 4*sampleSize {
		return false
	}
	var counts [256]uint32
	step := (len(data) - spotSize) / (sampleSpots - 1)
	for i := range sampleSpots {
		for _, b := range data[i*step:][:spotSize] {
			counts[b]++
		}
	}
	sum := uint32(0)
	for _, n := range counts {
		sum += n * n
	}
	return sum < randomSum
}

package chunker

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestZerosAreNotSearchedAndGiveTheSameCuts has runs of zeros of all lengths between other data.
func TestZerosAreNotSearchedAndGiveTheSameCuts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		avg := genAverage(t)
		var data []byte
		for range rapid.IntRange(1, 6).Draw(t, "runs") {
			data = append(data, genData(t, 5_000)...)
			data = append(data, make([]byte, rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(quietSize-2, 200_000)).Draw(t, "zeros"))...)
		}
		pieces := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 200), rapid.IntRange(quietSize-1, 100_000)), 1, 8).Draw(t, "pieces")
		k, err := New(avg)
		if err != nil {
			t.Fatal(err)
		}
		want := endsOf(&reference{avg: avg}, data)
		if got := endsOf(scanFunc(k.Scan), data, pieces...); !slices.Equal(got, want) {
			t.Fatalf("ends %v, want %v", got, want)
		}
	})
}

func BenchmarkScanZeros(b *testing.B) {
	data := make([]byte, 256<<10)
	k := rule(b, 4<<20).Chunker()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		k.Scan(data)
	}
}

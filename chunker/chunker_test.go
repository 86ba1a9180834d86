package chunker

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func rule(tb testing.TB, avg int) *Rule {
	tb.Helper()
	r, err := NewRule(avg)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func random(seed byte, size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data)
	return data
}

func TestAveragesThatAreNoPowerOfTwoInRangeAreRefused(t *testing.T) {
	t.Parallel()
	for _, avg := range []int{-4096, -1, 0, 1, 128, 255, 257, 4<<20 - 1, 3 << 20, MaxAverage * 2} {
		if _, err := New(avg); err == nil {
			t.Errorf("New(%d) is accepted", avg)
		}
	}
	for avg := MinAverage; avg <= MaxAverage; avg *= 2 {
		if _, err := New(avg); err != nil {
			t.Error(err)
		}
	}
}

// genData draws data in which repetitions and small alphabets are as likely as
// noise.
func genData(t *rapid.T, size int) []byte {
	unit := rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "unit")
	data := bytes.Repeat(unit, size/len(unit)+1)[:rapid.IntRange(0, size).Draw(t, "size")]
	if rapid.Bool().Draw(t, "noise") {
		noise := random(rapid.Byte().Draw(t, "seed"), len(data))
		from := rapid.IntRange(0, len(data)).Draw(t, "noise from")
		copy(data[from:], noise)
	}
	return data
}

func genAverage(t *rapid.T) int {
	return 1 << rapid.IntRange(8, 17).Draw(t, "log2 average")
}

func TestAnySplitOfAStreamGivesTheCutsOfTheReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		avg := genAverage(t)
		data := genData(t, 200_000)
		pieces := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 200), rapid.IntRange(1, 100_000)), 1, 8).Draw(t, "pieces")
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

func TestSegmentsGiveTheCutsOfTheReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		avg := genAverage(t)
		data := genData(t, 200_000)
		r, err := NewRule(avg)
		if err != nil {
			t.Fatal(err)
		}
		size := rapid.IntRange(50, 70_000).Draw(t, "segment")
		want := endsOf(&reference{avg: avg}, data)
		if got := parallelEnds(r, data, size); !slices.Equal(got, want) && len(data) > 0 {
			t.Fatalf("ends %v, want %v", got, want)
		}
	})
}

func TestEmptyPiecesChangeNothing(t *testing.T) {
	t.Parallel()
	k := rule(t, 256).Chunker()
	if n := k.Scan(nil); n != 0 || k.Size() != 0 {
		t.Errorf("Scan(nil) = %d, size %d", n, k.Size())
	}
	data := make([]byte, 1023)
	if n := k.Scan(data); n != 0 || k.Size() != 1023 {
		t.Errorf("Scan = %d, size %d", n, k.Size())
	}
	if n := k.Scan(nil); n != 0 {
		t.Errorf("Scan(nil) = %d one byte before the largest size", n)
	}
	if n := k.Scan(data); n != 1 || k.Size() != 0 {
		t.Errorf("Scan = %d, size %d at the largest size", n, k.Size())
	}
}

// allCandidates returns data with a period of 64 bytes, so that its hash only
// rotates, and whose hash is all ones: every place is a candidate.
func allCandidates(t *testing.T, size int) []byte {
	t.Helper()
	unit := random(3, Window)
	for ; ; unit[0]++ {
		rest := ^uint32(0)
		for i, b := range unit[:Window-4] {
			rest ^= bits.RotateLeft32(wordOf[b], Window-1-i)
		}
		if solve(unit[Window-4:], rest) {
			return bytes.Repeat(unit, size/Window+1)[:size]
		}
	}
}

// solve finds four bytes whose hash is sum.
func solve(four []byte, sum uint32) bool {
	left := make(map[uint32]int, 1<<16)
	for ab := range 1 << 16 {
		left[bits.RotateLeft32(wordOf[ab>>8], 3)^bits.RotateLeft32(wordOf[ab&255], 2)] = ab
	}
	for cd := range 1 << 16 {
		if ab, ok := left[sum^bits.RotateLeft32(wordOf[cd>>8], 1)^wordOf[cd&255]]; ok {
			four[0], four[1], four[2], four[3] = byte(ab>>8), byte(ab), byte(cd>>8), byte(cd)
			return true
		}
	}
	return false
}

func TestDataWithACandidateAtEveryPlaceIsCutAtTheSmallestSize(t *testing.T) {
	t.Parallel()
	for _, avg := range []int{256, 8192, 16384, 1 << 20, MaxAverage} {
		r := rule(t, avg)
		data := allCandidates(t, 10_000+avg/4)
		places := r.Candidates(nil, data, 7)
		if len(places) != len(data)-Context || places[0] != 7+Window || places[len(places)-1] != uint64(7+len(data)) {
			t.Fatalf("average %d: %d candidates of %d bytes", avg, len(places), len(data))
		}
		if n := r.Chunker().Scan(data); n != max(avg/4, Window+1) {
			t.Errorf("average %d: first cut at %d", avg, n)
		}
	}
}

func TestTheFirstPlaceIsFoundWhereverPiecesMeet(t *testing.T) {
	t.Parallel()
	data := allCandidates(t, 300)
	for split := range 2 * Window {
		k := rule(t, 256).Chunker()
		n := k.Scan(data[:split])
		if n == 0 {
			n = split + k.Scan(data[split:])
		}
		if n != Window+1 {
			t.Errorf("split at %d: first cut at %d", split, n)
		}
	}
}

func TestSegmentsShorterThanAWindowHaveNoCandidates(t *testing.T) {
	t.Parallel()
	r := rule(t, 256)
	data := allCandidates(t, Window)
	for n := range Window {
		if places := r.Candidates(nil, data[:n], 0); len(places) > 0 {
			t.Errorf("%d bytes: candidates %v", n, places)
		}
	}
	if places := r.Candidates(nil, data, 0); !slices.Equal(places, []uint64{Window}) {
		t.Errorf("one window: candidates %v", places)
	}
}

func TestScanningDoesNotAllocate(t *testing.T) {
	k := rule(t, 1<<16).Chunker()
	data := random(1, 1<<20)
	n := testing.AllocsPerRun(10, func() {
		for piece := data; len(piece) > 0; {
			cut := k.Scan(piece)
			if cut == 0 {
				return
			}
			piece = piece[cut:]
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzCandidatesAgreeWithTheReference(f *testing.F) {
	f.Add([]byte("the quick brown fox"), uint16(9000), byte(0), byte(8))
	f.Add(random(1, 64), uint16(1000), byte(3), byte(14))
	f.Add([]byte{0}, uint16(300), byte(9), byte(25))
	f.Fuzz(func(t *testing.T, unit []byte, size uint16, seed, log byte) {
		if len(unit) == 0 {
			return
		}
		avg := 1 << (8 + log%18)
		data := bytes.Repeat(unit, int(size)/len(unit)+1)[:size]
		data = append(data, random(seed, int(size))...)
		want := referenceCandidates(avg, data)
		if got := rule(t, avg).Candidates(nil, data, 0); !slices.Equal(got, want) {
			t.Errorf("average %d: candidates %v, want %v", avg, got, want)
		}
	})
}

func TestCandidatesOfMuchNoiseAreThoseOfTheReference(t *testing.T) {
	t.Parallel()
	for _, avg := range []int{8192, 16384, 32768, 1 << 20} {
		data := random(byte(bits.Len(uint(avg))), 300_000)
		want := referenceCandidates(avg, data)
		if got := rule(t, avg).Candidates(nil, data, 0); !slices.Equal(got, want) {
			t.Errorf("average %d: candidates %v, want %v", avg, got, want)
		}
	}
}

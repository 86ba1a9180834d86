package chunker

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/pbs-like/pbs-like/internal/goldenspec"
)

// goldenCase is one run of the original program.
type goldenCase struct {
	Avg, Min, Max int
	Input         string
	Ends          []int
	Suggested     []uint64
}

type goldenFile struct {
	Cases   []goldenCase
	Payload struct{ Cases []goldenCase } `json:"payload-chunker-4.2.3"`
}

func golden(t *testing.T) goldenFile {
	t.Helper()
	data, err := os.ReadFile("testdata/chunker.json")
	if err != nil {
		t.Fatal(err)
	}
	var f goldenFile
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Cases) == 0 || len(f.Payload.Cases) == 0 {
		t.Fatal("no cases in testdata/chunker.json")
	}
	return f
}

func (c goldenCase) name() string { return fmt.Sprintf("%s by %d", c.Input, c.Avg) }

func checkEnds(t *testing.T, got, want []int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("ends %v, the original's %v", got, want)
	}
}

// specCases groups the cases by input: the large ones are made only once.
func specCases(cases []goldenCase) map[string][]goldenCase {
	m := make(map[string][]goldenCase)
	for _, c := range cases {
		m[c.Input] = append(m[c.Input], c)
	}
	return m
}

func TestCutsAreThoseOfTheOriginal(t *testing.T) {
	t.Parallel()
	for spec, cases := range specCases(golden(t).Cases) {
		data := goldenspec.Bytes(t, spec)
		for _, c := range cases {
			t.Run(c.name(), func(t *testing.T) {
				k, err := New(c.Avg)
				if err != nil {
					t.Fatal(err)
				}
				if k.Rule().Min() != c.Min || k.Rule().Max() != c.Max {
					t.Errorf("sizes %d to %d, want %d to %d", k.Rule().Min(), k.Rule().Max(), c.Min, c.Max)
				}
				checkEnds(t, endsOf(scanFunc(k.Scan), data, 65536), c.Ends)
				if len(data) > 8<<20 {
					return
				}
				k.Reset()
				checkEnds(t, endsOf(scanFunc(k.Scan), data), c.Ends)
				checkEnds(t, parallelEnds(k.Rule(), data, 1<<20), c.Ends)
			})
		}
	}
}

// parallelEnds cuts data by candidates of segments, the last segment judged first.
func parallelEnds(r *Rule, data []byte, size int) []int {
	var found [][]uint64
	for at := 0; at < len(data); at += size {
		found = append(found, nil)
	}
	for i := len(found) - 1; i >= 0; i-- {
		from := max(0, i*size-Context)
		found[i] = r.Candidates(nil, data[from:min(len(data), (i+1)*size)], uint64(from))
	}
	k := r.Cutter()
	var cuts []uint64
	for i, candidates := range found {
		cuts = k.Cut(cuts, candidates, uint64(min(len(data), (i+1)*size)))
	}
	ends := []int{}
	for _, c := range cuts {
		ends = append(ends, int(c))
	}
	if k.Start() != uint64(len(data)) {
		ends = append(ends, len(data))
	}
	return ends
}

func TestPayloadCutsAreThoseOfTheOriginal(t *testing.T) {
	t.Parallel()
	for spec, cases := range specCases(golden(t).Payload.Cases) {
		data := goldenspec.Bytes(t, spec)
		for i, c := range cases {
			t.Run(fmt.Sprint(c.name(), i), func(t *testing.T) {
				r, err := NewRule(c.Avg)
				if err != nil {
					t.Fatal(err)
				}
				for _, pieces := range [][]int{nil, {65536}, {1 << 20, 1, 63, 64, 65}} {
					p := r.PayloadChunker()
					for _, s := range c.Suggested {
						p.Suggest(s)
					}
					checkEnds(t, endsOf(scanFunc(p.Scan), data, pieces...), c.Ends)
				}
			})
		}
	}
}

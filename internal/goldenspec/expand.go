package goldenspec

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// MaxLen is the largest number of bytes that one spec may stand for: a slip in
// a vector must not take the machine's memory.
const MaxLen = 1 << 28

// Expand returns the bytes that spec stands for. The error quotes the part
// that is wrong.
func Expand(spec string) ([]byte, error) {
	out := []byte{}
	for part := range strings.SplitSeq(spec, "+") {
		kind, args, found := strings.Cut(part, ":")
		if !found {
			return nil, fmt.Errorf("golden input %q: no colon", part)
		}
		b, err := expandPart(out, kind, args)
		if err != nil {
			return nil, fmt.Errorf("golden input %q: %w", part, err)
		}
		out = b
	}
	return out, nil
}

// Bytes is Expand for tests: a bad spec ends the test.
func Bytes(tb testing.TB, spec string) []byte {
	tb.Helper()
	b, err := Expand(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func expandPart(dst []byte, kind, args string) ([]byte, error) {
	switch kind {
	case "str":
		return append(dst, args...), nil
	case "hex":
		b, err := hex.DecodeString(args)
		return append(dst, b...), err
	}
	n, err := numbers(args)
	if err != nil {
		return nil, err
	}
	gen, known := generatorOf(kind)
	switch {
	case !known:
		return nil, fmt.Errorf("unknown kind %q", kind)
	case len(n) != gen.args:
		return nil, fmt.Errorf("%d numbers instead of %d", len(n), gen.args)
	}
	size := n[len(n)-1]
	if size > MaxLen || uint64(len(dst))+size > MaxLen {
		return nil, fmt.Errorf("more than %d bytes", MaxLen)
	}
	return gen.fill(dst, n[:len(n)-1], len(dst)+int(size))
}

// numbers parses the colon-separated numbers of a part.
func numbers(args string) ([]uint64, error) {
	var out []uint64
	for s := range strings.SplitSeq(args, ":") {
		n, err := number(s)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

func number(s string) (uint64, error) {
	digits, unit := s, uint64(1)
	if d, ok := strings.CutSuffix(s, "K"); ok {
		digits, unit = d, 1<<10
	} else if d, ok := strings.CutSuffix(s, "M"); ok {
		digits, unit = d, 1<<20
	}
	base := 10
	if d, ok := strings.CutPrefix(digits, "0x"); ok {
		digits, base = d, 16
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return 0, fmt.Errorf("number %q: %w", s, err)
	}
	if n*unit/unit != n {
		return 0, fmt.Errorf("number %q is too large", s)
	}
	return n * unit, nil
}

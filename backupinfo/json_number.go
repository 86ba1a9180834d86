package backupinfo

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// appendCanonicalNumber writes integers of 64 bits to the letter, everything else
// as the shortest decimal that reads back as the same 64-bit float.
func appendCanonicalNumber(dst []byte, text string) ([]byte, error) {
	if isInteger(text) {
		return append(dst, text...), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return dst, fmt.Errorf("number %s is out of range", quote(text))
	}
	return appendFloat(dst, f), nil
}

// isInteger reports whether the original holds the number as an integer. It reads
// -0 as a float.
func isInteger(text string) bool {
	if strings.ContainsAny(text, ".eE") || text == "-0" {
		return false
	}
	_, signed := strconv.ParseInt(text, 10, 64)
	_, unsigned := strconv.ParseUint(text, 10, 64)
	return signed == nil || unsigned == nil
}

// appendFloat writes 100.0, 0.1, 1e16: always with a point or an exponent, and
// with an exponent where the point would be more than 16 places right or 5 left
// of the first digit.
func appendFloat(dst []byte, f float64) []byte {
	if f == 0 {
		if math.Signbit(f) {
			dst = append(dst, '-')
		}
		return append(dst, "0.0"...)
	}
	shortest := strconv.AppendFloat(nil, f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(string(shortest), "e")
	point, err := strconv.Atoi(exponent)
	if point++; err != nil || point <= -5 || point > 16 {
		return append(append(append(dst, mantissa...), 'e'), strconv.Itoa(point-1)...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if !strings.Contains(string(dst[start:]), ".") {
		dst = append(dst, ".0"...)
	}
	return dst
}

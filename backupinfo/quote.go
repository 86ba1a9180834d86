package backupinfo

import "strconv"

// maxQuoted bounds how much of a refused input an error repeats: the input may
// be megabytes of somebody else's choosing.
const maxQuoted = 96

// quote shows an input in an error: in quotes, control characters escaped, cut
// to a length that fits a line.
func quote(s string) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:maxQuoted]) + "…"
}

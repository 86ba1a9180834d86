package backupinfo

import (
	"fmt"
	"strconv"
)

// ParseTimeLoose reads a time that a person wrote: seconds since 1970 as a
// plain number, or RFC 3339 with a Z or a numeric offset. Dates that do not
// exist are refused as they are by [ParseTime].
func ParseTimeLoose(s string) (Time, error) {
	if isNumber(s) {
		return parseEpoch(s)
	}
	const dateTime = len(timeLayout) - 1
	if len(s) <= dateTime || !MatchTime(s[:dateTime]+"Z") {
		return 0, badTime(s)
	}
	t, ok := parseDateTime(s)
	offset, zone := parseOffset(s[dateTime:])
	if !ok || !zone {
		return 0, badTime(s)
	}
	if t -= offset; t == -1 || !t.Valid() {
		return 0, badTime(s)
	}
	return t, nil
}

func badTime(s string) error {
	return fmt.Errorf("time %s: must be RFC 3339, like 2006-01-02T15:04:05Z or 2006-01-02T15:04:05+01:00, or seconds since 1970", quote(s))
}

func parseEpoch(s string) (Time, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if t := Time(n); err == nil && t != -1 && t.Valid() {
		return t, nil
	}
	return 0, fmt.Errorf("time %s: outside the years 0000 to 9999", quote(s))
}

// parseOffset reads "Z", "+hh:mm" or "-hh:mm" as seconds east of UTC.
func parseOffset(s string) (Time, bool) {
	if s == "Z" {
		return 0, true
	}
	if len(s) != len("+hh:mm") || s[3] != ':' || !isNumber(s[1:3]) || !isNumber(s[4:]) || s[1] == '-' || s[4] == '-' {
		return 0, false
	}
	hours, minutes := pair(s, 1), pair(s, 4)
	if hours > 23 || minutes > 59 {
		return 0, false
	}
	switch seconds := Time(3600*hours + 60*minutes); s[0] {
	case '+':
		return seconds, true
	case '-':
		return -seconds, true
	}
	return 0, false
}

// isNumber reports whether s is decimal digits, with a minus sign or without.
func isNumber(s string) bool {
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

package backupinfo

import (
	"fmt"
	"strconv"
	"time"
)

// Time is when a backup was made: seconds since 1970-01-01T00:00:00Z. It names
// the snapshot's directory, so two snapshots of a group never share one.
type Time int64

// The times that four digits can write.
const (
	minTime Time = -62167219200 // 0000-01-01T00:00:00Z
	maxTime Time = 253402300799 // 9999-12-31T23:59:59Z
)

// timeLayout is the form of a snapshot's directory name.
const timeLayout = "2006-01-02T15:04:05Z"

// TimeOf returns t in whole seconds, the fraction cut off.
func TimeOf(t time.Time) Time { return Time(t.Unix()) }

// Clock returns t as a time.Time in UTC.
func (t Time) Clock() time.Time { return time.Unix(int64(t), 0).UTC() }

// Valid reports whether t has a name: whether its year is within 0000 to 9999.
func (t Time) Valid() bool { return minTime <= t && t <= maxTime }

// String returns the form that names a snapshot's directory, RFC 3339 in UTC
// with a Z. A time that is not Valid has none and comes out as the bare number
// of seconds, which no parser takes for a time stamp.
func (t Time) String() string {
	if !t.Valid() {
		return strconv.FormatInt(int64(t), 10)
	}
	var buf [len(timeLayout)]byte
	return string(t.Clock().AppendFormat(buf[:0], timeLayout))
}

// LocalString returns t in the given zone as RFC 3339 with a numeric offset,
// for people: "2024-01-15T11:00:00+01:00".
func (t Time) LocalString(zone *time.Location) string {
	return t.Clock().In(zone).Format("2006-01-02T15:04:05-07:00")
}

// MatchTime reports whether a directory name has the form of a snapshot's name,
// digits and separators in their places. It may still be no date at all: a name
// that matches but does not parse is a broken entry, one that does not match is
// no snapshot.
func MatchTime(name string) bool {
	if len(name) != len(timeLayout) {
		return false
	}
	for i := range len(timeLayout) {
		if digit := isDigit(timeLayout[i]); digit != isDigit(name[i]) || !digit && name[i] != timeLayout[i] {
			return false
		}
	}
	return true
}

// ParseTime reads the name of a snapshot's directory. Only the canonical form
// is a name: a date that does not exist, such as 30 February or a 60th second,
// is refused and not moved to the next day, because the moved date would lead
// to another directory. 1969-12-31T23:59:59Z is refused too: the original takes
// its -1 for a failure.
func ParseTime(name string) (Time, error) {
	if !MatchTime(name) {
		return 0, fmt.Errorf("backup time %s: must have the form 2006-01-02T15:04:05Z", quote(name))
	}
	t, ok := parseDateTime(name)
	if !ok || t == -1 {
		return 0, fmt.Errorf("backup time %s: no such date and time", quote(name))
	}
	return t, nil
}

// parseDateTime reads the first 19 characters of a matching name.
func parseDateTime(s string) (Time, bool) {
	year, month, day := 100*pair(s, 0)+pair(s, 2), pair(s, 5), pair(s, 8)
	hour, minute, second := pair(s, 11), pair(s, 14), pair(s, 17)
	if month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	// time.Date moves 31 April to 1 May.
	return Time(t.Unix()), t.Day() == day
}

// pair reads the two digits at s[i:].
func pair(s string, i int) int { return 10*int(s[i]-'0') + int(s[i+1]-'0') }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

package backupinfo

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Span is a stretch of the calendar that is counted back from a time: years, months
// and days by the calendar of a zone, hours by the clock. The zero value is no
// span. Negative parts count as none.
type Span struct {
	Years, Months, Days, Hours int
}

// maxSpanPart bounds what a person may write. It is more hours than any four digits
// of years have.
const maxSpanPart = 99_999_999

// ParseSpan reads "1y2m3d4h": numbers with their units, each unit at most once and
// in this order. "0d" is no span.
func ParseSpan(s string) (Span, error) {
	var span Span
	rest, units := s, "ymdh"
	parts := []*int{&span.Years, &span.Months, &span.Days, &span.Hours}
	for ok := true; ok; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || n > maxSpanPart || digits == len(rest) {
			return Span{}, badSpan(s)
		}
		unit := strings.IndexByte(units, rest[digits])
		if unit < 0 {
			return Span{}, badSpan(s)
		}
		*parts[unit] = n
		parts, units, rest = parts[unit+1:], units[unit+1:], rest[digits+1:]
		ok = rest != ""
	}
	return span, nil
}

func badSpan(s string) error {
	return fmt.Errorf("time span %s: must have the form 1y2m3d4h (years, months, days, hours; each may be left out)", quote(s))
}

// IsZero reports whether there is nothing to count.
func (s Span) IsZero() bool { return s.Years <= 0 && s.Months <= 0 && s.Days <= 0 && s.Hours <= 0 }

// String returns the text that ParseSpan reads, "0d" for no span.
func (s Span) String() string {
	var b strings.Builder
	for i, n := range []int{s.Years, s.Months, s.Days, s.Hours} {
		if n > 0 {
			fmt.Fprintf(&b, "%d%c", n, "ymdh"[i])
		}
	}
	if b.Len() == 0 {
		return "0d"
	}
	return b.String()
}

// BackFrom returns the time that lies the span before t by the calendar of the zone.
// A day that its month does not have becomes one of the next month: a month before
// 31 March is 2 or 3 March.
func (s Span) BackFrom(t Time, zone *time.Location) Time {
	clock := t.Clock().In(zone).AddDate(-max(s.Years, 0), -max(s.Months, 0), -max(s.Days, 0))
	// Not as a time.Duration, which ends at 292 years.
	return TimeOf(clock) - 3600*Time(max(s.Hours, 0))
}

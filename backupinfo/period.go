package backupinfo

import (
	"fmt"
	"time"
)

// Period is a span of the calendar. Two times in one period have the same label,
// which is how keeping one backup a day or a week is decided.
type Period int

// The periods, shortest first.
const (
	Hour Period = iota
	Day
	Week // of ISO 8601: begins on Monday, week 1 has the year's first Thursday
	Month
	Year
)

// Label names the period that t is in, by the calendar of the given zone:
// "2024/01/15/10", "2024/01/15", "2024/03", "2024/01", "2024". Labels of different
// periods are not comparable. A Period that is none of the above has the label "".
func (p Period) Label(t Time, zone *time.Location) string {
	local := t.Clock().In(zone)
	switch p {
	case Hour:
		return local.Format("2006/01/02/15")
	case Day:
		return local.Format("2006/01/02")
	case Week:
		year, week := local.ISOWeek()
		return fmt.Sprintf("%d/%02d", year, week)
	case Month:
		return local.Format("2006/01")
	case Year:
		return local.Format("2006")
	}
	return ""
}

package command

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// calendar draws the snapshots of a group: a row for each week, a column for each
// day, and a symbol for what becomes of the snapshots of that day.
type calendar struct {
	zone    *time.Location
	symbols symbols
}

// fate is what a day shows. Where snapshots of one day differ, the highest counts.
type fate int

const (
	fateNone fate = iota
	fateRemoved
	fateUnfinished
	fateKept
	fateProtected
	fateBusy
	fateFailed
	fates
)

type symbols [fates]string

// symbolsFor are plain ones where nobody said that others can be shown.
func symbolsFor(terminal bool) symbols {
	if terminal && isUTF8Locale(os.Getenv) {
		return symbols{"·", "○", "◌", "●", "◆", "◐", "✗"}
	}
	return symbols{".", "x", "~", "#", "P", "!", "E"}
}

func isUTF8Locale(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(env(name)); value != "" {
			return strings.HasSuffix(value, "utf-8") || strings.HasSuffix(value, "utf8")
		}
	}
	return false
}

func fateNames() [fates]string {
	return [fates]string{"no snapshot", "removed", "unfinished, kept", "kept", "protected", "in use", "failed"}
}

func fateOf(s datastore.PrunedSnapshot) fate {
	switch s.Outcome {
	case datastore.PruneRemoved, datastore.PruneVanished:
		return fateRemoved
	case datastore.PruneBusy:
		return fateBusy
	case datastore.PruneFailed:
		return fateFailed
	case datastore.PruneKept, datastore.PruneChanged:
	}
	switch {
	case s.Protected:
		return fateProtected
	case s.Mark == backupinfo.MarkKeepPartial:
		return fateUnfinished
	}
	return fateKept
}

// week is the fates of its days, Monday first.
type week [7]fate

// draw gives the picture, without a line break at its end.
func (c calendar) draw(snapshots []datastore.PrunedSnapshot) string {
	weeks := map[time.Time]*week{}
	var seen [fates]bool
	for _, s := range snapshots {
		monday, day := c.place(s.Snapshot.Time)
		if weeks[monday] == nil {
			weeks[monday] = &week{}
		}
		f := fateOf(s)
		seen[f] = true
		weeks[monday][day] = max(weeks[monday][day], f)
	}
	mondays := make([]time.Time, 0, len(weeks))
	for monday := range weeks {
		mondays = append(mondays, monday)
	}
	slices.SortFunc(mondays, time.Time.Compare)
	var out strings.Builder
	out.WriteString("week of     Mo Tu We Th Fr Sa Su\n")
	for i, monday := range mondays {
		if i > 0 {
			c.drawGap(&out, mondays[i-1], monday)
		}
		c.drawWeek(&out, monday, *weeks[monday])
	}
	out.WriteString(c.legend(seen))
	return out.String()
}

// place gives the day of a time in the zone's calendar, as a week and a day of it.
// Days are counted in UTC, where each has 24 hours.
func (c calendar) place(at backupinfo.Time) (monday time.Time, day int) {
	year, month, date := at.Clock().In(c.zone).Date()
	noted := time.Date(year, month, date, 0, 0, 0, 0, time.UTC)
	day = (int(noted.Weekday()) + 6) % 7
	return noted.AddDate(0, 0, -day), day
}

// drawGap stands for the weeks without a snapshot: one is drawn, more are three dots.
func (c calendar) drawGap(out *strings.Builder, from, to time.Time) {
	switch next := from.AddDate(0, 0, 7); {
	case next.Equal(to):
	case next.AddDate(0, 0, 7).Equal(to):
		c.drawWeek(out, next, week{})
	default:
		out.WriteString("...\n")
	}
}

func (c calendar) drawWeek(out *strings.Builder, monday time.Time, days week) {
	out.WriteString(monday.Format(time.DateOnly) + " ")
	for _, f := range days {
		out.WriteString("  " + c.symbols[f])
	}
	out.WriteByte('\n')
}

// legend explains the symbols that are there.
func (c calendar) legend(seen [fates]bool) string {
	var words []string
	for f, name := range fateNames() {
		if seen[f] {
			words = append(words, c.symbols[f]+" "+name)
		}
	}
	return strings.Join(words, "   ")
}

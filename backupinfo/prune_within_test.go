package backupinfo

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func span(tb testing.TB, s string) Span {
	tb.Helper()
	v, err := ParseSpan(s)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func TestSpansReadBackAndOthersAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Span{
		"1y2m3d4h": {1, 2, 3, 4}, "7d": {Days: 7}, "0d": {}, "0y0m0d0h": {}, "2y5h": {Years: 2, Hours: 5}, "007d": {Days: 7}, "99999999h": {Hours: 99999999},
	} {
		got, err := ParseSpan(text)
		if err != nil || got != want || got.IsZero() != (want == Span{}) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if again, err := ParseSpan(got.String()); err != nil || again != got {
			t.Errorf("%s: printed as %s", text, got)
		}
	}
	for _, text := range []string{
		"", "d", "7", "7x", "7D", "-7d", "+7d", "7d ", " 7d", "7d7d", "7h7d", "1d2y", "7.5d", "7d5", "1w", "100000000h", "99999999999999999999d", "7d\x00", "٣d",
	} {
		if got, err := ParseSpan(text); err == nil || got != (Span{}) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestSpansAreCountedBackByTheCalendar(t *testing.T) {
	t.Parallel()
	vienna := zoneOf(t, "Europe/Vienna")
	for _, c := range []struct {
		from, span, want string
		zone             *time.Location
	}{
		{"2026-03-31T12:00:00Z", "1d", "2026-03-30T12:00:00Z", time.UTC},
		{"2026-03-31T12:00:00Z", "1m", "2026-03-03T12:00:00Z", time.UTC},
		{"2024-02-29T12:00:00Z", "1y", "2023-03-01T12:00:00Z", time.UTC},
		{"2026-03-29T10:00:00Z", "1d", "2026-03-28T11:00:00Z", vienna},  // noon to noon, 23 hours
		{"2026-03-29T10:00:00Z", "24h", "2026-03-28T10:00:00Z", vienna}, // by the clock
		{"2026-01-01T00:00:00Z", "2000y", "0026-01-01T00:00:00Z", time.UTC},
		{"2026-01-01T00:00:00Z", "99999999h", "-358232770800", time.UTC},
	} {
		from, err := ParseTime(c.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := span(t, c.span).BackFrom(from, c.zone).String(); got != c.want {
			t.Errorf("%s before %s: %s, want %s", c.span, c.from, got, c.want)
		}
	}
	if got := (Span{Days: -1, Hours: -1}).BackFrom(100, time.UTC); got != 100 {
		t.Errorf("a negative span leads to %d", got)
	}
}

func TestWithinKeepsWhatIsNewerThanTheSpanBeforeTheNewest(t *testing.T) {
	t.Parallel()
	hourly := candidates(every(t, "2026-01-01T00:00:00Z", "2026-01-31T23:00:00Z", time.Hour)...)
	for _, c := range []struct {
		what  string
		keep  KeepOptions
		count int
		last  string
	}{
		{"all of a day", KeepOptions{Within: span(t, "1d")}, 24, "2026-01-31T00:00:00Z"}, // the one exactly a day before is out
		{"all of five hours", KeepOptions{Within: span(t, "5h")}, 5, "2026-01-31T19:00:00Z"},
		{"each hour of five", KeepOptions{WithinHourly: span(t, "5h")}, 5, "2026-01-31T19:00:00Z"},
		{"each day of a week", KeepOptions{WithinDaily: span(t, "7d")}, 7, "2026-01-25T23:00:00Z"},
		{"each week of three", KeepOptions{WithinWeekly: span(t, "21d")}, 4, "2026-01-11T23:00:00Z"},
		{"each month of a year", KeepOptions{WithinMonthly: span(t, "1y")}, 1, "2026-01-31T23:00:00Z"},
		{"each year of ten", KeepOptions{WithinYearly: span(t, "10y")}, 1, "2026-01-31T23:00:00Z"},
		{"more than there is", KeepOptions{Within: span(t, "10y")}, len(hourly), "2026-01-01T00:00:00Z"},
	} {
		got := kept(Prune(hourly, c.keep, time.UTC))
		if len(got) != c.count || got[len(got)-1] != c.last {
			t.Errorf("%s: %d, to %s; want %d, to %s", c.what, len(got), got[len(got)-1], c.count, c.last)
		}
	}
}

// What a span keeps comes on top: no other rule keeps less, or something else,
// because of it.
func TestSpansOnlyAddToWhatTheOtherRulesKeep(t *testing.T) {
	t.Parallel()
	list := candidates(every(t, "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z", 6*time.Hour)...)
	counted := KeepOptions{Last: 2, Daily: 3, Weekly: 2}
	both := counted
	both.Within, both.WithinWeekly = span(t, "36h"), span(t, "1m")
	alone := both
	alone.Last, alone.Daily, alone.Weekly = 0, 0, 0
	with, without, spans := Prune(list, both, nil), Prune(list, counted, nil), Prune(list, alone, nil)
	for i, d := range with {
		if want := slices.Concat(without[i].Reasons, spans[i].Reasons); !slices.Equal(d.Reasons, want) || d.Keep() != (len(want) > 0) {
			t.Errorf("%s: %s for %q, want %q", d.Snapshot.Time, d.Mark, d.Reasons, want)
		}
	}
	if got := with[0].Reasons; !slices.Equal(got, []KeepReason{ForLast, ForWithin, ForWithinWeekly}) {
		t.Errorf("the newest is kept for %q", got)
	}
}

func TestSpansPassOverUnfinishedAndProtectedOnes(t *testing.T) {
	t.Parallel()
	const hour = 3600
	list := candidates(0, 10*hour, 20*hour, 21*hour, 50*hour)
	list[4].Finished = false // the newest: nothing counts back from it
	list[3].Protected = true // the newest finished one: that counts
	got := strings.Join(summary(Prune(list, KeepOptions{WithinDaily: span(t, "12h")}, nil)), ", ")
	if got != "180000 keep-partial [partial], 75600 protected [protected], 72000 keep [within-daily], 36000 remove [], 0 remove []" {
		t.Error(got)
	}
}

func TestATimeInTheFutureDoesNotEndTheOthers(t *testing.T) {
	t.Parallel()
	list := candidates(every(t, "2026-01-01T00:00:00Z", "2026-01-10T00:00:00Z", 24*time.Hour)...)
	future := candidates(list[9].Snapshot.Time + 10*366*24*3600)
	now := list[9].Snapshot.Time + 100
	keep := KeepOptions{Within: span(t, "5d"), Now: now}
	if got := kept(Prune(slices.Concat(list, future), keep, nil)); len(got) != 6 {
		t.Errorf("%q", got)
	}
	if got := kept(Prune(future, keep, nil)); len(got) != 1 {
		t.Errorf("alone: %q", got)
	}
	keep.Now = 0
	if got := kept(Prune(slices.Concat(list, future), keep, nil)); len(got) != 1 {
		t.Errorf("without a limit: %q", got)
	}
}

package backupinfo

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // for machines that have no zones of their own
)

type pruneVector struct {
	About, TZ string
	Options   struct {
		Last    int `json:"keep-last"`
		Hourly  int `json:"keep-hourly"`
		Daily   int `json:"keep-daily"`
		Weekly  int `json:"keep-weekly"`
		Monthly int `json:"keep-monthly"`
		Yearly  int `json:"keep-yearly"`
	}
	Snapshots []struct {
		Time                Time
		Finished, Protected bool
	}
	Result []struct {
		Epoch Time
		Keep  bool
		Mark  PruneMark
	}
}

func zoneOf(tb testing.TB, name string) *time.Location {
	tb.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		tb.Fatal(err)
	}
	return zone
}

// candidates are finished snapshots at these times.
func candidates(times ...Time) []PruneCandidate {
	list := make([]PruneCandidate, len(times))
	for i, t := range times {
		list[i] = PruneCandidate{Snapshot: Snapshot{Group{Type: VM, ID: "100"}, t}, Finished: true}
	}
	return list
}

// every returns the times from one to the other, both included.
func every(tb testing.TB, from, to string, step time.Duration) (times []Time) {
	tb.Helper()
	t, err := ParseTimeLoose(from)
	if err != nil {
		tb.Fatal(err)
	}
	end, err := ParseTimeLoose(to)
	if err != nil {
		tb.Fatal(err)
	}
	for ; t <= end; t += Time(step / time.Second) {
		times = append(times, t)
	}
	return times
}

func kept(list []Decision) (times []string) {
	for _, d := range list {
		if d.Keep() {
			times = append(times, d.Snapshot.Time.String())
		}
	}
	return times
}

func TestMarksAreThoseOfTheOriginal(t *testing.T) {
	t.Parallel()
	list := vectors[struct{ Cases []pruneVector }](t, "prune.json").Cases
	if len(list) < 139 {
		t.Fatalf("only %d cases", len(list))
	}
	for i, v := range list {
		snapshots := candidates(make([]Time, len(v.Snapshots))...)
		for i, s := range v.Snapshots {
			snapshots[i].Snapshot.Time, snapshots[i].Finished, snapshots[i].Protected = s.Time, s.Finished, s.Protected
		}
		o := v.Options
		keep := KeepOptions{Last: o.Last, Hourly: o.Hourly, Daily: o.Daily, Weekly: o.Weekly, Monthly: o.Monthly, Yearly: o.Yearly}
		got := Prune(snapshots, keep, zoneOf(t, v.TZ))
		if len(got) != len(v.Result) {
			t.Fatalf("case %d, %s: %d of %d", i, v.About, len(got), len(v.Result))
		}
		for j, want := range v.Result {
			d := got[j]
			if d.Snapshot.Time != want.Epoch || d.Mark != want.Mark || d.Keep() != want.Keep || d.Keep() != (len(d.Reasons) > 0) {
				t.Errorf("case %d, %s, %+v in %s: %s is %s for %q, want %s %s", i, v.About, o, v.TZ, d.Snapshot.Time, d.Mark, d.Reasons, want.Epoch, want.Mark)
			}
		}
	}
}

func TestWithoutAnyOptionNothingIsAsked(t *testing.T) {
	t.Parallel()
	for _, o := range []KeepOptions{{}, {Now: 1}, {Last: -1}, {Within: Span{Days: -1}}} {
		if o.Keeps() {
			t.Errorf("%+v keeps", o)
		}
	}
	day := Span{Days: 1}
	for _, o := range []KeepOptions{
		{Last: 1},
		{Hourly: 1},
		{Daily: 1},
		{Weekly: 1},
		{Monthly: 1},
		{Yearly: 1},
		{Within: day},
		{WithinHourly: day},
		{WithinDaily: day},
		{WithinWeekly: day},
		{WithinMonthly: day},
		{WithinYearly: day},
	} {
		if !o.Keeps() {
			t.Errorf("%+v does not keep", o)
		}
		if got := kept(Prune(candidates(100), o, nil)); len(got) != 1 {
			t.Errorf("%+v keeps %q", o, got)
		}
	}
}

// The weeks around New Year belong to one year or the other.
func TestWeeklyKeepsTheRightWeeksAroundNewYear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, want string }{
		{"2026-12-20T03:00:00Z", "2027-01-10T03:00:00Z", "2027-01-10 2027-01-03 2026-12-27"}, // weeks 1, 53, 52
		{"2020-12-20T03:00:00Z", "2021-01-10T03:00:00Z", "2021-01-10 2021-01-03 2020-12-27"}, // weeks 1, 53, 52
		{"2024-12-20T03:00:00Z", "2025-01-10T03:00:00Z", "2025-01-10 2025-01-05 2024-12-29"}, // weeks 2, 1 from 30 December on, 52
	} {
		var got []string
		for _, at := range kept(Prune(candidates(every(t, c.from, c.to, 24*time.Hour)...), KeepOptions{Weekly: 3}, time.UTC)) {
			got = append(got, at[:len("2006-01-02")])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s to %s: %q, want %s", c.from, c.to, got, c.want)
		}
	}
}

// A snapshot each 15 minutes over a switch of the clocks: each hour and each day
// that the clock shows keeps its last one, whichever zone the process has.
func TestHoursAndDaysOnTheDayOfASwitchAreThoseThatTheClockShows(t *testing.T) {
	t.Parallel()
	vienna := zoneOf(t, "Europe/Vienna")
	for _, c := range []struct {
		what, from, to, gone, last, days string
		zone                             *time.Location
	}{
		{"spring", "2026-03-28T00:00:00+01:00", "2026-03-29T23:45:00+02:00", "2026/03/29/02", "2026/03/28/23", "2026-03-29T21:45:00Z 2026-03-28T22:45:00Z", vienna},
		{"autumn", "2026-10-24T00:00:00+02:00", "2026-10-25T23:45:00+01:00", "", "2026/10/25/00", "2026-10-25T22:45:00Z 2026-10-24T21:45:00Z", vienna},
		{"spring in UTC", "2026-03-28T00:00:00Z", "2026-03-29T23:45:00Z", "", "2026/03/29/00", "2026-03-29T23:45:00Z 2026-03-28T23:45:00Z", time.UTC},
	} {
		list := candidates(every(t, c.from, c.to, 15*time.Minute)...)
		hours := map[string]Time{} // the last snapshot of each
		for _, s := range list {
			hours[Hour.Label(s.Snapshot.Time, c.zone)] = s.Snapshot.Time
		}
		n := 0
		for _, d := range Prune(list, KeepOptions{Hourly: 24}, c.zone) {
			if !d.Keep() {
				continue
			}
			n++
			label := Hour.Label(d.Snapshot.Time, c.zone)
			if hours[label] != d.Snapshot.Time || label == c.gone || n == 24 && label != c.last {
				t.Errorf("%s: hour %d is %s, by %s", c.what, n, label, d.Snapshot.Time)
			}
		}
		if n != 24 {
			t.Errorf("%s: %d hours", c.what, n)
		}
		if got := strings.Join(kept(Prune(list, KeepOptions{Daily: 2}, c.zone)), " "); got != c.days {
			t.Errorf("%s: days %s, want %s", c.what, got, c.days)
		}
	}
}

func TestUnfinishedSnapshotsCountForNothing(t *testing.T) {
	t.Parallel()
	list := candidates(1000, 2000, 3000, 4000)
	for i := range list[1:] {
		list[i+1].Finished = false
	}
	list[2].Writing = true
	got := fmt.Sprint(summary(Prune(list, KeepOptions{Last: 1}, nil)))
	if got != "[4000 keep-partial [partial] 3000 keep-partial [writing] 2000 remove [] 1000 keep [last]]" {
		t.Error(got)
	}
	list[3].Writing = true
	if got := Prune(list, KeepOptions{Last: 1}, nil)[0]; got.Mark != MarkKeepPartial || !slices.Equal(got.Reasons, []KeepReason{ForPartial, ForWriting}) {
		t.Errorf("%s, %q", got.Mark, got.Reasons)
	}
	list[3].Protected = true
	if got := Prune(list, KeepOptions{Last: 1}, nil)[0]; got.Mark != MarkProtected {
		t.Errorf("%s, %q", got.Mark, got.Reasons)
	}
	// A finished one has no writer, whatever the caller says.
	list[0].Writing = true
	if got := Prune(list, KeepOptions{}, nil)[3]; got.Mark != MarkRemove {
		t.Errorf("%s, %q", got.Mark, got.Reasons)
	}
}

func summary(list []Decision) (texts []string) {
	for _, d := range list {
		texts = append(texts, fmt.Sprintf("%d %s %s", d.Snapshot.Time, d.Mark, d.Reasons))
	}
	return texts
}

// 30 December 2024 is in the first week of 2025, and that makes the difference:
// what is in a period of an earlier rule stays open to later rules, what is in one
// that the same rule takes does not.
func TestWhatIsInAPeriodOfAnEarlierRuleStaysOpen(t *testing.T) {
	t.Parallel()
	list := candidates(every(t, "2024-12-30T00:00:00Z", "2025-01-02T00:00:00Z", 36*time.Hour)...)
	for want, keep := range map[string]KeepOptions{
		"[1735776000 keep [last] 1735646400 keep [yearly] 1735516800 remove []]": {Last: 1, Weekly: 1, Yearly: 1},
		"[1735776000 keep [weekly] 1735646400 remove [] 1735516800 remove []]":   {Weekly: 1, Yearly: 1},
	} {
		if got := fmt.Sprint(summary(Prune(list, keep, nil))); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestTheListThatWasGivenStaysAsItIs(t *testing.T) {
	t.Parallel()
	list := candidates(3, 1, 2)
	before := slices.Clone(list)
	if got := kept(Prune(list, KeepOptions{Last: 2}, nil)); len(got) != 2 || !slices.Equal(list, before) {
		t.Errorf("%q, %v", got, list)
	}
	if got := Prune(nil, KeepOptions{Last: 2, Within: Span{Days: 1}}, nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

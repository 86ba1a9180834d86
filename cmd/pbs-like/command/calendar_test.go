package command

import (
	"strings"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

func drawn(t *testing.T, zone string, fates map[string]datastore.PrunedSnapshot) string {
	t.Helper()
	where, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	var list []datastore.PrunedSnapshot
	for at, s := range fates {
		if s.Snapshot.Time, err = backupinfo.ParseTime(at); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return calendar{zone: where, symbols: symbolsFor(false)}.draw(list)
}

func TestTheCalendarShowsEachDayOfTheZone(t *testing.T) {
	t.Parallel()
	kept := datastore.PrunedSnapshot{Outcome: datastore.PruneKept}
	removed := datastore.PrunedSnapshot{Outcome: datastore.PruneRemoved}
	got := drawn(t, "Europe/Vienna", map[string]datastore.PrunedSnapshot{
		"2026-12-31T22:59:59Z": removed, // still Thursday there
		"2026-12-31T23:00:00Z": kept,    // the year has turned
		"2027-01-03T22:00:00Z": {Outcome: datastore.PruneBusy},
		"2027-01-12T12:00:00Z": {Outcome: datastore.PruneFailed}, // after one week without
		"2027-03-28T01:30:00Z": removed,                          // the day of 23 hours
		"2027-03-28T02:30:00Z": kept,
	})
	want := strings.TrimPrefix(`
week of     Mo Tu We Th Fr Sa Su
2026-12-28   .  .  .  x  #  .  !
2027-01-04   .  .  .  .  .  .  .
2027-01-11   .  E  .  .  .  .  .
...
2027-03-22   .  .  .  .  .  .  #
x removed   # kept   ! in use   E failed`, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOfADayTheMostImportantIsShown(t *testing.T) {
	t.Parallel()
	protected, partial := datastore.PrunedSnapshot{Outcome: datastore.PruneKept}, datastore.PrunedSnapshot{Outcome: datastore.PruneKept}
	protected.Protected, protected.Mark = true, backupinfo.MarkProtected
	partial.Mark = backupinfo.MarkKeepPartial
	got := drawn(t, "UTC", map[string]datastore.PrunedSnapshot{
		"2026-01-05T01:00:00Z": protected, "2026-01-05T02:00:00Z": {Outcome: datastore.PruneKept}, "2026-01-05T03:00:00Z": {Outcome: datastore.PruneRemoved},
		"2026-01-06T03:00:00Z": partial,
	})
	if !strings.Contains(got, "2026-01-05   P  ~  .  .") {
		t.Error(got)
	}
}

func TestSymbolsArePlainUnlessTheLocaleSaysOtherwise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lcAll, lang string
		want        bool
	}{{"", "", false}, {"", "C", false}, {"", "de_AT.UTF-8", true}, {"", "C.utf8", true}, {"C", "de_AT.UTF-8", false}, {"POSIX", "", false}} {
		env := map[string]string{"LC_ALL": c.lcAll, "LANG": c.lang}
		if got := isUTF8Locale(func(name string) string { return env[name] }); got != c.want {
			t.Errorf("%+v", c)
		}
	}
}

func TestTheEndOfAProtectionMayBeADate(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 2*3600)
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, zone)
	for text, want := range map[string]string{
		"2026-06-01": "2026-06-01T22:00:00Z", "2027-01-31": "2027-01-31T22:00:00Z", "2026-06-01T10:00:01Z": "2026-06-01T10:00:01Z",
	} {
		if got, err := untilOf(text, now, zone); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"2026-05-31", "2026-06-01T10:00:00Z", "soon", "2026-02-30", "30d"} {
		if got, err := untilOf(text, now, zone); err == nil {
			t.Errorf("%s: %s", text, got)
		}
	}
}

package backupinfo

import (
	"encoding/json"
	"testing"
	"time"
	_ "time/tzdata" // the vectors name zones that a machine may lack
)

type rfc3339Vector struct {
	Input  string `json:"input"`
	Regex  bool   `json:"backup-date-regex"`
	Result struct {
		Canonical string `json:"canonical"`
		Epoch     Time   `json:"epoch"`
		Error     string `json:"error"`
	} `json:"parse-rfc3339"`
}

func rfc3339Vectors(t *testing.T) []rfc3339Vector {
	t.Helper()
	return vectors[struct {
		List []rfc3339Vector `json:"rfc3339"`
	}](t, "parse.json").List
}

func TestTimeNamesAreAcceptedOnlyWhenTheOriginalPrintsThemAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, v := range rfc3339Vectors(t) {
		if got := MatchTime(v.Input); got != v.Regex {
			t.Errorf("MatchTime(%q) = %v, want %v", v.Input, got, v.Regex)
		}
		got, err := ParseTime(v.Input)
		if want := v.Result.Error == "" && v.Result.Canonical == v.Input; (err == nil) != want {
			t.Errorf("ParseTime(%q) = %v, %v, want accepted: %v", v.Input, got, err, want)
		} else if want && (got != v.Result.Epoch || got.String() != v.Input) {
			t.Errorf("ParseTime(%q) = %d, want %d", v.Input, got, v.Result.Epoch)
		}
	}
}

// The original moves dates that do not exist to ones that do; a person who wrote
// one has made a mistake.
func TestTimesOfPeopleAreReadAsTheOriginalReadsThemUnlessTheyDoNotExist(t *testing.T) {
	t.Parallel()
	moved := map[string]bool{
		"2024-01-00T10:00:00Z": true, "2023-02-29T10:00:00Z": true, "2024-06-30T23:59:60Z": true,
	}
	for _, v := range rfc3339Vectors(t) {
		got, err := ParseTimeLoose(v.Input)
		if want := v.Result.Error == "" && !moved[v.Input]; (err == nil) != want {
			t.Errorf("ParseTimeLoose(%q) = %v, %v, want accepted: %v", v.Input, got, err, want)
		} else if want && (got != v.Result.Epoch || got.String() != v.Result.Canonical) {
			t.Errorf("ParseTimeLoose(%q) = %d, want %d", v.Input, got, v.Result.Epoch)
		}
	}
}

func TestTimesOfPeopleMayBeSeconds(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]Time{
		"0": 0, "1705312800": 1705312800, "-2": -2, "253402300799": maxTime,
	} {
		if got, err := ParseTimeLoose(s); err != nil || got != want {
			t.Errorf("ParseTimeLoose(%q) = %d, %v", s, got, err)
		}
	}
	for _, bad := range []string{
		"", "-", "--1", "+1", "-1", "1.5", "1e3", "253402300800", "99999999999999999999", "tomorrow",
		"2024-01-15T10:00:00+1:00", "2024-01-15T10:00:00+0100", "2024-01-15T10:00:00*01:00", "2024-01-15T10:00:00+-1:00",
		"2024-01-15T10:00:00+01:-1", "1970-01-01T00:59:59+01:00", "9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01",
	} {
		if got, err := ParseTimeLoose(bad); err == nil {
			t.Errorf("ParseTimeLoose(%q) = %v, want an error", bad, got)
		}
	}
}

func TestTimesPrintAsTheOriginalPrintsThem(t *testing.T) {
	t.Parallel()
	for _, v := range vectors[struct {
		List []struct {
			Epoch Time            `json:"epoch"`
			UTC   json.RawMessage `json:"utc"`
		} `json:"epoch-to-rfc3339-utc"`
	}](t, "times.json").List {
		var want string
		printable := json.Unmarshal(v.UTC, &want) == nil
		if v.Epoch.Valid() != printable {
			t.Errorf("%d is valid: %v, the original prints %s", v.Epoch, v.Epoch.Valid(), v.UTC)
		}
		if printable && v.Epoch.String() != want {
			t.Errorf("%d prints as %s, want %s", v.Epoch, v.Epoch, want)
		}
	}
}

func TestATimeWithoutANameDoesNotPrintAsOne(t *testing.T) {
	t.Parallel()
	for _, bad := range []Time{minTime - 1, maxTime + 1, 1<<63 - 1, -1 << 63} {
		if got, err := ParseTime(bad.String()); bad.Valid() || err == nil {
			t.Errorf("%d printed as %q and read as %d", int64(bad), bad.String(), got)
		}
	}
}

func TestNoFieldOfATimeRunsOverIntoTheNext(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"2024-01-15T10:00:60Z", "2024-01-15T10:60:00Z", "2024-01-15T24:00:00Z", "2024-00-15T10:00:00Z", "2024-04-31T10:00:00Z",
	} {
		if got, err := ParseTime(bad); err == nil {
			t.Errorf("ParseTime(%q) = %v", bad, got)
		}
		if got, err := ParseTimeLoose(bad); err == nil {
			t.Errorf("ParseTimeLoose(%q) = %v", bad, got)
		}
	}
}

func TestTheOneTimeThatTheOriginalCannotReadIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := ParseTime("1969-12-31T23:59:59Z"); err == nil {
		t.Error("-1 was accepted")
	}
	for _, near := range []string{"1969-12-31T23:59:58Z", "1970-01-01T00:00:00Z"} {
		if _, err := ParseTime(near); err != nil {
			t.Error(err)
		}
	}
}

func TestPeriodsAndLocalTimesAreThoseOfTheOriginal(t *testing.T) {
	t.Parallel()
	for _, v := range vectors[struct {
		Local []struct {
			Epoch                                             Time
			TZ, Local, Hourly, Daily, Weekly, Monthly, Yearly string
		}
	}](t, "times.json").Local {
		zone, err := time.LoadLocation(v.TZ)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Epoch.LocalString(zone); got != v.Local {
			t.Errorf("%d in %s is %s, want %s", v.Epoch, v.TZ, got, v.Local)
		}
		for period, want := range map[Period]string{Hour: v.Hourly, Day: v.Daily, Week: v.Weekly, Month: v.Monthly, Year: v.Yearly, -1: "", Year + 1: ""} {
			if got := period.Label(v.Epoch, zone); got != want {
				t.Errorf("%d in %s: label of period %d is %q, want %q", v.Epoch, v.TZ, period, got, want)
			}
		}
	}
}

func TestWeeksBelongToTheYearOfTheirThursday(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"2024-12-30T00:00:00Z": "2025/01", "2021-01-03T00:00:00Z": "2020/53", "2021-01-04T00:00:00Z": "2021/01",
	} {
		at, err := ParseTime(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := Week.Label(at, time.UTC); got != want {
			t.Errorf("%s is in week %s, want %s", name, got, want)
		}
	}
}

func TestTimeOfCutsTheFraction(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 1, 15, 10, 0, 0, 999_999_999, time.UTC)
	if got := TimeOf(at); got != 1705312800 || !got.Clock().Equal(at.Truncate(time.Second)) {
		t.Errorf("TimeOf(%v) = %d", at, got)
	}
}

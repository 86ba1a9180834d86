package storelock

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// goldenLock is what index.json says of an object of the original.
type goldenLock struct {
	Case      string `json:"case"`
	Key       string `json:"key_xxh64"`
	KeySHA256 string `json:"key_sha256_master"`
	RawHex    string `json:"raw_hex"`
	Exclusive bool   `json:"exclusive"`
	ID        []any  `json:"id"`
}

func goldenLocks(t testing.TB) (locks []goldenLock) {
	t.Helper()
	text, err := os.ReadFile("testdata/index.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &locks); err != nil {
		t.Fatal(err)
	}
	return locks
}

func TestObjectsAreTheOriginalsBitForBit(t *testing.T) {
	t.Parallel()
	for _, g := range goldenLocks(t) {
		want, err := os.ReadFile(filepath.Join("testdata/objects", g.Key))
		if err != nil {
			t.Fatal(err)
		}
		read, err := decode(want)
		if err != nil {
			t.Errorf("%s: %v", g.Case, err)
			continue
		}
		l := Lock{Exclusive: g.Exclusive, HostID: g.ID[0].(string), PID: int64(g.ID[1].(float64)), ThreadID: int64(g.ID[2].(float64)), Time: read.Time}
		if g.Case == "hostid-lone-surrogate" {
			l.HostID = "h\xff@1" // the byte that Python makes that surrogate of
		}
		if got := l.encode(); !bytes.Equal(got, want) || hex.EncodeToString(got) != g.RawHex {
			t.Errorf("%s:\n got %s\nwant %s", g.Case, got, want)
		}
		if got := keyFor(want); got != g.Key {
			t.Errorf("%s: key %s, want %s", g.Case, got, g.Key)
		}
		if !namesItself(g.Key, want) || !namesItself(g.KeySHA256, want) || namesItself(g.Key, want[1:]) {
			t.Errorf("%s: a key is not recognised", g.Case)
		}
		if read.Exclusive != g.Exclusive || read.PID != l.PID || read.Instance != "" {
			t.Errorf("%s: read as %+v", g.Case, read)
		}
	}
}

func TestKeysAreXXH64(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/xxh64-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ Hex, XXH64 string }
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		data, err := hex.DecodeString(v.Hex)
		if err != nil {
			t.Fatal(err)
		}
		if got := keyFor(data); got != v.XXH64 {
			t.Errorf("%q: %s, want %s", v.Hex, got, v.XXH64)
		}
	}
}

func fullLock() Lock {
	return Lock{
		Exclusive: true, HostID: "h\u2028\"\\<&>\U0001f512@1+pbs-like", PID: 1<<31 - 1, ThreadID: 16777216, Time: time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
		Instance: strings.Repeat("0f", 16), Sequence: 7, Stale: 1800 * time.Second, BootID: "b", PIDSpace: "pid:[1]", TimeSpace: "time:[2]",
		Started: 1 << 40, Since: time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC), User: "0", Command: "pbs-like \x7f", Message: "a\nb\tc\b\f\r\x01é",
	}
}

func TestOurObjectsAreReadAsWritten(t *testing.T) {
	t.Parallel()
	l := fullLock()
	got, err := decode(l.encode())
	if err != nil || got != l {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, l)
	}
	if !json.Valid(l.encode()) {
		t.Errorf("not JSON: %s", l.encode())
	}
}

func TestTimesAreCutNotRounded(t *testing.T) {
	t.Parallel()
	l := Lock{Time: time.Date(2026, 3, 8, 12, 0, 0, 999_999_999, time.FixedZone("", 3600))}
	if text := string(l.encode()); !strings.Contains(text, `"2026-03-08T11:00:00.999+00:00"`) {
		t.Error(text)
	}
}

func TestExclusiveIsWhatPythonTakesForTrue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"true": true, "false": false, "null": false, "0": false, "0.0": false, "1": true, `""`: false, `"false"`: true, "[]": false, "[0]": true, "{}": false, `{"a":1}`: true,
	} {
		l, err := decode([]byte(`{"hostid": "h", "exclusive": ` + text + `}`))
		if err != nil || l.Exclusive != want {
			t.Errorf("%s: %v, %v", text, l.Exclusive, err)
		}
	}
}

func garbage() map[string][]byte {
	return map[string][]byte{
		"empty": nil, "truncated": []byte(`{"exclusive": true, "hos`), "no JSON": []byte("locked by me\n"), "a number": []byte("7"),
		"an array": []byte(`[{"exclusive": false, "hostid": "h"}]`), "null": []byte("null"), "no mode": []byte(`{"hostid": "h"}`), "no host": []byte(`{"exclusive": false}`),
		"host is a number": []byte(`{"exclusive": false, "hostid": 7}`), "binary": {0, 255, 254, 1}, "deep": bytes.Repeat([]byte("["), 60_000),
		"two values": []byte(`{"exclusive": false, "hostid": "h"} {}`),
	}
}

func TestGarbageIsNoLock(t *testing.T) {
	t.Parallel()
	for name, data := range garbage() {
		if l, err := decode(data); !errors.Is(err, errNoLock) {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
}

func TestAbsurdNumbersAreReadAsUnknown(t *testing.T) {
	t.Parallel()
	l, err := decode([]byte(`{"exclusive": 1, "exclusive": false, "hostid": "h", "processid": 1e300, "threadid": -7.5, "time": "10000-13-99", "stale-ms": 1e15, "started": "x"}`))
	if err != nil || l.Exclusive || l.PID != 0 || l.ThreadID != 0 || !l.Time.IsZero() || l.Stale != maxStale || l.Started != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, g := range goldenLocks(f) {
		data, _ := hex.DecodeString(g.RawHex)
		f.Add(data)
	}
	f.Add(fullLock().encode())
	for _, data := range garbage() {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := decode(data)
		if err != nil || l.Time.Year() > 9999 || l.Time.Year() < 0 || l.Since.Year() > 9999 || l.Since.Year() < 0 {
			return
		}
		l.Time, l.Since = l.Time.Truncate(time.Millisecond), l.Since.Truncate(time.Millisecond)
		if l.Instance == "" {
			l = Lock{Exclusive: l.Exclusive, HostID: l.HostID, PID: l.PID, ThreadID: l.ThreadID, Time: l.Time}
		}
		again, err := decode(l.encode())
		if err != nil || again != l {
			t.Errorf("%v\n got %+v\nwant %+v", err, again, l)
		}
	})
}

func FuzzParseTicket(f *testing.F) {
	q := newQueue(strings.Repeat("a", 32), nil, instant{wall: time.Unix(1, 0)})
	f.Add(keyOf(q.next(true)))
	f.Add("t-")
	f.Fuzz(func(t *testing.T, key string) {
		ticket, ok := parseTicket(key)
		if !ok {
			return
		}
		q := queue{instance: ticket.instance, came: ticket.came}
		again, ok := parseTicket(keyOf(q.next(ticket.exclusive)))
		if !ok || again != ticket {
			t.Errorf("%+v, then %+v", ticket, again)
		}
	})
}

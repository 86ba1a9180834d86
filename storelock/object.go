package storelock

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// A Lock is what an object says of its owner. Everything but the first five
// fields is ours: objects of a Borg have no Instance.
type Lock struct {
	Exclusive bool
	HostID    string
	PID       int64
	ThreadID  int64
	Time      time.Time // by the clock of the owner's host: for people, it decides nothing

	Instance  string        // of one acquisition, whatever key its object has at the moment
	Sequence  int64         // counts the objects of one acquisition, so that no two are equal
	Stale     time.Duration // how long an object must have been unchanged to be stale, as its owner has it
	BootID    string        // of the kernel on which the owner runs
	PIDSpace  string        // its pid namespace
	TimeSpace string        // its time namespace
	Started   int64         // its start, in ticks as /proc has it; 0: unknown
	Since     time.Time     // when the lock was taken, by the same clock as Time; zero: unknown
	User      string
	Command   string
	Message   string
}

// timeLayout prints what Python's isoformat(timespec="milliseconds") does: cut,
// not rounded, and with the offset in digits even for UTC.
const timeLayout = "2006-01-02T15:04:05.000-07:00"

// encode gives the bytes that the original's json.dumps gives, with our fields
// after its own.
func (l Lock) encode() []byte {
	var b strings.Builder
	b.WriteString(`{"exclusive": ` + strconv.FormatBool(l.Exclusive) + `, "hostid": `)
	quote(&b, l.HostID)
	b.WriteString(`, "processid": ` + strconv.FormatInt(l.PID, 10))
	b.WriteString(`, "threadid": ` + strconv.FormatInt(l.ThreadID, 10))
	b.WriteString(`, "time": "` + l.Time.UTC().Format(timeLayout) + `"`)
	if l.Instance != "" {
		l.encodeOurs(&b)
	}
	b.WriteString("}")
	return []byte(b.String())
}

func (l Lock) encodeOurs(b *strings.Builder) {
	text := func(name, value string) {
		b.WriteString(`, "` + name + `": `)
		quote(b, value)
	}
	number := func(name string, value int64) { b.WriteString(`, "` + name + `": ` + strconv.FormatInt(value, 10)) }
	text("instance", l.Instance)
	number("sequence", l.Sequence)
	number("stale-ms", l.Stale.Milliseconds())
	text("boot-id", l.BootID)
	text("pid-namespace", l.PIDSpace)
	text("time-namespace", l.TimeSpace)
	number("started", l.Started)
	text("since", l.Since.UTC().Format(timeLayout))
	text("user", l.User)
	text("command", l.Command)
	text("message", l.Message)
}

// quote writes a string as Python does with ensure_ascii: encoding/json escapes
// other characters. Bytes that are no UTF-8 become lone surrogates, which is how
// Python hands host names around.
func quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(b, `\udc%02x`, s[0])
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case r < 0x20 || r > 0x7e:
			b.WriteString(control(r))
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		s = s[size:]
	}
	b.WriteByte('"')
}

func control(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// keyFor names an object by its content. Newer originals take SHA-256, and
// each honours the names of the other.
func keyFor(data []byte) string { return fmt.Sprintf("%016x", xxhash.Sum64(data)) }

// namesItself says whether the key is made of the content, so that the same
// key will always mean the same bytes.
func namesItself(key string, data []byte) bool {
	if len(key) == 2*sha256.Size {
		sum := sha256.Sum256(data)
		return key == hex.EncodeToString(sum[:])
	}
	return key == keyFor(data)
}

var errNoLock = errors.New("not a lock")

// decode reads what the original would accept, and more: times are not looked
// at, and numbers may be any. The bytes come from whoever may write to the store.
func decode(data []byte) (Lock, error) {
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		return Lock{}, fmt.Errorf("%w: %w", errNoLock, err)
	}
	exclusive, ok := m["exclusive"]
	if !ok {
		return Lock{}, fmt.Errorf("%w: it does not say whether it is exclusive", errNoLock)
	}
	host, ok := m["hostid"].(string)
	if !ok {
		return Lock{}, fmt.Errorf("%w: it has no host id", errNoLock)
	}
	l := Lock{
		Exclusive: truth(exclusive), HostID: host, PID: integer(m["processid"]), ThreadID: integer(m["threadid"]),
		Time: moment(text(m["time"])),
	}
	l.decodeOurs(m)
	return l, nil
}

func (l *Lock) decodeOurs(m map[string]any) {
	l.Instance = text(m["instance"])
	l.Sequence = integer(m["sequence"])
	l.Stale = time.Duration(min(max(integer(m["stale-ms"]), 0), maxStale.Milliseconds())) * time.Millisecond
	l.BootID, l.PIDSpace, l.TimeSpace = text(m["boot-id"]), text(m["pid-namespace"]), text(m["time-namespace"])
	l.Started, l.Since = integer(m["started"]), moment(text(m["since"]))
	l.User, l.Command, l.Message = text(m["user"]), text(m["command"]), text(m["message"])
}

// truth is Python's: everything is true but false, null, zero and what is empty.
func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// integer is 0 for what is none, and for what no kernel gives as a number of a process.
func integer(v any) int64 {
	const exact = 1 << 53
	f, ok := v.(float64)
	if !ok || f != float64(int64(f)) || f >= exact || f <= -exact {
		return 0
	}
	return int64(f)
}

func moment(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

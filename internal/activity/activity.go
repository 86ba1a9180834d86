package activity

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Activity is what a process is doing to a store.
type Activity struct {
	// Store is the absolute path of the store.
	Store string `json:"store"`
	// Operation is a word such as "backup", Object what it works on, such as "vm/100".
	Operation string `json:"operation"`
	Object    string `json:"object"`
	// Message is what the user of the operation had to say.
	Message string `json:"message,omitempty"`
	// Started is when it began, in seconds since 1970.
	Started int64 `json:"started"`
	// Part is what Done and Total are about where that is not all of it. They
	// are bytes, or things where Items is set. Total is 0 where it is not known.
	Part  string `json:"part,omitempty"`
	Done  uint64 `json:"done,omitempty"`
	Total uint64 `json:"total,omitempty"`
	Items bool   `json:"items,omitempty"`
}

// Reading is the operation of somebody who reads, until the first progress names what for.
const Reading = "read"

// Bounds of what is believed.
const (
	maxFile = 16 << 10
	maxWord = 64
	maxText = 512
)

// parse reads a file. Text that is too long is cut.
func parse(text []byte) (Activity, error) {
	var a Activity
	if err := json.Unmarshal(text, &a); err != nil {
		return Activity{}, err
	}
	a.Operation = cut(a.Operation, maxWord)
	for _, field := range []*string{&a.Store, &a.Object, &a.Message, &a.Part} {
		*field = cut(*field, maxText)
	}
	return a, nil
}

// cut shortens between two characters.
func cut(s string, most int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// String describes the activity in one line, safe for a terminal, such as
//
//	backup of vm/100, 38 % of disk.img.fidx done, since 2026-01-02T03:04:05Z ("weekly")
func (a Activity) String() string {
	var b strings.Builder
	b.WriteString(escape(a.Operation))
	if a.Object != "" {
		b.WriteString(" of " + escape(a.Object))
	}
	if done := a.Progress(); done != "" {
		b.WriteString(", " + done)
	}
	if a.Started > 0 {
		b.WriteString(", since " + time.Unix(a.Started, 0).UTC().Format(time.RFC3339))
	}
	if a.Message != "" {
		b.WriteString(" (" + strconv.Quote(a.Message) + ")")
	}
	return b.String()
}

// Progress is how far it is in words, or "" where that is not known.
func (a Activity) Progress() string {
	if a.Done == 0 && a.Total == 0 {
		return ""
	}
	of := ""
	if a.Part != "" && a.Part != a.Object {
		of = " of " + escape(a.Part)
	}
	switch {
	case a.Total > 0:
		return fmt.Sprintf("%.0f %%%s done", 100*float64(min(a.Done, a.Total))/float64(a.Total), of)
	case a.Items:
		return fmt.Sprintf("%d%s done", a.Done, of)
	}
	return fmt.Sprintf("%d MiB%s done", a.Done>>20, of)
}

// escape leaves the quotes of strconv.Quote out.
func escape(s string) string {
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

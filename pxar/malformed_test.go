package pxar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/internal/goldenfile"
)

type malformedCase struct {
	Name, Desc, Archive, Payload string
	Sequential                   malformedAnswer
	Access                       malformedAnswer `json:"random-access"`
}

type malformedAnswer struct {
	Outcome string
	Entries []line
}

func malformedCases(t testing.TB) []malformedCase {
	t.Helper()
	var cases []malformedCase
	decoder := json.NewDecoder(bytes.NewReader(goldenfile.Read(t, "pxar", "expected/malformed.jsonl")))
	decoder.UseNumber()
	for decoder.More() {
		var c malformedCase
		if err := decoder.Decode(&c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

// better is where we answer otherwise than the original, on purpose.
func better(name, how string) (why string) {
	switch name + " " + how {
	case "split-no-payload-file sequential":
		return "the original reads content twice where there is none; here the entries are good and their content is ErrNoPayload"
	case "split-no-payload-file random-access":
		return "the original takes other bytes of the archive for the content; here that is ErrNoPayload"
	}
	return ""
}

func TestMalformedArchivesAreTakenAndRefusedLikeByTheOriginal(t *testing.T) {
	t.Parallel()
	files := goldenfile.MalformedTrees(t)
	for _, c := range malformedCases(t) {
		archive, payload := files[c.Archive], files[c.Payload]
		t.Run(c.Name+"/sequential", func(t *testing.T) {
			t.Parallel()
			got, err := sequential(archive, payload, withSeek)
			compareMalformed(t, c.Name, "sequential", got, err, c.Sequential)
		})
		t.Run(c.Name+"/stream", func(t *testing.T) {
			t.Parallel()
			got, err := sequential(archive, payload, withoutSeek)
			compareMalformed(t, c.Name, "sequential", got, err, c.Sequential)
		})
		t.Run(c.Name+"/random-access", func(t *testing.T) {
			t.Parallel()
			var got []line
			a, err := openBytes(archive, payload)
			if err == nil {
				got, err = access(a)
			}
			compareMalformed(t, c.Name, "random-access", got, err, c.Access)
		})
	}
}

func compareMalformed(t *testing.T, name, how string, got []line, err error, want malformedAnswer) {
	t.Helper()
	if err != nil && !errors.Is(err, ErrCorrupt) {
		t.Errorf("the error is not of the class ErrCorrupt: %v", err)
	}
	if why := better(name, how); why != "" {
		if err != nil {
			t.Errorf("an error where there should be none, because %s: %v", why, err)
		}
		return
	}
	crashed := strings.HasPrefix(want.Outcome, "crash")
	if (err != nil) != (want.Outcome != "ok") && (!crashed || !hasError(got)) {
		t.Errorf("error %v, and the original says %q", err, want.Outcome)
	}
	for i, w := range want.Entries {
		if w["more-lines"] != nil || crashed {
			return
		}
		if i >= len(got) {
			t.Fatalf("%d lines, want %d:\n%v", len(got), len(want.Entries), want.Entries[i:])
		}
		compareMalformedLine(t, normal(t, got[i]), w)
	}
	if len(got) != len(want.Entries) {
		t.Errorf("%d lines, want %d: %v", len(got), len(want.Entries), got)
	}
}

func hasError(lines []line) bool {
	for _, l := range lines {
		for key := range l {
			if strings.HasSuffix(key, "-error") {
				return true
			}
		}
	}
	return false
}

// compareMalformedLine looks at what the lists say, which is less than for good archives.
func compareMalformedLine(t *testing.T, got, want line) {
	t.Helper()
	short := want["content-bytes-read"] != nil // the original gives less than it promised, and we an error
	for key, w := range want {
		g := got[key]
		text, isText := w.(string)
		switch {
		case strings.HasSuffix(key, "-error"):
			if g == nil {
				t.Errorf("no %s in %v, want %v", key, got, w)
			}
		case short && key == "content-bytes-read":
			if got["content-error"] == nil {
				t.Errorf("no error where the content is short: %v", got)
			}
		case short && key == "sha256", key == "name", key == "xattrs" && len(fmt.Sprint(w)) < len(fmt.Sprint(g)), text == "device?", isText && strings.Contains(text, "...("):
		case key == "sha256":
			if !strings.HasPrefix(fmt.Sprint(g), text) {
				t.Errorf("sha256 %v, want %v", g, text)
			}
		case !reflect.DeepEqual(g, w):
			t.Errorf("%s: got %v, want %v", key, g, w)
		}
	}
}

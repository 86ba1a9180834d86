package datastore

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestASchemeIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, scheme := range []LockScheme{
		{Mode: LockLocal}, {Mode: LockLocal, OnlyHost: true}, {Mode: LockShared, Stale: time.Minute, RecheckDelay: time.Second}, {Mode: LockChanging},
	} {
		text, err := json.Marshal(schemeFile{schemeFormat, scheme})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parseScheme(text); err != nil || got != scheme {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func FuzzScheme(f *testing.F) {
	for _, seed := range []string{
		`{"format":1,"mode":"shared","stale-ns":60000000000}`, `{"format":1,"mode":"local","only-host":true}`, `{}`, ``, `null`, `{"format":1,"MODE":"local"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		scheme, err := parseScheme(text)
		if err != nil {
			return
		}
		if !strings.Contains(string(text), `1`) || scheme.validate() != nil {
			t.Errorf("%q: %+v", text, scheme)
		}
	})
}

func TestTheRefusalOnANetworkFileSystemNamesBothWaysOut(t *testing.T) {
	t.Parallel()
	text := errReach("/srv/store", "nfs").Error()
	for _, want := range []string{`"/srv/store"`, "nfs", "shared", "only host"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}

package backupinfo

import (
	"strings"
	"testing"
)

func TestTypesAreExactlyThreeInTheirOrder(t *testing.T) {
	t.Parallel()
	for _, want := range Types() {
		if got, err := ParseType(string(want)); err != nil || got != want {
			t.Errorf("ParseType(%q) = %q, %v", want, got, err)
		}
	}
	for _, bad := range []string{"", "VM", "vm ", "ns", "vmhost", "vm\x00"} {
		if got, err := ParseType(bad); err == nil {
			t.Errorf("ParseType(%q) = %q, want an error", bad, got)
		}
	}
}

func TestAuthIDsParseAsTheOriginalParsesThem(t *testing.T) {
	t.Parallel()
	type vector struct {
		Input   string `json:"input"`
		OK      bool   `json:"ok"`
		IsToken *bool  `json:"is-token"`
		Text    string `json:"to-string"`
	}
	for _, v := range vectors[struct {
		List []vector `json:"auth-id"`
	}](t, "parse.json").List {
		a, err := ParseAuthID(v.Input)
		if (err == nil) != v.OK {
			t.Errorf("ParseAuthID(%q): error %v, the original accepts: %v", v.Input, err, v.OK)
			continue
		}
		if v.OK && (a.String() != v.Text || a.IsToken() != *v.IsToken) {
			t.Errorf("ParseAuthID(%q) = %q, token %v, want %q, %v", v.Input, a, a.IsToken(), v.Text, *v.IsToken)
		}
	}
}

func TestAuthIDsFromAnEnemyAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "@pam", "@", "!", "root", "root@pam!", "root@pam!-x", "root@pam!a b", "a:b@pam", "a/b@pam",
		"a\x00b@pam", "a\u0085b@pam", "a\u2003b@pam", "a\xffb@pam", "root@.pam", "root@pam\x00",
		strings.Repeat("x", 300) + "@pam",
	} {
		if a, err := ParseAuthID(bad); err == nil {
			t.Errorf("ParseAuthID(%q) = %q, want an error", bad, a)
		}
	}
}

func TestAuthIDTakesItselfApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ id, user, token AuthID }{
		{"root@pam", "root@pam", ""},
		{"backup@pbs!client-1", "backup@pbs", "client-1"},
		{"us!er@pam", "us!er@pam", ""},
		{"a@b@pam!t", "a@b@pam", "t"},
		{"", "", ""},
	} {
		if _, err := ParseAuthID(c.id.String()); (err == nil) != (c.id != "") {
			t.Errorf("ParseAuthID(%q): %v", c.id, err)
		}
		if c.id.User() != c.user || c.id.Token() != string(c.token) || c.id.IsToken() != (c.token != "") {
			t.Errorf("%q: user %q, token %q, want %q, %q", c.id, c.id.User(), c.id.Token(), c.user, c.token)
		}
	}
}

func TestAnOwnerIsMatchedByItselfAndATokenByItsUser(t *testing.T) {
	t.Parallel()
	type vector struct {
		AuthID AuthID `json:"auth-id"`
		Owner  AuthID `json:"owner"`
		OK     bool   `json:"ok"`
	}
	for _, v := range vectors[struct {
		List []vector `json:"owner-check"`
	}](t, "parse.json").List {
		if got := v.AuthID.Matches(v.Owner); got != v.OK {
			t.Errorf("%q matches owner %q: %v, want %v", v.AuthID, v.Owner, got, v.OK)
		}
	}
}

func TestOwnerFileReadsBack(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"backup@pbs!client-1\n", "backup@pbs!client-1", "backup@pbs!client-1 \r\nrest"} {
		if a, err := ParseOwner([]byte(content)); err != nil || a != "backup@pbs!client-1" {
			t.Errorf("ParseOwner(%q) = %q, %v", content, a, err)
		}
	}
	if got := string(DefaultOwner.OwnerFile()); got != "root@pam\n" {
		t.Errorf("owner file is %q", got)
	}
	for _, bad := range []string{"", "\n", "\nroot@pam\n", "root\n", strings.Repeat(" ", 5000)} {
		if a, err := ParseOwner([]byte(bad)); err == nil {
			t.Errorf("ParseOwner(%.20q) = %q, want an error", bad, a)
		}
	}
}

func TestStoreNamesAreCheckedAsTheOriginalChecksThem(t *testing.T) {
	t.Parallel()
	type vector struct {
		Input string `json:"input"`
		OK    bool   `json:"ok"`
	}
	for _, v := range vectors[struct {
		List []vector `json:"datastore-name"`
	}](t, "parse.json").List {
		if err := CheckStoreName(v.Input); (err == nil) != v.OK {
			t.Errorf("CheckStoreName(%q): error %v, the original accepts: %v", v.Input, err, v.OK)
		}
	}
}

func TestFingerprintsParseAsTheOriginalParsesThem(t *testing.T) {
	t.Parallel()
	type vector struct {
		Input  string `json:"input"`
		Result *struct {
			Short     string `json:"short"`
			Signature string `json:"signature"`
		} `json:"result"`
	}
	for _, v := range vectors[struct {
		List []vector `json:"fingerprint"`
	}](t, "parse.json").List {
		f, err := ParseFingerprint(v.Input)
		if (err == nil) != (v.Result != nil) {
			t.Errorf("ParseFingerprint(%q): error %v, the original: %v", v.Input, err, v.Result)
			continue
		}
		if err == nil && (f.String() != v.Result.Signature || f.Short() != v.Result.Short) {
			t.Errorf("ParseFingerprint(%q) = %s, %s", v.Input, f, f.Short())
		}
	}
}

func TestErrorsQuoteALongInputOnlyInPart(t *testing.T) {
	t.Parallel()
	_, err := ParseNamespace("a\x1b[31m" + strings.Repeat("x", 1<<20))
	if err == nil || len(err.Error()) > 1000 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("error is %.200q", err)
	}
}

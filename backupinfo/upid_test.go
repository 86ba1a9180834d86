package backupinfo

import "testing"

func TestUPIDsParseAsTheOriginalParsesThem(t *testing.T) {
	t.Parallel()
	type vector struct {
		Input  string `json:"input"`
		Result struct {
			Error      string  `json:"error"`
			AuthID     AuthID  `json:"auth-id"`
			PID        uint32  `json:"pid"`
			Start      int64   `json:"starttime"`
			Text       string  `json:"to-string"`
			WorkerID   *string `json:"worker-id"`
			WorkerType string  `json:"worker-type"`
		} `json:"result"`
	}
	for _, v := range vectors[struct {
		List []vector `json:"upid"`
	}](t, "parse.json").List {
		u, err := ParseUPID(v.Input)
		if (err == nil) != (v.Result.Error == "") {
			t.Errorf("ParseUPID(%q): %v, the original: %q", v.Input, err, v.Result.Error)
			continue
		}
		if err != nil {
			continue
		}
		var id string
		if v.Result.WorkerID != nil {
			id = *v.Result.WorkerID
		}
		r := v.Result
		if u.AuthID != r.AuthID || u.PID != r.PID || u.Start != r.Start || u.WorkerType != r.WorkerType || u.WorkerID != id || u.String() != r.Text {
			t.Errorf("ParseUPID(%q) = %+v, printed %s", v.Input, u, u)
		}
	}
}

func TestUPIDsEscapeWhatTheyWorkOn(t *testing.T) {
	t.Parallel()
	u := UPID{Node: "pbs-1", PID: 1, ProcessStart: 1 << 40, TaskID: 1<<64 - 1, Start: 1 << 31, WorkerType: "verify", AuthID: DefaultOwner}
	for id, escaped := range map[string]string{
		"":                "",
		"golden:v-0001":   `golden\x3av\x2d0001`,
		"store:ns/vm/100": `store\x3ans-vm-100`,
		".hidden.file":    `\x2ehidden.file`,
		"ü and\n\\x":      `\xc3\xbc\x20and\x0a\x5cx`,
	} {
		u.WorkerID = id
		want := "UPID:pbs-1:00000001:10000000000:FFFFFFFFFFFFFFFF:80000000:verify:" + escaped + ":root@pam:"
		if u.String() != want {
			t.Errorf("printed %s, want %s", u, want)
		}
		if err := u.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestBadUPIDsAreRefused(t *testing.T) {
	t.Parallel()
	const good = "UPID:n:00000001:00000001:00000001:00000001:t:i:root@pam:"
	if _, err := ParseUPID(good); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "UPID", good + ":", good + "\n", " " + good,
		"UPID::00000001:00000001:00000001:00000001:t:i:root@pam:",
		"UPID:n-:00000001:00000001:00000001:00000001:t:i:root@pam:",
		"UPID:n:+0000001:00000001:00000001:00000001:t:i:root@pam:",
		"UPID:n:000000001:00000001:00000001:00000001:t:i:root@pam:",
		"UPID:n:0000000g:00000001:00000001:00000001:t:i:root@pam:",
		"UPID:n:00000001:00000001:00000000000000001:00000001:t:i:root@pam:",
		"UPID:n:00000001:00000001:00000001:00000001::i:root@pam:",
		"UPID:n:00000001:00000001:00000001:00000001:t:i j:root@pam:",
		`UPID:n:00000001:00000001:00000001:00000001:t:\x2:root@pam:`,
		`UPID:n:00000001:00000001:00000001:00000001:t:\xzz:root@pam:`,
		`UPID:n:00000001:00000001:00000001:00000001:t:\:root@pam:`,
		"UPID:n:00000001:00000001:00000001:00000001:t:i:root:",
	} {
		if u, err := ParseUPID(bad); err == nil {
			t.Errorf("ParseUPID(%q) = %+v", bad, u)
		}
	}
}

func TestAHandMadeUPIDMustReadBack(t *testing.T) {
	t.Parallel()
	good := UPID{Node: "n", WorkerType: "verify", AuthID: DefaultOwner}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, breakIt := range []func(*UPID){
		func(u *UPID) { u.Node = "" },
		func(u *UPID) { u.Start = -1 },
		func(u *UPID) { u.Start = 1 << 32 },
		func(u *UPID) { u.WorkerType = "a:b" },
		func(u *UPID) { u.AuthID = "" },
	} {
		bad := good
		breakIt(&bad)
		if err := bad.Validate(); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

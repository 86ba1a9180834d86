package backupinfo

import (
	"encoding/json"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

func FuzzParseManifest(f *testing.F) {
	for _, name := range []string{"manifest-typical.json", "manifest-unknown.json"} {
		f.Add(readTestdata(f, name))
	}
	for _, v := range vectors[manifestVectors](f, "manifest.json").Reading {
		f.Add([]byte(v.Text))
	}
	f.Add([]byte(strings.Repeat(`{"unprotected":[`, 20)))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseManifest(text)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatal("accepted what is not JSON")
		}
		first := mustMarshal(t, m)
		again := mustParse(t, first)
		if second := mustMarshal(t, again); first != second {
			t.Fatalf("written as\n%s\nthen as\n%s", first, second)
		}
		if m.Snapshot(Namespace{}) != again.Snapshot(Namespace{}) || m.Notes() != again.Notes() || len(m.Files()) != len(again.Files()) {
			t.Fatal("the manifest changed on the way through its text")
		}
		for i, file := range m.Files() {
			if !filepath.IsLocal(file.Name) || path.Base(file.Name) != file.Name || again.Files()[i] != file {
				t.Fatalf("file %q", file.Name)
			}
		}
		if err := again.SetNotes("n"); err == nil && mustParse(t, mustMarshal(t, again)).Notes() != "n" {
			t.Fatal("notes got lost")
		}
		m.VerifyState()
		_, _ = m.Fingerprint()
		_, _ = m.SigningBytes()
	})
}

func FuzzCanonicalJSON(f *testing.F) {
	for _, seed := range []string{`{"b":[1.5,1e300,-0,"\ud83d\ude00\u0000/"],"a":{}}`, `[18446744073709551616,0.000001]`, `"\"\\\b"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := CanonicalJSON(text)
		if err != nil {
			return
		}
		if !json.Valid(text) || !json.Valid(got) {
			t.Fatalf("%q became %q", text, got)
		}
		if again, err := CanonicalJSON(got); err != nil || string(again) != string(got) {
			t.Fatalf("%q became %q, %v", got, again, err)
		}
	})
}

func FuzzScannerAgreesWithEncodingJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0.5e+3,true,null,"x\u00e9"]}`, `[[[]]]`, `"\ud800"`, `01`, "\"\x7f\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := checkedJSON(text); err == nil && !json.Valid([]byte(text)) {
			t.Fatalf("accepted %q, which is not JSON", text)
		}
		var want string
		p := scanner{text: text}
		var got string
		if p.document(func() { got = p.string() }) == nil {
			if err := json.Unmarshal([]byte(text), &want); err != nil || got != want {
				t.Fatalf("%q is %q, want %q, %v", text, got, want, err)
			}
			var w printer
			if err := w.text(text); err != nil || json.Unmarshal(w.out, &want) != nil || want != got {
				t.Fatalf("%q was written as %q", got, w.out)
			}
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{
		"", "vm/100/2024-01-15T10:00:00Z", "ns/a/ns/b/ct/7/2024-02-31T10:00:00Z", "a/b/c/d/e/f/g", "ns/a/", "root.pxar", "data.img.didx",
		"index.json", "us!er@pam!tok.en-1_x", "1705312800", "2024-01-15T10:00:00-05:30", "0000-00-00T00:00:00Z",
		`UPID:golden:00000A1B:0001E240:00000001:65920080:verify:golden\x3avm-100:root@pam:`, "vm/\x00", "../../etc",
		"00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff:00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		readsBack(t, s, ParseNamespace, Namespace.String)
		readsBack(t, s, ParseNamespaceDir, Namespace.Dir)
		readsBack(t, s, ParseSnapshotDir, Snapshot.Dir)
		readsBack(t, s, func(s string) (Object, error) { return ParseObject(Namespace{}, s) }, Object.String)
		readsBack(t, s, ParseTime, Time.String)
		readsBack(t, s, ParseTimeLoose, Time.String)
		readsBack(t, s, ParseAuthID, AuthID.String)
		readsBack(t, s, ParseUPID, UPID.String)
		readsBack(t, s, ParseFingerprint, Fingerprint.String)
		readsBack(t, s, ParseFileName, ArchiveName.File)
		readsBack(t, s, ParseArchiveName, ArchiveName.Display)
		if snapshot, err := ParseSnapshotDir(s); err == nil && !filepath.IsLocal(snapshot.Dir()) {
			t.Fatalf("%q leads to %q", s, snapshot.Dir())
		}
		if a, err := ParseArchiveName(s); err == nil && (!filepath.IsLocal(a.File()) || path.Base(a.File()) != a.File()) {
			t.Fatalf("%q leads to %q", s, a.File())
		}
		_, _ = ParseOwner([]byte(s))
	})
}

// readsBack checks that what a parser makes of a text prints as a text of which
// it makes the same.
func readsBack[T comparable](t *testing.T, s string, parse func(string) (T, error), print func(T) string) {
	t.Helper()
	v, err := parse(s)
	if err != nil {
		if len(err.Error()) > 2000 {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
		return
	}
	if again, err := parse(print(v)); err != nil || again != v {
		t.Fatalf("%q became %+v, printed %q, became %+v, %v", s, v, print(v), again, err)
	}
}

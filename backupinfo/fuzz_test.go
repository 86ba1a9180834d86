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
		`UPID:golden:00000A1B:0001E240:00000001:65920080:verify:golden\x3avm-100:root@pam:`, "vm/\x00", "../../etc", "1y2m3d4h",
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
		readsBack(t, s, ParseSpan, Span.String)
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

// FuzzPrune makes a group and options of bytes.
func FuzzPrune(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, []byte{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
	f.Add([]byte("\x00\xff\x80\x01\x10\xf0 a longer one, of which some bytes are odd"), []byte{0, 3, 0, 2, 0, 0, 30})
	f.Fuzz(func(t *testing.T, snapshots, options []byte) {
		var list []PruneCandidate
		at := Time(1700000000)
		for _, b := range snapshots[:min(len(snapshots), 500)] {
			at += Time(b>>3) * 7200
			list = append(list, PruneCandidate{Snapshot{Time: at}, b&1 == 0, b&6 == 2, b&6 == 4})
		}
		o := append(options, make([]byte, 12)...)
		keep := KeepOptions{Last: int(o[0]), Hourly: int(o[1]), Daily: int(o[2]), Weekly: int(o[3]), Monthly: int(o[4]), Yearly: int(o[5])}
		counted := Prune(list, keep, nil)
		keep.Within, keep.WithinDaily, keep.WithinMonthly = Span{Hours: int(o[6])}, Span{Days: int(o[7])}, Span{Years: int(o[8])}
		checkPruned(t, list, keep, Prune(list, keep, nil), counted)
	})
}

func checkPruned(t *testing.T, list []PruneCandidate, keep KeepOptions, got, counted []Decision) {
	t.Helper()
	most, finished := keep.Last+keep.Hourly+keep.Daily+keep.Weekly+keep.Monthly+keep.Yearly, 0
	open := false // is there a snapshot that a rule could keep
	for i, d := range got {
		switch {
		case i > 0 && got[i-1].Snapshot.Time < d.Snapshot.Time, d.Mark == "", d.Keep() != (len(d.Reasons) > 0):
			t.Fatalf("%d: %+v", i, d)
		case counted[i].Keep() && !d.Keep():
			t.Fatalf("%d is kept without spans and not with them: %+v", i, d)
		case d.Protected != (d.Mark == MarkProtected), !d.Protected && d.Finished && d.Mark == MarkKeepPartial, d.Writing && !d.Finished && !d.Keep():
			t.Fatalf("%d: %+v", i, d)
		}
		if counted[i].Mark == MarkKeep {
			finished++
		}
		open = open || d.Finished && !d.Protected
	}
	if len(got) != len(list) || finished > most || open && most > 0 && finished == 0 {
		t.Fatalf("%d of %d snapshots, %d kept of %d possible", len(got), len(list), finished, most)
	}
}

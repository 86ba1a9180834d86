package backupinfo

import (
	"bytes"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/digest"
)

type manifestVectors struct {
	Cases []struct {
		Value       json.RawMessage
		Snapshot    string
		Signature   string
		Canonical   string `json:"canonical-utf8"`
		Signed      string `json:"pretty-signed"`
		Unsigned    string `json:"pretty-unsigned"`
		KeyIndex    int    `json:"key-index"`
		Fingerprint string `json:"key-fingerprint"`
	}
	RawKeys []string `json:"raw-keys"`
	Reading []struct {
		What     string
		Text     string
		NoKey    reading `json:"no-key"`
		RightKey reading `json:"right-key"`
	}
}

type reading struct {
	OK    bool
	Error string
	Again json.RawMessage `json:"reserialized"`
}

// signature is what the original writes with the given raw key.
func signature(t *testing.T, rawKey string, signed []byte) [32]byte {
	t.Helper()
	key, err := hex.DecodeString(rawKey)
	if err != nil {
		t.Fatal(err)
	}
	idKey, err := pbkdf2.Key(sha256.New, string(key), []byte("_id_key"), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, idKey)
	mac.Write(signed)
	return [32]byte(mac.Sum(nil))
}

func mustParse(tb testing.TB, text string) *Manifest {
	tb.Helper()
	m, err := ParseManifest([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func mustMarshal(tb testing.TB, m *Manifest) string {
	tb.Helper()
	text, err := m.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func TestManifestsAreWrittenAndSignedAsTheOriginalDoes(t *testing.T) {
	t.Parallel()
	all := vectors[manifestVectors](t, "manifest.json")
	for i, v := range all.Cases {
		for _, text := range []string{v.Signed, v.Unsigned, string(v.Value)} {
			m, err := ParseManifest([]byte(text))
			if hostile := strings.Contains(text, "😀"); (err != nil) != hostile {
				t.Fatalf("case %d: %v", i, err)
			} else if hostile {
				// A name that only the original's writer takes: the text must still be
				// written as it does it.
				m = &Manifest{text: text}
			}
			if got := mustMarshal(t, m); got != text && text != string(v.Value) || text == string(v.Value) && got != v.Signed {
				t.Errorf("case %d: written as\n%s\nfrom\n%s", i, got, text)
			}
			signed, err := m.SigningBytes()
			if err != nil || string(signed) != v.Canonical {
				t.Errorf("case %d: signed is\n%s, %v; want\n%s", i, signed, err, v.Canonical)
			}
			if mac := signature(t, all.RawKeys[v.KeyIndex], signed); hex.EncodeToString(mac[:]) != v.Signature {
				t.Errorf("case %d: signature is %x, want %s", i, mac, v.Signature)
			}
		}
	}
}

func TestSigningAnUnsignedManifestGivesTheOriginalsSignedOne(t *testing.T) {
	t.Parallel()
	all := vectors[manifestVectors](t, "manifest.json")
	for i, v := range all.Cases {
		m, err := ParseManifest([]byte(v.Unsigned))
		if err != nil {
			continue // the hostile one
		}
		signed, err := m.SigningBytes()
		if err != nil {
			t.Fatal(err)
		}
		f, err := ParseFingerprint(v.Fingerprint)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.SetFingerprint(f); err != nil {
			t.Fatal(err)
		}
		m.SetSignature(signature(t, all.RawKeys[v.KeyIndex], signed))
		if got, want := mustMarshal(t, m), v.Signed; got != want {
			t.Errorf("case %d: got\n%s\nwant\n%s", i, got, want)
		}
		if text, ok := m.Signature(); !ok || text != v.Signature {
			t.Errorf("case %d: signature is %q, %v", i, text, ok)
		}
	}
}

func TestManifestsAreReadAsTheOriginalReadsThem(t *testing.T) {
	t.Parallel()
	for _, v := range vectors[manifestVectors](t, "manifest.json").Reading {
		m, err := ParseManifest([]byte(v.Text))
		if (err == nil) != v.NoKey.OK {
			t.Errorf("%s: %v, the original: %q", v.What, err, v.NoKey.Error)
			continue
		}
		if err != nil {
			if !errors.Is(err, ErrManifest) {
				t.Errorf("%s: %v is no ErrManifest", v.What, err)
			}
			continue
		}
		checkSameFiles(t, v.What, m, v.NoKey.Again)
		if again := mustParse(t, mustMarshal(t, m)); !slices.Equal(again.Files(), m.Files()) {
			t.Errorf("%s: files change on the way through Marshal", v.What)
		}
	}
}

// checkSameFiles compares with what the original made of the same text, which
// drops unknown keys.
func checkSameFiles(t *testing.T, what string, m *Manifest, original json.RawMessage) {
	t.Helper()
	var want struct {
		Files []struct {
			Filename  string
			CryptMode CryptMode `json:"crypt-mode"`
			Size      uint64
			Checksum  string `json:"csum"`
		}
		Type Type   `json:"backup-type"`
		ID   string `json:"backup-id"`
		Time Time   `json:"backup-time"`
	}
	if err := json.Unmarshal(original, &want); err != nil {
		t.Fatal(err)
	}
	if got := m.Snapshot(Namespace{}); got != (Snapshot{Group{Type: want.Type, ID: want.ID}, want.Time}) {
		t.Errorf("%s: snapshot is %v", what, got)
	}
	files := m.Files()
	if len(files) != len(want.Files) {
		t.Fatalf("%s: %d files, want %d", what, len(files), len(want.Files))
	}
	for i, f := range files {
		if w := want.Files[i]; f.Name != w.Filename || f.CryptMode != w.CryptMode || f.Size != w.Size || f.Checksum.String() != w.Checksum {
			t.Errorf("%s: file %d is %+v, want %+v", what, i, f, w)
		}
	}
}

func TestSignaturesFailWhereTheOriginalsFail(t *testing.T) {
	t.Parallel()
	all := vectors[manifestVectors](t, "manifest.json")
	for _, v := range all.Reading {
		m, err := ParseManifest([]byte(v.Text))
		if err != nil {
			continue
		}
		text, ok := m.Signature()
		if !ok {
			continue
		}
		signed, err := m.SigningBytes()
		if err != nil {
			t.Fatal(err)
		}
		mac := signature(t, all.RawKeys[1], signed)
		if got := hex.EncodeToString(mac[:]) == text; got != v.RightKey.OK {
			t.Errorf("%s: the signature is right: %v, the original: %q", v.What, got, v.RightKey.Error)
		}
	}
}

const smallManifest = `{"backup-id":"100","backup-time":1705312800,"backup-type":"vm","files":[` +
	`{"crypt-mode":"none","csum":"0101010101010101010101010101010101010101010101010101010101010101","filename":"a.img.fidx","size":4},` +
	`{"csum":"0202020202020202020202020202020202020202020202020202020202020202","filename":"b.blob","size":5}` +
	`],"signature":null,"unprotected":{}}`

func TestBadManifestsAreRefusedWithTheirReason(t *testing.T) {
	t.Parallel()
	replace := func(from, to string) string {
		if !strings.Contains(smallManifest, from) {
			t.Fatalf("nothing to replace: %s", from)
		}
		return strings.Replace(smallManifest, from, to, 1)
	}
	for _, c := range []struct{ text, reason string }{
		{``, "ends"},
		{`null`, "'n'"},
		{`[]`, "'['"},
		{smallManifest + "x", "after the end"},
		{replace(`"backup-id":"100",`, ``), "backup id"},
		{replace(`"backup-type":"vm",`, ``), "backup type"},
		{replace(`"backup-time":1705312800,`, ``), "backup-time"},
		{replace(`"100"`, `100`), "'1'"},
		{replace(`"100"`, `"../x"`), `"../x"`},
		{replace(`"vm"`, `"VM"`), `"VM"`},
		{replace(`1705312800`, `"1705312800"`), "digit"},
		{replace(`1705312800`, `1705312800.0`), "integer"},
		{replace(`1705312800`, `1e9`), "integer"},
		{replace(`1705312800`, `253402300800`), "years"},
		{replace(`1705312800`, `99999999999999999999`), "integer"},
		{replace(`"size":4`, `"size":4.0`), "unsigned"},
		{replace(`"size":4`, `"size":18446744073709551616`), "unsigned"},
		{replace(`"size":4`, `"size":null`), "digit"},
		{replace(`,"size":4`, ``), "size is missing"},
		{replace(`"csum":"0101`, `"csum":"01`), "01"},
		{replace(`"csum":"01`, `"csum":"0g`), "0g"},
		{replace(`"csum":"0202020202020202020202020202020202020202020202020202020202020202",`, ``), `"b.blob": csum is missing`},
		{replace(`"filename":"b.blob",`, ``), "is empty"},
		{replace(`b.blob`, `../b.blob`), `"../b.blob"`},
		{replace(`b.blob`, `b\u0000.blob`), `"b\x00.blob"`},
		{replace(`b.blob`, `-b.blob`), `"-b.blob"`},
		{replace(`b.blob`, `owner`), `"owner"`},
		{replace(`b.blob`, `index.json.blob`), "manifest's own"},
		{replace(`b.blob`, `a.img.fidx`), "two files"},
		{replace(`"crypt-mode":"none"`, `"crypt-mode":null`), "'n'"},
		{replace(`"crypt-mode":"none"`, `"crypt-mode":""`), `""`},
		{replace(`"signature":null`, `"signature":1`), "'1'"},
		{replace(`"unprotected":{}`, `"unprotected":[]`), "'['"},
		{replace(`"unprotected":{}`, `"backup-id":"101"`), `duplicate key "backup-id"`},
		{replace(`"unprotected":{}`, `"unprotected":{"notes":"a","notes":"b"}`), `duplicate key "notes"`},
		{replace(`"unprotected":{}`, `"x":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)), "nested deeper"},
		{replace(`"100"`, "\"100\xff\""), "UTF-8"},
	} {
		m, err := ParseManifest([]byte(c.text))
		if !errors.Is(err, ErrManifest) || m != nil || !strings.Contains(fmt.Sprint(err), c.reason) {
			t.Errorf("%.200s\n  gives %v, want ErrManifest with %q", c.text, err, c.reason)
		}
	}
}

func TestAManifestThatIsTooLargeIsRefusedUnread(t *testing.T) {
	t.Parallel()
	if _, err := ParseManifest(make([]byte, MaxManifestSize+1)); !errors.Is(err, ErrManifest) || !strings.Contains(err.Error(), "larger") {
		t.Errorf("got %v", err)
	}
}

func TestManyFilesAreAcceptedAndTheirDuplicatesFound(t *testing.T) {
	t.Parallel()
	entry := func(i int) string {
		return fmt.Sprintf(`{"filename":"f%d.blob","size":0,"csum":"%064d"}`, i, i)
	}
	var entries []string
	for i := range 5000 {
		entries = append(entries, entry(i))
	}
	text := func() string {
		return `{"backup-id":"1","backup-time":1,"backup-type":"ct","files":[` + strings.Join(entries, ",") + `]}`
	}
	if m := mustParse(t, text()); len(m.Files()) != 5000 {
		t.Errorf("%d files", len(m.Files()))
	}
	entries = append(entries, entry(7))
	if _, err := ParseManifest([]byte(text())); err == nil || !strings.Contains(err.Error(), `"f7.blob"`) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNotKnownSurvivesARewrite(t *testing.T) {
	t.Parallel()
	m := mustParse(t, string(readTestdata(t, "manifest-unknown.json")))
	if err := m.SetNotes("new\nnotes"); err != nil {
		t.Fatal(err)
	}
	if got, want := mustMarshal(t, m), string(readTestdata(t, "manifest-unknown.want.json")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNotesComeAndGo(t *testing.T) {
	t.Parallel()
	m := mustParse(t, smallManifest)
	before := mustMarshal(t, m)
	const notes = "first \"line\"\nsecond <line> & \u2028 😀 \\ \x01"
	if err := m.SetNotes(notes); err != nil {
		t.Fatal(err)
	}
	if again := mustParse(t, mustMarshal(t, m)); m.Notes() != notes || again.Notes() != notes {
		t.Errorf("notes are %q, then %q", m.Notes(), again.Notes())
	}
	if !strings.Contains(mustMarshal(t, m), `<line> & `+"\u2028 😀") {
		t.Error("notes are escaped more than the original escapes them")
	}
	if err := m.SetNotes(""); err != nil || mustMarshal(t, m) != before {
		t.Errorf("%v, and removed notes leave a trace: %s", err, mustMarshal(t, m))
	}
	if err := m.SetNotes("\xff"); err == nil || mustMarshal(t, m) != before {
		t.Errorf("notes that are not UTF-8: %v", err)
	}
}

func TestUnprotectedMayBeMissingOrNull(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Replace(smallManifest, `"unprotected":{}`, `"unprotected":null`, 1),
		strings.Replace(smallManifest, `,"unprotected":{}`, ``, 1),
	} {
		m := mustParse(t, text)
		if f, err := m.Fingerprint(); f != nil || err != nil || m.Notes() != "" || m.VerifyState() != nil || m.Unprotected("x") != nil {
			t.Errorf("%s has something in it", text)
		}
		if got := mustParse(t, mustMarshal(t, m)); !slices.Equal(got.Files(), m.Files()) {
			t.Errorf("%s does not come back", text)
		}
		if err := m.SetNotes("x"); err != nil || mustParse(t, mustMarshal(t, m)).Notes() != "x" {
			t.Errorf("%s takes no notes: %v", text, err)
		}
	}
}

func TestVerifyStateComesAndGoes(t *testing.T) {
	t.Parallel()
	m := mustParse(t, smallManifest)
	v := VerifyState{VerifyOK, UPID{Node: "n", Start: 1705312800, WorkerType: "verify", WorkerID: "s:vm/100", AuthID: DefaultOwner}}
	if err := m.SetVerifyState(v); err != nil {
		t.Fatal(err)
	}
	if got := mustParse(t, mustMarshal(t, m)).VerifyState(); got == nil || *got != v {
		t.Errorf("got %+v, want %+v", got, v)
	}
	for _, bad := range []VerifyState{{}, {"maybe", v.UPID}, {VerifyOK, UPID{}}} {
		if err := m.SetVerifyState(bad); err == nil || *m.VerifyState() != v {
			t.Errorf("%+v was accepted: %v", bad, err)
		}
	}
}

func TestAVerifyStateThatDoesNotReadAsOneCountsAsNone(t *testing.T) {
	t.Parallel()
	for _, state := range []string{
		`null`, `1`, `"ok"`, `{}`, `{"state":"ok"}`, `{"state":1,"upid":"x"}`, `{"state":"ok","upid":"x"}`,
		`{"state":"good","upid":"UPID:n:00000001:00000001:00000001:00000001:t:i:root@pam:"}`,
		`{"upid":"UPID:n:00000001:00000001:00000001:00000001:t:i:root@pam:"}`,
	} {
		m := mustParse(t, strings.Replace(smallManifest, `"unprotected":{}`, `"unprotected":{"verify_state":`+state+`}`, 1))
		if got := m.VerifyState(); got != nil {
			t.Errorf("%s reads as %+v", state, got)
		}
	}
}

func TestAFingerprintThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`""`, `"00"`, `1`, `{}`, `"zz"`} {
		m := mustParse(t, strings.Replace(smallManifest, `"unprotected":{}`, `"unprotected":{"key-fingerprint":`+value+`}`, 1))
		if f, err := m.Fingerprint(); err == nil || f != nil {
			t.Errorf("%s reads as %v", value, f)
		}
	}
	m := mustParse(t, strings.Replace(smallManifest, `"unprotected":{}`, `"unprotected":{"key-fingerprint":null}`, 1))
	if f, err := m.Fingerprint(); err != nil || f != nil {
		t.Errorf("null reads as %v, %v", f, err)
	}
}

func TestAnEmptySignatureIsNotNoSignature(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{`null`: false, `""`: true, `"zz"`: true} {
		m := mustParse(t, strings.Replace(smallManifest, `"signature":null`, `"signature":`+value, 1))
		if _, ok := m.Signature(); ok != want {
			t.Errorf("signature %s counts as one: %v", value, ok)
		}
	}
	if _, ok := mustParse(t, strings.Replace(smallManifest, `"signature":null,`, ``, 1)).Signature(); ok {
		t.Error("a missing signature counts as one")
	}
}

func TestAValueOfTheUnprotectedPartKeepsItsNumbers(t *testing.T) {
	t.Parallel()
	m := mustParse(t, smallManifest)
	const big = `{"n":123456789012345678901234567890,"f":1.10}`
	if err := m.SetUnprotected("x", json.RawMessage(big)); err != nil {
		t.Fatal(err)
	}
	m = mustParse(t, mustMarshal(t, m))
	if err := m.SetUnprotected("other", map[string]any{"count": uint64(1<<64 - 1)}); err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, m.Unprotected("x")); err != nil || compact.String() != `{"f":1.10,"n":123456789012345678901234567890}` {
		t.Errorf("got %s, %v", compact.String(), err)
	}
	for _, bad := range []any{make(chan int), json.RawMessage(`{`), json.RawMessage(strings.Repeat("[", 40) + strings.Repeat("]", 40)), json.RawMessage(`{"a":1,"a":2}`)} {
		before := mustMarshal(t, m)
		if err := m.SetUnprotected("bad", bad); err == nil || mustMarshal(t, m) != before {
			t.Errorf("%T: %v", bad, err)
		}
	}
	if err := m.SetUnprotected("\xff", 1); err == nil {
		t.Error("a key that is not UTF-8 was accepted")
	}
}

func TestANewManifestIsThatOfTheOriginal(t *testing.T) {
	t.Parallel()
	v := vectors[manifestVectors](t, "manifest.json").Cases[0]
	s, err := ParseSnapshot(Namespace{"a"}, v.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewManifest(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range mustParse(t, v.Unsigned).Files() {
		if err := m.AddFile(f); err != nil {
			t.Fatal(err)
		}
	}
	want := mustParse(t, v.Unsigned)
	if err := errors.Join(want.SetNotes(""), want.SetUnprotected(keyVerifyState, nil)); err != nil {
		t.Fatal(err)
	}
	if got := mustMarshal(t, m); got != mustMarshal(t, want) {
		t.Errorf("got\n%s\nwant\n%s", got, mustMarshal(t, want))
	}
	if m.Snapshot(s.Group.Namespace) != s || m.Check(s) != nil {
		t.Errorf("it is of %v", m.Snapshot(s.Group.Namespace))
	}
	if _, err := NewManifest(Snapshot{}); err == nil {
		t.Error("a manifest of nothing was made")
	}
}

func TestAddFileRefusesWhatMustNotBeCreated(t *testing.T) {
	t.Parallel()
	m := mustParse(t, smallManifest)
	m.SetSignature([32]byte{1})
	before := mustMarshal(t, m)
	for _, bad := range []File{
		{},
		{Name: "x"},
		{Name: "../x.blob"},
		{Name: "a b.blob"},
		{Name: `a".blob`},
		{Name: ManifestName},
		{Name: "a.img.fidx"},
		{Name: "c.blob", CryptMode: "signed"},
	} {
		if err := m.AddFile(bad); err == nil || mustMarshal(t, m) != before {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if err := m.AddFile(File{Name: "c.blob", Size: 1<<64 - 1, Checksum: digest.Of(nil)}); err != nil {
		t.Fatal(err)
	}
	if _, signed := m.Signature(); signed {
		t.Error("the signature outlived the change")
	}
	again := mustParse(t, mustMarshal(t, m))
	if f, ok := again.File("c.blob"); !ok || f != (File{"c.blob", CryptNone, 1<<64 - 1, digest.Of(nil)}) || len(again.Files()) != 3 {
		t.Errorf("got %+v of %+v", f, again.Files())
	}
}

func TestFilesBelongToTheCaller(t *testing.T) {
	t.Parallel()
	m := mustParse(t, smallManifest)
	m.Files()[0].Name = "changed"
	if m.Files()[0].Name != "a.img.fidx" {
		t.Error("the manifest changed with the caller's slice")
	}
	text := []byte(smallManifest)
	m, err := ParseManifest(text)
	clear(text)
	if err != nil || m.Files()[1].Name != "b.blob" {
		t.Error("the manifest changed with the caller's text")
	}
}

func TestFindTakesEveryNameThatAUserMayMean(t *testing.T) {
	t.Parallel()
	m := mustParse(t, smallManifest)
	for _, name := range []string{"only.didx", "data.img.didx", "two.fidx", "two.didx", "both.img.fidx", "both.img.didx"} {
		if err := m.AddFile(File{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"a.img": "a.img.fidx", "a.img.fidx": "a.img.fidx", "b": "b.blob", "only": "only.didx", "data.img": "data.img.didx",
		"two.fidx": "two.fidx", "both.img": "both.img.fidx",
	} {
		if f, err := m.Find(name); err != nil || f.Name != want {
			t.Errorf("Find(%q) = %q, %v; want %q", name, f.Name, err, want)
		}
	}
	for _, name := range []string{"", "two", "nothing.img", "index.json", "../a.img"} {
		_, err := m.Find(name)
		var missing *FileNotFoundError
		if !errors.As(err, &missing) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "a.img.fidx") {
			t.Errorf("Find(%q): %v", name, err)
		}
	}
}

func TestAManifestInAnotherSnapshotsDirectoryIsNoticed(t *testing.T) {
	t.Parallel()
	m := mustParse(t, smallManifest)
	good := Snapshot{Group{Namespace{"a"}, VM, "100"}, 1705312800}
	if err := m.Check(good); err != nil {
		t.Error(err)
	}
	for _, other := range []Snapshot{
		{Group{Namespace{"a"}, CT, "100"}, 1705312800},
		{Group{Namespace{"a"}, VM, "0100"}, 1705312800},
		{Group{Namespace{"a"}, VM, "100"}, 1705312801},
	} {
		if err := m.Check(other); !errors.Is(err, ErrManifest) {
			t.Errorf("Check(%v): %v", other, err)
		}
	}
}

func TestARewriteThatWouldBeTooLargeStops(t *testing.T) {
	t.Parallel()
	m := mustParse(t, smallManifest)
	size := len(mustMarshal(t, m))
	if _, err := m.marshal(size); err != nil {
		t.Error(err)
	}
	if text, err := m.marshal(size - 1); !errors.Is(err, errLarge) || text != nil {
		t.Errorf("got %d bytes, %v", len(text), err)
	}
}

func TestIndentationDoesNotMultiplyAHostileText(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat("[", 30) + strings.Repeat("1,", 10000) + "1" + strings.Repeat("]", 30)
	w := printer{pretty: true, limit: 2 * len(nested)}
	// What is open is still closed, so a few lines come after the limit.
	if err := w.text(nested); !errors.Is(err, errLarge) || len(w.out) > w.limit+32*100 {
		t.Errorf("stopped after %d bytes: %v", len(w.out), err)
	}
}

func TestAValueThatNestsTooDeepForItsManifestIsRefused(t *testing.T) {
	t.Parallel()
	m := mustParse(t, smallManifest)
	nested := func(depth int) json.RawMessage {
		return json.RawMessage(strings.Repeat("[", depth) + strings.Repeat("]", depth))
	}
	if err := m.SetUnprotected("x", nested(maxJSONDepth-1)); err == nil {
		t.Error("a value was accepted that the manifest could not be read with")
	}
	if err := m.SetUnprotected("x", nested(maxJSONDepth-2)); err != nil {
		t.Error(err)
	}
	mustParse(t, mustMarshal(t, m))
}

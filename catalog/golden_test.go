package catalog

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func testFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

type line struct {
	Path     string
	PathHex  string `json:"path-hex"`
	Type     string
	Start    uint64
	Size     uint64
	Mtime    int64
	DirError string `json:"dir-error"`
}

func lines[T any](t testing.TB, text []byte) (out []T) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var l T
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

func (l line) path(t testing.TB) string {
	t.Helper()
	if l.PathHex == "" {
		return l.Path
	}
	path, err := hex.DecodeString(l.PathHex)
	if err != nil {
		t.Fatal(err)
	}
	return string(path)
}

func (l line) matches(t testing.TB, f Found) bool {
	t.Helper()
	return l.path(t) == f.Path && l.Type == string(rune(f.Kind)) && l.Size == f.Size && l.Mtime == f.ModTime && l.Start == f.block
}

func golden() []string {
	return strings.Fields("empty types names meta dirs big hardlinks exclude flags")
}

func open(data []byte) (*Reader, error) { return Open(bytes.NewReader(data), int64(len(data))) }

func TestReaderGivesTheListOfEveryGoldenCatalog(t *testing.T) {
	t.Parallel()
	for _, name := range golden() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := lines[line](t, testFile(t, "v1-"+name+".catalog.jsonl"))
			r, err := open(testFile(t, name+".pcat1"))
			if err != nil {
				t.Fatal(err)
			}
			i := 0
			for found, err := range r.All() {
				if err != nil {
					t.Fatal(err)
				}
				if i >= len(want) || !want[i].matches(t, found) {
					t.Fatalf("entry %d: got %+v", i, found)
				}
				i++
			}
			if i != len(want) {
				t.Errorf("%d entries, want %d", i, len(want))
			}
		})
	}
}

// rewrite writes what a walk finds.
func rewrite(r *Reader) ([]byte, error) {
	var out bytes.Buffer
	w, err := NewWriter(&out)
	if err != nil {
		return nil, err
	}
	depth := 0
	for found, err := range r.All() {
		if err != nil {
			return nil, err
		}
		for ; depth >= strings.Count(found.Path, "/"); depth-- {
			err = errors.Join(err, w.End())
		}
		if found.Kind == Directory {
			depth++
			err = errors.Join(err, w.Begin(found.Name))
		} else {
			err = errors.Join(err, w.Add(found.Entry))
		}
		if err != nil {
			return nil, err
		}
	}
	for ; depth > 0; depth-- {
		err = errors.Join(err, w.End())
	}
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

func TestWriterGivesTheBytesOfEveryGoldenCatalog(t *testing.T) {
	t.Parallel()
	for _, name := range golden() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := testFile(t, name+".pcat1")
			r, err := open(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := rewrite(r)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("got %d bytes, want %d: %v", len(got), len(want), err)
			}
		})
	}
}

type malformed struct {
	Name, Desc, Outcome string
	Hex                 *string
	Entries             []line
}

func (m malformed) bytes(t testing.TB) []byte {
	t.Helper()
	if m.Hex == nil {
		return testFile(t, m.Name+".pcat1")
	}
	data, err := hex.DecodeString(*m.Hex)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestMalformedCatalogsAreTakenAndRefusedLikeByTheOriginal(t *testing.T) {
	t.Parallel()
	for _, c := range lines[malformed](t, testFile(t, "malformed-catalogs.jsonl")) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			var got []Found
			r, err := open(c.bytes(t))
			if err == nil {
				for found, walkErr := range r.All() {
					if walkErr != nil {
						err = walkErr
						continue
					}
					got = append(got, found)
				}
			}
			bad := c.Outcome != "ok"
			var want []line
			for _, l := range c.Entries {
				if l.DirError == "" {
					want = append(want, l)
				} else {
					bad = true
				}
			}
			if (err != nil) != bad || err != nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("error %v, the original says %q", err, c.Outcome)
			}
			if c.Outcome == "ok" && !strings.Contains(c.Name, "4095") {
				compare(t, got, want)
			}
		})
	}
}

func compare(t *testing.T, got []Found, want []line) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for i, w := range want {
		if !w.matches(t, got[i]) {
			t.Errorf("%+v, want %+v", got[i], w)
		}
	}
}

func TestNumbersAreWrittenAndReadAsByTheOriginal(t *testing.T) {
	t.Parallel()
	type encoded struct{ Hex, Value string }
	var vectors struct {
		Ints  []encoded `json:"encode_i64"`
		Uints []encoded `json:"encode_u64"`
		Raw   []struct {
			Hex, I64, U64    string
			I64Left, U64Left int
		} `json:"decode_raw"`
	}
	if err := json.Unmarshal(bytes.ReplaceAll(testFile(t, "catalog-ints.json"), []byte("64-left"), []byte("64Left")), &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors.Ints {
		n, _ := strconv.ParseInt(v.Value, 10, 64)
		if got := hex.EncodeToString(appendInt(nil, n)); got != v.Hex {
			t.Errorf("%d: %s, want %s", n, got, v.Hex)
		}
	}
	for _, v := range vectors.Uints {
		n, _ := strconv.ParseUint(v.Value, 10, 64)
		if got := hex.EncodeToString(appendUint(nil, n)); got != v.Hex {
			t.Errorf("%d: %s, want %s", n, got, v.Hex)
		}
	}
	for _, v := range vectors.Raw {
		raw, _ := hex.DecodeString(v.Hex)
		r := bytes.NewReader(raw)
		n, err := readUint(r)
		compareNumber(t, v.Hex+" unsigned", strconv.FormatUint(n, 10), err, r.Len(), v.U64, v.U64Left)
		r = bytes.NewReader(raw)
		i, err := readInt(r)
		compareNumber(t, v.Hex+" signed", strconv.FormatInt(i, 10), err, r.Len(), v.I64, v.I64Left)
	}
	if len(vectors.Ints) < 10 || len(vectors.Uints) < 10 || len(vectors.Raw) < 10 {
		t.Error("vectors are missing")
	}
}

func compareNumber(t *testing.T, what, got string, err error, left int, want string, wantLeft int) {
	t.Helper()
	if strings.HasPrefix(want, "error") {
		if err == nil {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
		return
	}
	if err != nil || got != want || left != wantLeft {
		t.Errorf("%s: %s, %v, %d left; want %s, %d left", what, got, err, left, want, wantLeft)
	}
}

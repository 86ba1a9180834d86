package backupinfo

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCanonicalJSONIsThatOfTheOriginal(t *testing.T) {
	t.Parallel()
	type vector struct {
		Input     string `json:"input"`
		Canonical struct {
			OK    *string `json:"ok"`
			Error string  `json:"error"`
		} `json:"canonical"`
	}
	for _, v := range vectors[struct {
		List []vector `json:"canonical-json"`
	}](t, "manifest.json").List {
		got, err := CanonicalJSON([]byte(v.Input))
		if (err == nil) != (v.Canonical.OK != nil) {
			t.Errorf("CanonicalJSON(%q): %v, the original: %q", v.Input, err, v.Canonical.Error)
			continue
		}
		if err == nil && string(got) != *v.Canonical.OK {
			t.Errorf("CanonicalJSON(%q)\n got %q\nwant %q", v.Input, got, *v.Canonical.OK)
		}
	}
}

func TestCanonicalNumbersAreIntegersToTheLetterAndShortestFloats(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "-0": "-0.0", "-1": "-1", "9223372036854775808": "9223372036854775808",
		"18446744073709551615": "18446744073709551615", "18446744073709551616": "1.8446744073709552e19",
		"-9223372036854775808": "-9223372036854775808", "-9223372036854775809": "-9.223372036854776e18",
		"1e15": "1000000000000000.0", "1e16": "1e16", "1.5e16": "1.5e16", "123456789012345.67": "123456789012345.67",
		"0.00001": "0.00001", "0.000001": "1e-6", "-0.0000015": "-1.5e-6", "5e-324": "5e-324", "1.7976931348623157e308": "1.7976931348623157e308",
		"1E+2": "100.0", "0.0": "0.0", "0e5": "0.0", "1e-400": "0.0",
	} {
		if got, err := CanonicalJSON([]byte(text)); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", text, got, err, want)
		}
	}
	if got, err := CanonicalJSON([]byte("1e999")); err == nil {
		t.Errorf("1e999 is %s", got)
	}
}

func TestTheScannerAcceptsWhatIsJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		` { } `, `[1,-0,0.5,1e5,1E-5,-1.5e+5]`, "\t[true,\r\nfalse,null]\n", `"\"\\\/\b\f\n\r\t\u00e4\uD83D\uDE00"`, `"ä😀"`,
		`{"a":{"a":1},"b":[{"a":1},{"a":2}]}`, strings.Repeat("[", maxJSONDepth) + strings.Repeat("]", maxJSONDepth),
	} {
		value, err := checkedJSON(text)
		if err != nil || value != strings.TrimSpace(text) || !json.Valid([]byte(text)) {
			t.Errorf("%q: %q, %v", text, value, err)
		}
	}
}

func TestTheScannerRefusesWhatIsNot(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, ` `, `{`, `}`, `[`, `[1,]`, `[,1]`, `[1 2]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{1:1}`, `{"a":1 "b":2}`, `[}`, `{]`,
		`01`, `-`, `+1`, `.5`, `1.`, `1e`, `1e+`, `--1`, `0x10`, `NaN`, `Infinity`, `tru`, `nul`, `nulll`, `True`, `truefalse`,
		`"`, `"a`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\uD83D"`, `"\uD83Dx"`, `"\uD83D\u0041"`, `"\uDE00"`, `"\uD83D\uD83D"`,
		"\"\n\"", "\"\x00\"", "\"\xff\"", "\"\xed\xa0\x80\"", "\xef\xbb\xbf{}", "1 2", "{}x", "{}\x00", "\x00", "'a'", "// a\n1",
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `[{"b":{"a":1,"b":2,"a":3}}]`, manyKeys(40, 39), strings.Repeat("[", maxJSONDepth+1) + strings.Repeat("]", maxJSONDepth+1),
		strings.Repeat("[", 1<<20),
	} {
		if value, err := checkedJSON(text); err == nil {
			t.Errorf("%.60q was accepted as %.60q", text, value)
		}
	}
	if _, err := checkedJSON(manyKeys(40, 40)); err != nil {
		t.Error(err)
	}
}

// manyKeys makes an object with so many keys, of which so many are different.
func manyKeys(keys, different int) string {
	var b strings.Builder
	for i := range keys {
		b.WriteString(`,"k` + strings.Repeat("x", i%different) + `":1`)
	}
	return "{" + b.String()[1:] + "}"
}

func TestDuplicateKeysOfTheOuterObjectAreFoundPastLargeInnerOnes(t *testing.T) {
	t.Parallel()
	inner := manyKeys(40, 40)
	if _, err := checkedJSON(`{"b":` + inner + `,"a":` + inner + `}`); err != nil {
		t.Error(err)
	}
	if _, err := checkedJSON(`{"b":` + inner + `,"a":1,"b":2}`); err == nil {
		t.Error("a duplicate key was accepted")
	}
}

// checkedJSON returns the one value of the text without the white space around it.
func checkedJSON(text string) (value string, err error) {
	p := scanner{text: text}
	err = p.document(func() { value = p.value() })
	return value, err
}

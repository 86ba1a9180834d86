package keys

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	rest     = `"created":"2024-01-15T10:00:00+00:00","modified":"2024-01-15T10:00:00+00:00"`
	rawData  = `"data":"pjD5m15KdxkyZMMHfw8UgzWB/bohhZwjOTj5Eh0ZP0M="`
	sealData = `"data":"XaBdzirB3bV3LPp5vOYnEME48Az1oewsdLcnSvRAibaSYuKmqJbq66akFSXVmmPzk3mmgYmtGH9gg8EgxT3M/g=="`
)

func scryptFile(n, r, p string) string {
	return fmt.Sprintf(`{"kdf":{"Scrypt":{"n":%s,"r":%s,"p":%s,"salt":"c2FsdA=="}},%s,%s}`, n, r, p, rest, sealData)
}

func pbkdf2File(iterations string) string {
	return fmt.Sprintf(`{"kdf":{"PBKDF2":{"iter":%s,"salt":"c2FsdA=="}},%s,%s}`, iterations, rest, sealData)
}

func TestWhatIsNoKeyFileIsRefused(t *testing.T) {
	t.Parallel()
	plain := `{"kdf":null,` + rest + `,` + rawData + `}`
	with := func(old, replacement string) string {
		if !strings.Contains(plain, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(plain, old, replacement, 1)
	}
	parse(t, []byte(plain))
	for what, text := range map[string]string{
		"nothing":                       "",
		"no object":                     `[]`,
		"null":                          `null`,
		"the raw key":                   "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f",
		"half of it":                    plain[:len(plain)/2],
		"no end":                        plain[:len(plain)-1],
		"something behind":              plain + `{}`,
		"a member without name":         `{1:2}`,
		"a comma too many":              with(`"}`, `",}`),
		"not UTF-8":                     with(`null`, "null,\"hint\":\"\xff\""),
		"no created":                    with(`"created"`, `"x"`),
		"no modified":                   with(`"modified"`, `"x"`),
		"no data":                       with(`"data"`, `"x"`),
		"names in other case":           with(`"data"`, `"Data"`),
		"data twice":                    with(`"}`, `",`+rawData+`}`),
		"kdf twice":                     with(`"kdf":null`, `"kdf":null,"kdf":null`),
		"data is null":                  with(rawData, `"data":null`),
		"data is a number":              with(rawData, `"data":1`),
		"data of 31 bytes":              with(rawData, `"data":"pjD5m15KdxkyZMMHfw8UgzWB/bohhZwjOTj5Eh0ZPw=="`),
		"data of a sealed key":          with(rawData, sealData),
		"data with a line end":          with(`"pjD5`, `"\npjD5`),
		"data without padding":          with(`P0M=`, `P0M`),
		"data with bits left":           with(`P0M=`, `P0N=`),
		"created is a number":           with(`"2024-01-15T10:00:00+00:00"`, `1705312800`),
		"created without zone":          with(`10:00:00+00:00`, `10:00:00`),
		"created with a fraction":       with(`10:00:00+00:00`, `10:00:00.5Z`),
		"created on 30 February":        with(`2024-01-15`, `2024-02-30`),
		"created with one digit":        with(`T10:00:00`, `T1:000:00`),
		"fingerprint too short":         with(`"}`, `","fingerprint":"7b:b4"}`),
		"fingerprint no hex":            with(`"}`, `","fingerprint":"`+strings.Repeat("xx", 32)+`"}`),
		"hint is a number":              with(`"}`, `","hint":1}`),
		"kdf is a text":                 with(`null`, `"Scrypt"`),
		"kdf is empty":                  with(`null`, `{}`),
		"kdf of an unknown kind":        with(`null`, `{"Argon2":{}}`),
		"kdf of two kinds":              strings.Replace(pbkdf2File("1"), `"PBKDF2"`, `"Scrypt":{"n":2,"r":1,"p":1,"salt":""},"PBKDF2"`, 1),
		"kdf twice the same":            strings.Replace(pbkdf2File("1"), `"PBKDF2"`, `"PBKDF2":{"iter":1,"salt":""},"PBKDF2"`, 1),
		"kdf is null inside":            with(`null`, `{"Scrypt":null}`),
		"raw data under a kdf":          strings.Replace(pbkdf2File("1"), sealData, rawData, 1),
		"no salt":                       strings.Replace(pbkdf2File("1"), `"salt"`, `"x"`, 1),
		"a long salt":                   strings.Replace(pbkdf2File("1"), `c2FsdA==`, strings.Repeat("AAAA", maxSalt), 1),
		"iter 0":                        pbkdf2File("0"),
		"iter negative":                 pbkdf2File("-1"),
		"iter a fraction":               pbkdf2File("1.5"),
		"iter with exponent":            pbkdf2File("1e3"),
		"iter as text":                  pbkdf2File(`"1"`),
		"iter more than bearable":       pbkdf2File("10000001"),
		"iter beyond all":               pbkdf2File("99999999999999999999999"),
		"n 0":                           scryptFile("0", "8", "1"),
		"n 1":                           scryptFile("1", "8", "1"),
		"n no power of two":             scryptFile("65535", "8", "1"),
		"r 0":                           scryptFile("65536", "0", "1"),
		"p 0":                           scryptFile("65536", "8", "0"),
		"512 MiB by n":                  scryptFile("524288", "8", "1"),
		"512 MiB by r":                  scryptFile("65536", "64", "1"),
		"512 MiB by r alone":            scryptFile("2", "2097152", "1"),
		"256 MiB by p":                  scryptFile("2", "1", "2097152"),
		"much work by p":                scryptFile("65536", "8", "9"),
		"n that overflows":              scryptFile("9223372036854775808", "2", "1"),
		"r that overflows":              scryptFile("2", "18446744073709551615", "1"),
		"p that overflows":              scryptFile("2", "1", "18446744073709551615"),
		"r that overflows to 2":         scryptFile("2", "9223372036854775809", "1"),
		"p that overflows to 2":         scryptFile("2", "1", "9223372036854775809"),
		"a product that overflows":      scryptFile("4294967296", "4294967296", "1"),
		"more than a key file can have": plain + strings.Repeat(" ", MaxFileSize),
		"deep nesting":                  `{"x":` + strings.Repeat("[", 20000),
	} {
		f, err := ParseFile([]byte(text))
		if !errors.Is(err, ErrFile) || f != nil {
			t.Errorf("%s: %v, %v", what, f, err)
			continue
		}
		if message := err.Error(); len(message) > 300 || strings.Contains(message, "pjD5") || strings.Contains(message, "\n") {
			t.Errorf("%s: the message is %q", what, message)
		}
	}
}

func TestWhatTheOriginalReadsIsRead(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{
		"no kdf":                       `{` + rest + `,` + rawData + `}`,
		"null where nothing has to be": `{"kdf":null,` + rest + `,` + rawData + `,"fingerprint":null,"hint":null}`,
		"an unknown member":            `{"kdf":null,` + rest + `,` + rawData + `,"x":{"y":[1,null]}}`,
		"another order, white space":   "\n{ " + rawData + ` , "kdf" : null ,` + rest + "}\n",
		"a time in UTC":                `{"kdf":null,` + strings.ReplaceAll(rest, "+00:00", "Z") + `,` + rawData + `}`,
		"the fingerprint in upper case, without colons": `{"kdf":null,` + rest + `,` + rawData +
			`,"fingerprint":"7BB45F30E046F43EDB9F3F3F52A4C8DB2637B0E763C9A0E5063AEB45F599DCF8"}`,
	} {
		f, err := ParseFile([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		k, err := f.Unlock(nil)
		if err != nil || k.Fingerprint() != k1(t).Fingerprint() || f.Created().Unix() != 1705312800 {
			t.Errorf("%s: %v, %v", what, k, err)
		}
	}
	for what, text := range map[string]string{
		"four times the default": scryptFile("262144", "8", "1"),
		"in eight rounds":        scryptFile("65536", "8", "8"),
		"many rounds":            pbkdf2File("10000000"),
	} {
		if _, err := ParseFile([]byte(text)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The slowest that a file may ask for is a matter of seconds, not minutes, on any
// machine that tests run on.
func TestTheDearestFileUnlocksInBearableTime(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, text := range []string{scryptFile("262144", "8", "2"), pbkdf2File("10000000")} {
		begin := time.Now()
		if _, err := parse(t, []byte(text)).Unlock([]byte("passphrase")); !errors.Is(err, ErrWrongPassphrase) {
			t.Error(err)
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%s: %v", text, took)
		}
	}
}

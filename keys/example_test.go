package keys_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/keys"
)

func Example() {
	text := []byte(`{"kdf":{"PBKDF2":{"iter":65535,"salt":"Y7lOCcFIdU/C+6M2WMDgRWVdDiOtUOoo9l13Lg3nH30="}},` +
		`"created":"2026-11-30T07:25:08+00:00","modified":"2026-11-30T07:25:08+00:00",` +
		`"data":"zDmo1N3W431BZHqa4rG5mclR64X3OV6LgG4NWpFRiMWzJz5pOUzNWXgl9tS97AESjF5s2kV3BOOLAHB/rpQ4KQ=="}`)
	file, err := keys.ParseFile(text)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := file.Unlock([]byte("guessed")); errors.Is(err, keys.ErrWrongPassphrase) {
		fmt.Println(err)
	}
	key, err := file.Unlock([]byte("golden-pbkdf2-pass"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(key)

	encoder, decoder := blob.NewEncoder(), blob.NewDecoder()
	defer encoder.Close()
	defer decoder.Close()
	stored, err := encoder.EncodeEncrypted(nil, []byte("hello"), key.AEAD())
	if err != nil {
		log.Fatal(err)
	}
	data, err := decoder.DecodeWithKey(nil, stored, 100, key.AEAD())
	fmt.Println(string(data), key.Digest(data), err)
	// Output:
	// wrong passphrase
	// key a2:0a:bf:2a:69:2d:9d:f4
	// hello 17d42d906aeffdb30a946f2b480e615c59180510fe2d0d7fd2dbd265a164abe9 <nil>
}

func ExampleNewFile() {
	key, err := keys.Generate()
	if err != nil {
		log.Fatal(err)
	}
	file, err := keys.NewFile(key, []byte("correct horse"), keys.FileOptions{
		Hint: "the usual one", Now: time.Date(2026, 1, 15, 3, 0, 0, 0, time.UTC),
	})
	if err != nil {
		log.Fatal(err)
	}
	text, err := file.Marshal() // to be written with mode 0600
	fmt.Println(len(text) > 300, file.KDF(), file.Hint(), file.Created(), err)
	// Output: true scrypt the usual one 2026-01-15 03:00:00 +0000 UTC <nil>
}

func ExampleKey_CheckFingerprint() {
	key, err := keys.New([32]byte{1})
	if err != nil {
		log.Fatal(err)
	}
	other := [32]byte{0xff}
	fmt.Println(key.CheckFingerprint(key.Fingerprint()))
	fmt.Println(key.CheckFingerprint(other))
	key = nil
	fmt.Println(key.CheckFingerprint(other))
	// Output:
	// <nil>
	// wrong key: made with key ff:00:00:00:00:00:00:00, and the key at hand is 86:5b:c9:95:5e:7b:90:4d
	// missing key: made with key ff:00:00:00:00:00:00:00
}

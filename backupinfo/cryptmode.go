package backupinfo

import "fmt"

// CryptMode is how the data of a file is protected. The zero value, as in old
// manifests without the field, means CryptNone.
type CryptMode string

// The modes that the format knows.
const (
	CryptNone     CryptMode = "none"
	CryptEncrypt  CryptMode = "encrypt"   // data encrypted, manifest signed
	CryptSignOnly CryptMode = "sign-only" // data plain, manifest signed
)

// ParseCryptMode accepts exactly "none", "encrypt" and "sign-only".
func ParseCryptMode(s string) (CryptMode, error) {
	switch m := CryptMode(s); m {
	case CryptNone, CryptEncrypt, CryptSignOnly:
		return m, nil
	}
	return "", fmt.Errorf("crypt mode %s: must be none, encrypt or sign-only", quote(s))
}

package keys

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// maxPEM bounds a master key's text, because checking a huge one takes long. RSA
// with 16,384 bits fits.
const maxPEM = 16 << 10

// ParseMasterPublicKey reads the public master key: PEM, PUBLIC KEY or RSA PUBLIC
// KEY. Errors unwrap to ErrFile.
func ParseMasterPublicKey(text []byte) (*rsa.PublicKey, error) {
	block, err := decodePEM(text)
	if err != nil {
		return nil, fmt.Errorf("public master key: %w", err)
	}
	var key any
	switch block.Type {
	case "PUBLIC KEY":
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		key, err = x509.ParsePKCS1PublicKey(block.Bytes)
	default:
		return nil, fmt.Errorf("public master key: %w: PEM of a %.32q", ErrFile, block.Type)
	}
	public, ok := key.(*rsa.PublicKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("public master key: %w: no RSA key", ErrFile)
	}
	return public, nil
}

// ParseMasterPrivateKey reads the private master key: PEM, ENCRYPTED PRIVATE KEY as
// the original writes it, PRIVATE KEY or RSA PRIVATE KEY. The passphrase matters for
// the first alone. The error is ErrWrongPassphrase or unwraps to ErrFile.
func ParseMasterPrivateKey(text, passphrase []byte) (*rsa.PrivateKey, error) {
	block, err := decodePEM(text)
	if err != nil {
		return nil, fmt.Errorf("private master key: %w", err)
	}
	der := block.Bytes
	if block.Type == "ENCRYPTED PRIVATE KEY" {
		if der, err = decryptPKCS8(der, passphrase); err != nil {
			return nil, fmt.Errorf("private master key: %w", err)
		}
	}
	var key any
	switch block.Type {
	case "PRIVATE KEY", "ENCRYPTED PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(der)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(der)
	default:
		return nil, fmt.Errorf("private master key: %w: PEM of a %.32q", ErrFile, block.Type)
	}
	private, ok := key.(*rsa.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("private master key: %w: no RSA key", ErrFile)
	}
	return private, nil
}

// NeedsMasterPassphrase reports whether [ParseMasterPrivateKey] needs a passphrase
// for this text.
func NeedsMasterPassphrase(text []byte) bool {
	block, err := decodePEM(text)
	return err == nil && block.Type == "ENCRYPTED PRIVATE KEY"
}

func decodePEM(text []byte) (*pem.Block, error) {
	if len(text) > maxPEM {
		return nil, fmt.Errorf("%w: %d bytes, %d are allowed", ErrFile, len(text), maxPEM)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%w: not PEM", ErrFile)
	}
	return block, nil
}

// EncryptForMaster returns a copy of the file that only the owner of the private
// master key can read, as it goes into each encrypted backup. Who has that key shall
// need nothing else: use a file without passphrase, see [File.ChangePassphrase].
//
// It fails when the JSON is longer than the master key can hold, which is 11 bytes
// less than its modulus.
func (f *File) EncryptForMaster(master *rsa.PublicKey) ([]byte, error) {
	text, err := f.Marshal()
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 the format has this padding
	copied, err := rsa.EncryptPKCS1v15(rand.Reader, master, text) //nolint:staticcheck // the format has this padding
	if errors.Is(err, rsa.ErrMessageTooLong) {
		return nil, fmt.Errorf("copy a key for the master key: its file of %d bytes is too long for RSA with %d bits", len(text), master.N.BitLen())
	}
	if err != nil {
		return nil, fmt.Errorf("copy a key for the master key: %w", err)
	}
	return copied, nil
}

// DecryptWithMaster reads a copy that [File.EncryptForMaster] made. The error
// unwraps to ErrWrongMasterKey, or to ErrFile when what comes out is no key file.
func DecryptWithMaster(copied []byte, master *rsa.PrivateKey) (*File, error) {
	// Without options this is PKCS #1 v1.5. Whoever has the private key is the one
	// who asks, so that nobody learns from failures.
	text, err := master.Decrypt(nil, copied, nil)
	if err != nil {
		return nil, ErrWrongMasterKey
	}
	return ParseFile(text)
}

// Package keys holds the keys of encrypted backups: the files in which they are
// kept, what is done with them, and the copy for the owner of a master key.
//
// There are two types:
//
//   - [Key]: 32 secret bytes, ready for use. It encrypts blobs ([Key.AEAD]), names
//     chunks ([Key.Digest]), and signs manifests ([Key.Sign], [Key.Verify])
//   - [File]: a key as it is kept, under a passphrase or not
//
// From file to use:
//
//	file, err := keys.ParseFile(text)
//	if err != nil {
//		return err
//	}
//	key, err := file.Unlock(passphrase) // ErrWrongPassphrase, …
//	if err != nil {
//		return err
//	}
//	stored, err := encoder.EncodeEncrypted(nil, data, key.AEAD())
//	name := key.Digest(data)
//
// Files and everything derived from a key are those of Proxmox Backup, and are
// tested against what its own code made:
//
//	id key       PBKDF2-HMAC-SHA256(key, "_id_key", 10 rounds)
//	digest       SHA-256(data ‖ id key)
//	signature    HMAC-SHA256 under the id key
//	fingerprint  SHA-256(SHA-256("Proxmox Backup Encryption Key Fingerprint") ‖ id key)
//
// Three things that go wrong are three errors: a passphrase that does not open the
// file ([ErrWrongPassphrase], [ErrShortPassphrase]), a key that is another one than
// was used ([*WrongKeyError]), and no key where one was used ([*MissingKeyError]).
//
// No error, no text form and no verb of package fmt shows a secret. A file that
// somebody else made costs a bounded amount of time and memory to unlock.
//
// What is not promised: the package touches no file, and who may read one is for
// the caller to see to (mode 0600). Secrets in memory are not wiped. There is no way
// to get the 32 bytes out of a Key, but those who can read a File without
// passphrase have them.
package keys

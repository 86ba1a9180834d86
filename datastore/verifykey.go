package datastore

import (
	"errors"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/keys"
)

// authenticate gives the reader the key, if the snapshot was made with it. A
// signature that is wrong is damage.
func (v *verification) authenticate(reader *SnapshotReader, verdict *SnapshotVerdict) {
	verdict.Verdict = VerdictOK
	signature, err := authenticate(reader.manifest, v.opts.Key)
	if err != nil && !errors.Is(err, ErrCorrupt) {
		signature, err = SignatureUnchecked, nil // it is of another key
	}
	verdict.Signature = signature
	if err != nil {
		verdict.Verdict, verdict.Err = VerdictFailed, err
		return
	}
	named, err := namedKey(reader.manifest)
	if v.opts.Key != nil && (signature == SignatureOK || err == nil && named != nil && *named == v.opts.Key.Fingerprint()) {
		reader.key, reader.signature = v.opts.Key, signature
	}
}

// examinerFor gives the examiner for an archive, and lets the other ones go without their buffers meanwhile.
func (v *verification) examinerFor(reader *SnapshotReader, file backupinfo.File) *examiner {
	use := v.plain
	switch {
	case file.CryptMode != backupinfo.CryptEncrypt:
	case reader.key != nil:
		use = v.keyed
	default:
		use = v.sealed
	}
	for _, e := range v.examiners() {
		if e != use {
			e.rest()
		}
	}
	return use
}

// kindOfKey is what it means to be proven with a key, for proofs.
func kindOfKey(key *keys.Key) []byte {
	if key == nil {
		return []byte("key")
	}
	fingerprint := key.Fingerprint()
	return append([]byte("key "), fingerprint[:]...)
}

package datastore

import (
	"errors"

	"github.com/pbs-like/pbs-like/backupinfo"
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

// examinerFor gives the examiner for an archive, and lets the other one go without its buffers meanwhile.
func (v *verification) examinerFor(reader *SnapshotReader, file backupinfo.File) *examiner {
	use, other := v.plain, v.keyed
	if reader.key != nil && file.CryptMode == backupinfo.CryptEncrypt {
		use, other = other, use
	}
	other.rest()
	return use
}

package datastore

import (
	"encoding/json"
	"slices"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/keys"
)

// keyVerdictName is where the unprotected part of a manifest says that its snapshot
// was found good with its key. The verdict of the original can't say that, and a
// server leaves other entries alone.
const keyVerdictName = "pbs-like-verified-with-key"

// keyVerdict is the JSON of that entry.
type keyVerdict struct {
	Fingerprint string `json:"key-fingerprint"`
	UPID        string `json:"upid"`
}

// setKeyVerdict notes what a verification with the snapshot's key found good. One
// that failed takes that away: what is mended later was not read with the key.
func setKeyVerdict(manifest *backupinfo.Manifest, state backupinfo.VerifyState, key *keys.Key) error {
	switch {
	case state.State != backupinfo.VerifyOK:
		return manifest.SetUnprotected(keyVerdictName, nil)
	case key != nil:
		fingerprint := backupinfo.Fingerprint(key.Fingerprint()).String()
		return manifest.SetUnprotected(keyVerdictName, keyVerdict{Fingerprint: fingerprint, UPID: state.UPID.String()})
	}
	return nil
}

// verifiedWithKey tells with which key a snapshot was found good, and when. What does not read as that is none.
func verifiedWithKey(manifest *backupinfo.Manifest) *KeyVerification {
	var found keyVerdict
	if text := manifest.Unprotected(keyVerdictName); text == nil || json.Unmarshal(text, &found) != nil {
		return nil
	}
	upid, err := backupinfo.ParseUPID(found.UPID)
	if err != nil {
		return nil
	}
	return &KeyVerification{Fingerprint: found.Fingerprint, UPID: upid}
}

// lastVerification is the last time that a snapshot was found good, as far as the
// key at hand proves it, or found wrong; 0 for never. One of the future, of a clock
// that was wrong, is as good as none: nobody knows when it was, and it would stay recent until then.
func (v *verification) lastVerification(info SnapshotInfo) (start int64, good bool) {
	if start, good = v.recordedVerification(info); start > v.start.Unix() {
		return 0, false
	}
	return start, good
}

// recordedVerification is what the manifest says of that. What was made with the key
// is good only where it was read with the key.
func (v *verification) recordedVerification(info SnapshotInfo) (start int64, good bool) {
	last := info.Verification
	if last == nil {
		return 0, false
	}
	if last.State != backupinfo.VerifyOK || !v.provenByKey(info) {
		return last.UPID.Start, last.State == backupinfo.VerifyOK
	}
	with := info.VerifiedWithKey
	if with == nil || with.Fingerprint != backupinfo.Fingerprint(v.opts.Key.Fingerprint()).String() {
		return 0, false
	}
	return with.UPID.Start, true
}

// provenByKey tells whether the key at hand, if there is one, says more about a
// snapshot than can be known without. A manifest may name no key and be signed.
func (v *verification) provenByKey(info SnapshotInfo) bool {
	if v.opts.Key == nil {
		return false
	}
	if info.Fingerprint != "" {
		return info.Fingerprint == backupinfo.Fingerprint(v.opts.Key.Fingerprint()).String()
	}
	return slices.ContainsFunc(info.Files, func(f FileInfo) bool { return f.Crypt != nil && *f.Crypt != backupinfo.CryptNone })
}

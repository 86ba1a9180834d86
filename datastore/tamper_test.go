package datastore_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/keys"
)

func TestAManifestThatWasChangedIsRefusedWithItsKey(t *testing.T) {
	t.Parallel()
	key := testKey(t, 1)
	for name, test := range map[string]struct {
		from, to string
		want     error
	}{
		"another size":          {`"size": 9437184`, `"size": 9437185`, datastore.ErrCorrupt},
		"another mode":          {`"encrypt"`, `"none"`, datastore.ErrCorrupt},
		"another signature":     {`"signature": "`, `"signature": "0`, datastore.ErrCorrupt},
		"a key of no form":      {`"key-fingerprint": "`, `"key-fingerprint": "x`, datastore.ErrCorrupt},
		"no key, another size":  {`"size": 9437184`, `"size": 9437185`, keys.ErrSignature},
		"something unprotected": {`"unprotected": {`, `"unprotected": {"x": 1,`, nil},
		"no signature":          {`"signature": "`, `"signature": null, "was": "`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			store.Damaged = true
			var notices []string
			ds := store.Open(datastore.Options{Events: datastore.Events{Notice: func(n datastore.Notice) { notices = append(notices, n.Text) }}})
			snapshot, _ := backUpWith(t, ds, store.Group("vm/100"), datastore.BackupOptions{Time: first, Key: key}, image(t, "xs64:1:9M"))
			text := bytes.Replace(manifestText(t, store, snapshot), []byte(test.from), []byte(test.to), 1)
			if name == "no key, another size" {
				text = bytes.Replace(text, []byte(`"key-fingerprint"`), []byte(`"no-fingerprint"`), 1)
			}
			putManifest(t, store, snapshot, text)
			_, err := readWith(t, ds, snapshot, "a.img", key)
			if !errors.Is(err, test.want) || errors.Is(err, blob.ErrWrongKey) {
				t.Errorf("%v, not %v", err, test.want)
			}
			if name == "no signature" && len(notices) == 0 {
				t.Error("nobody is told")
			}
			if test.want != nil && test.want != keys.ErrSignature {
				report, err := ds.Verify(t.Context(), datastore.VerifyOptions{Depth: -1, Key: key, DryRun: true})
				if err != nil || report.Verdicts[datastore.VerdictFailed] != 1 {
					t.Errorf("%+v, %v", report, err)
				}
			}
		})
	}
}

func TestNotesAndVerdictsLeaveTheSignatureGood(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds, key := store.Open(datastore.Options{}), testKey(t, 1)
	snapshot, _ := backUpWith(t, ds, store.Group("vm/100"), datastore.BackupOptions{Time: first, Key: key}, []byte("x"))
	if err := ds.SetNotes(t.Context(), object(t, snapshot.String()), "new\n\"notes\""); err != nil {
		t.Fatal(err)
	}
	checkVerdict(t, ds, key, false, datastore.SignatureOK)
	if _, err := readWith(t, ds, snapshot, "a.img", key); err != nil {
		t.Error(err)
	}
	golden := testds.Golden(t, "store").Open(datastore.Options{})
	k1 := goldenKey(t, "k1-plain.json")
	old, err := backupinfo.ParseSnapshot(backupinfo.Namespace{}, "vm/101/2024-02-01T12:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	if err := golden.SetNotes(t.Context(), object(t, old.String()), "new"); err != nil {
		t.Fatal(err)
	}
	if _, err := readWith(t, golden, old, "drive-scsi0.img", k1); err != nil {
		t.Error(err)
	}
}

// TestDamageToEncryptedDataIsNeverAccepted flips a bit in each part of a chunk.
func TestDamageToEncryptedDataIsNeverAccepted(t *testing.T) {
	t.Parallel()
	key := testKey(t, 1)
	for part, at := range map[string]int{"magic": 1, "CRC": 9, "IV": 15, "tag": 30, "data": 100} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			store.Damaged = true
			ds, data := store.Open(datastore.Options{}), image(t, "xs64:1:3M")
			snapshot, _ := backUpWith(t, ds, store.Group("vm/100"), datastore.BackupOptions{Time: first, Key: key}, data)
			for _, path := range append(allChunks(t, store), filepath.Join(store.Dir, snapshot.Dir(), "d.conf.blob")) {
				stored := readFile(t, path)
				stored[at] ^= 4
				put(t, path, string(stored))
			}
			for _, name := range fourArchives {
				if _, err := readWith(t, ds, snapshot, name, key); !errors.Is(err, datastore.ErrCorrupt) {
					t.Errorf("%s: %v", name, err)
				}
			}
			report, err := ds.Verify(t.Context(), datastore.VerifyOptions{Depth: -1, Key: key})
			if err != nil || report.Verdicts[datastore.VerdictFailed] != 1 {
				t.Errorf("%+v, %v", report, err)
			}
			// The failed one is no base, and what it damaged is stored anew.
			again, _ := backUpWith(t, ds, store.Group("vm/100"), datastore.BackupOptions{Time: second, Key: key}, data)
			for _, name := range fourArchives {
				if got, err := readWith(t, ds, again, name, key); err != nil || !bytes.Equal(got, data) {
					t.Errorf("%s of the next backup: %d bytes, %v", name, len(got), err)
				}
			}
		})
	}
}

func TestACopyOfTheKeyGoesAlong(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds, key := store.Open(datastore.Options{}), testKey(t, 1)
	snapshot, _ := backUpWith(t, ds, store.Group("vm/100"), datastore.BackupOptions{Time: first, Key: key, KeyCopy: []byte("the copy")}, []byte("x"))
	for _, with := range []*keys.Key{nil, key} {
		if got, err := readWith(t, ds, snapshot, datastore.KeyCopyName, with); err != nil || string(got) != "the copy" {
			t.Errorf("%q, %v", got, err)
		}
	}
	checkVerdict(t, ds, key, false, datastore.SignatureOK)
	w, err := ds.Backup(t.Context(), store.Group("vm/100"), datastore.BackupOptions{Time: second, Key: key, KeyCopy: []byte("the copy")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.AddBlob(t.Context(), archive(t, datastore.KeyCopyName), bytes.NewReader(nil)); !errors.Is(err, datastore.ErrExists) {
		t.Error(err)
	}
}

// TestAnEncryptedChunkInAnArchiveThatIsNotEncryptedIsDamage: nobody can read it as what it is named.
func TestAnEncryptedChunkInAnArchiveThatIsNotEncryptedIsDamage(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	store.Damaged = true
	ds, data := store.Open(datastore.Options{}), image(t, "xs64:1:3M")
	plain := store.Backup("vm/100", first, data)
	chunk := theChunk(t, store)
	key := testKey(t, 1)
	backUpWith(t, ds, store.Group("vm/200"), datastore.BackupOptions{Time: first, Key: key}, data)
	for _, other := range allChunks(t, store) {
		if other != chunk {
			put(t, chunk, string(readFile(t, other)))
		}
	}
	for _, opts := range []datastore.VerifyOptions{{Depth: -1, DryRun: true}, {Depth: -1, DryRun: true, Key: key}, {Depth: -1}} {
		_, verdicts := verify(t, store, opts)
		for _, v := range verdicts {
			if (v.Verdict == datastore.VerdictFailed) != (v.Snapshot == plain) {
				t.Errorf("%+v", v)
			}
		}
	}
	again := store.Backup("vm/100", second, data)
	if !bytes.Equal(store.Restore(again, "disk.img"), data) {
		t.Error("the next backup has not stored it anew")
	}
	if report, _ := verify(t, store, allSnapshots); report.Verdicts[datastore.VerdictOK] != 3 || report.Encrypted == 0 {
		t.Errorf("%+v", report)
	}
}

// TestWithAKeyOnlyWhatWasVerifiedWithItIsPassedOver verifies without the key, with
// it, and with another one, and what each of them may pass over afterwards.
func TestWithAKeyOnlyWhatWasVerifiedWithItIsPassedOver(t *testing.T) {
	t.Parallel()
	right, wrong := testKey(t, 1), testKey(t, 2)
	for name, test := range map[string]struct {
		mode    backupinfo.CryptMode
		unnamed bool      // the manifest names no key, as those of old servers do
		before  *keys.Key // of the verification before
		skipped map[*keys.Key]bool
	}{
		"encrypted, without":        {mode: backupinfo.CryptEncrypt, skipped: map[*keys.Key]bool{nil: true, right: false, wrong: true}},
		"encrypted, with":           {mode: backupinfo.CryptEncrypt, before: right, skipped: map[*keys.Key]bool{nil: true, right: true, wrong: true}},
		"encrypted, with another":   {mode: backupinfo.CryptEncrypt, before: wrong, skipped: map[*keys.Key]bool{nil: true, right: false, wrong: true}},
		"signed, without":           {mode: backupinfo.CryptSignOnly, skipped: map[*keys.Key]bool{nil: true, right: false, wrong: true}},
		"signed, with":              {mode: backupinfo.CryptSignOnly, before: right, skipped: map[*keys.Key]bool{nil: true, right: true, wrong: true}},
		"signed, unnamed, without":  {mode: backupinfo.CryptSignOnly, unnamed: true, skipped: map[*keys.Key]bool{nil: true, right: false, wrong: false}},
		"neither, without":          {mode: backupinfo.CryptNone, skipped: map[*keys.Key]bool{nil: true, right: true, wrong: true}},
		"neither, with the useless": {mode: backupinfo.CryptNone, before: right, skipped: map[*keys.Key]bool{nil: true, right: true, wrong: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := testds.New(t)
			ds := store.Open(datastore.Options{})
			opts := datastore.BackupOptions{Time: first, Key: right, CryptMode: test.mode}
			if test.mode == backupinfo.CryptNone {
				opts.Key = nil
			}
			snapshot, _ := backUpWith(t, ds, store.Group("vm/100"), opts, []byte("x"))
			if test.unnamed {
				putManifest(t, store, snapshot, bytes.Replace(manifestText(t, store, snapshot), []byte(`"key-fingerprint"`), []byte(`"was"`), 1))
			}
			verdictWith(t, ds, datastore.VerifyOptions{Key: test.before}, datastore.VerdictOK)
			for key, skipped := range test.skipped {
				want := map[bool]datastore.Verdict{true: datastore.VerdictRecent, false: datastore.VerdictOK}[skipped]
				verdictWith(t, ds, datastore.VerifyOptions{Key: key, SkipVerified: true, DryRun: true}, want)
				verdictWith(t, ds, datastore.VerifyOptions{Key: key, OutdatedAfter: time.Hour, DryRun: true}, want)
			}
		})
	}
}

func verdictWith(t *testing.T, ds *datastore.Datastore, opts datastore.VerifyOptions, want datastore.Verdict) {
	t.Helper()
	opts.Depth = -1
	report, err := ds.Verify(t.Context(), opts)
	if err != nil || report.Verdicts[want] != 1 {
		t.Errorf("%+v, %v; want %s", report.Verdicts, err, want)
	}
}

func TestAFailureTakesAwayThatSomethingWasGoodWithItsKey(t *testing.T) {
	t.Parallel()
	store := testds.New(t)
	ds, key := store.Open(datastore.Options{}), testKey(t, 1)
	opts := datastore.BackupOptions{Time: first, Key: key}
	snapshot, _ := backUpWith(t, ds, store.Group("vm/100"), opts, image(t, "xs64:1:50000"))
	verdictWith(t, ds, datastore.VerifyOptions{Key: key}, datastore.VerdictOK)
	path := filepath.Join(store.Dir, snapshot.Dir(), "a.img.fidx")
	good := readFile(t, path)
	put(t, path, "garbage")
	store.Damaged = true
	verdictWith(t, ds, datastore.VerifyOptions{}, datastore.VerdictFailed)
	put(t, path, string(good))
	verdictWith(t, ds, datastore.VerifyOptions{}, datastore.VerdictOK)
	verdictWith(t, ds, datastore.VerifyOptions{SkipVerified: true}, datastore.VerdictRecent)
	verdictWith(t, ds, datastore.VerifyOptions{Key: key, SkipVerified: true}, datastore.VerdictOK)
	info, err := ds.Snapshot(t.Context(), snapshot)
	if err != nil || info.VerifiedWithKey == nil || info.VerifiedWithKey.Fingerprint != info.Fingerprint || info.VerifiedWithKey.UPID.Start == 0 {
		t.Errorf("%+v, %v", info.VerifiedWithKey, err)
	}
}

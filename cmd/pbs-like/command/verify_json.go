package command

import (
	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// verdictJSON is the result for one snapshot.
type verdictJSON struct {
	ID        string               `json:"backup-id"`
	Time      int64                `json:"backup-time"`
	Type      backupinfo.Type      `json:"backup-type"`
	Encrypted bool                 `json:"encrypted"`
	Error     string               `json:"error,omitempty"`
	Files     []archiveVerdictJSON `json:"files"` // those with something wrong
	Namespace string               `json:"ns,omitempty"`
	Resumed   int                  `json:"resumed-chunks"` // proven by a run that was cut off
	Signature datastore.Signature  `json:"signature,omitempty"`
	Skipped   int                  `json:"skipped-chunks"` // not chosen for the sample
	State     datastore.Verdict    `json:"state"`
}

type archiveVerdictJSON struct {
	Damaged []damagedJSON `json:"damaged"` // the first ones
	Error   string        `json:"error,omitempty"`
	Name    string        `json:"filename"`
	Lost    int           `json:"lost-chunks"`
	Unread  int           `json:"unread-chunks"`
}

type damagedJSON struct {
	Digest string `json:"digest"`
	End    uint64 `json:"end"`
	Error  string `json:"error,omitempty"`
	Lost   bool   `json:"lost"`
	Start  uint64 `json:"start"`
}

func newVerdictJSON(v datastore.SnapshotVerdict) any {
	out := verdictJSON{
		ID: v.Snapshot.Group.ID, Time: int64(v.Snapshot.Time), Type: v.Snapshot.Group.Type, Namespace: v.Snapshot.Group.Namespace.String(),
		Encrypted: v.Encrypted, Error: errorText(v.Err), Files: []archiveVerdictJSON{}, Signature: v.Signature, Skipped: v.Skipped, State: v.Verdict,
		Resumed: v.Resumed,
	}
	for _, a := range v.Archives {
		archive := archiveVerdictJSON{Damaged: []damagedJSON{}, Error: errorText(a.Err), Name: a.Name, Lost: a.Lost, Unread: a.Unread}
		for _, d := range a.Damaged {
			archive.Damaged = append(archive.Damaged, damagedJSON{d.Digest.String(), d.End, errorText(d.Err), d.Lost, d.Start})
		}
		out.Files = append(out.Files, archive)
	}
	return out
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

package command

import (
	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// The JSON forms, with the keys that users of Proxmox Backup know. Times are
// seconds since 1970, sizes bytes. Fields stand in alphabetical order, as the
// original prints them.

type groupJSON struct {
	Count      int             `json:"backup-count"`
	ID         string          `json:"backup-id"`
	Type       backupinfo.Type `json:"backup-type"`
	Comment    string          `json:"comment,omitempty"`
	Files      []string        `json:"files"`
	LastBackup int64           `json:"last-backup"`
	Namespace  string          `json:"ns,omitempty"`
	Owner      string          `json:"owner,omitempty"`
}

func newGroupJSON(g datastore.GroupInfo) any {
	return groupJSON{
		Count:      g.Count,
		ID:         g.Group.ID,
		Type:       g.Group.Type,
		Comment:    g.Comment,
		Files:      append([]string{}, g.Files...), // an array, never null
		LastBackup: int64(g.LastBackup),
		Namespace:  g.Group.Namespace.String(),
		Owner:      g.Owner.String(),
	}
}

type snapshotJSON struct {
	ID           string            `json:"backup-id"`
	Time         int64             `json:"backup-time"`
	Type         backupinfo.Type   `json:"backup-type"`
	Comment      string            `json:"comment,omitempty"`
	Files        []fileJSON        `json:"files"`
	Fingerprint  string            `json:"fingerprint,omitempty"`
	Namespace    string            `json:"ns,omitempty"`
	Owner        string            `json:"owner,omitempty"`
	Protected    bool              `json:"protected"`
	Reason       string            `json:"protected-reason,omitempty"`
	Until        int64             `json:"protected-until,omitempty"`
	Size         *uint64           `json:"size,omitempty"`
	Verification *verificationJSON `json:"verification,omitempty"`
}

type verificationJSON struct {
	State string `json:"state"`
	UPID  string `json:"upid"`
}

type fileJSON struct {
	Crypt *backupinfo.CryptMode `json:"crypt-mode,omitempty"`
	Name  string                `json:"filename"`
	Size  *uint64               `json:"size,omitempty"`
}

func newSnapshotJSON(s datastore.SnapshotInfo) any {
	out := snapshotJSON{
		ID:          s.Snapshot.Group.ID,
		Time:        int64(s.Snapshot.Time),
		Type:        s.Snapshot.Group.Type,
		Comment:     s.Comment,
		Files:       []fileJSON{},
		Fingerprint: s.Fingerprint,
		Namespace:   s.Snapshot.Group.Namespace.String(),
		Owner:       s.Owner.String(),
		Protected:   s.Protected,
		Reason:      s.Protection.Reason,
		Until:       int64(s.Protection.Until),
	}
	for _, f := range s.Files {
		out.Files = append(out.Files, fileJSON{f.Crypt, f.Name, f.Size})
	}
	if s.SizeKnown {
		out.Size = &s.Size
	}
	if v := s.Verification; v != nil {
		out.Verification = &verificationJSON{State: string(v.State), UPID: v.UPID.String()}
	}
	return out
}

func newFileJSON(f datastore.FileInfo) any { return fileJSON{f.Crypt, f.Name, f.Size} }

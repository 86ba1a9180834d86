package command

import (
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

func (p *program) printBackup(format outputFormat, r backupResult) error {
	if format != formatText {
		p.progress.finish()
		return writeJSON(p.out, newBackupJSON(r), format == formatJSONPretty)
	}
	var lines []string
	for _, a := range r.archives {
		lines = append(lines, archiveLine(a))
	}
	for _, t := range r.trees {
		lines = append(lines, treeLines(t)...)
	}
	end := "snapshot " + withNamespace(r.snapshot.Group.Namespace, r.snapshot.String())
	if r.base != nil {
		end += ", base " + r.base.Time.String()
	}
	switch r.mode {
	case backupinfo.CryptEncrypt:
		end += ", encrypted with " + r.key.String()
	case backupinfo.CryptSignOnly:
		end += ", signed with " + r.key.String()
	case backupinfo.CryptNone:
	}
	return p.summary(append(lines, end)...)
}

func archiveLine(a datastore.ArchiveStats) string {
	text := fmt.Sprintf("%s: %s", displayName(a.Name), humanize.IBytes(a.Size))
	if a.Chunks > 0 {
		reused := fmt.Sprintf("%d reused (%s, %.0f %%)", a.ReusedChunks, humanize.IBytes(a.ReusedBytes), percent(a.ReusedBytes, a.Size))
		text += " in " + plural(a.Chunks, "chunk") + ", " + reused
	}
	return text + fmt.Sprintf(", %s written in %v", humanize.IBytes(a.WrittenBytes), a.Duration.Round(time.Millisecond))
}

func percent(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

type backupJSON struct {
	Archives []archiveJSON   `json:"archives"`
	ID       string          `json:"backup-id"`
	Time     int64           `json:"backup-time"`
	Type     backupinfo.Type `json:"backup-type"`
	Base     string          `json:"base,omitempty"`

	Trees []treeJSON `json:"directories,omitempty"`

	CryptMode   backupinfo.CryptMode `json:"crypt-mode"`
	Fingerprint string               `json:"fingerprint,omitempty"`

	Namespace string `json:"ns,omitempty"`
}

type archiveJSON struct {
	Chunks        int     `json:"chunks"`
	Duration      float64 `json:"duration"` // seconds
	Name          string  `json:"filename"`
	ReusedBytes   uint64  `json:"reused-bytes"`
	ReusedChunks  int     `json:"reused-chunks"`
	Size          uint64  `json:"size"`
	WrittenBytes  uint64  `json:"written-bytes"`
	WrittenChunks int     `json:"written-chunks"`
}

func newBackupJSON(r backupResult) backupJSON {
	out := backupJSON{
		Archives:  []archiveJSON{},
		ID:        r.snapshot.Group.ID,
		Time:      int64(r.snapshot.Time),
		Type:      r.snapshot.Group.Type,
		Namespace: r.snapshot.Group.Namespace.String(),
		CryptMode: r.mode,
	}
	if r.key != nil {
		out.Fingerprint = backupinfo.Fingerprint(r.key.Fingerprint()).String()
	}
	if r.base != nil {
		out.Base = r.base.String()
	}
	archives := slices.Clone(r.archives)
	for _, t := range r.trees {
		archives = append(archives, t.stats.Archives...)
		out.Trees = append(out.Trees, newTreeJSON(t))
	}
	for _, a := range archives {
		out.Archives = append(out.Archives, archiveJSON{
			Chunks: a.Chunks, Duration: a.Duration.Seconds(), Name: a.Name,
			ReusedBytes: a.ReusedBytes, ReusedChunks: a.ReusedChunks, Size: a.Size,
			WrittenBytes: a.WrittenBytes, WrittenChunks: a.WrittenChunks,
		})
	}
	return out
}

package datastore

import (
	"encoding/json"
	"strings"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// statusName is where the last collection leaves its figures.
const statusName = ".gc-status"

// maxStatusSize bounds what is read of it; real ones have 300 bytes.
const maxStatusSize = 64 << 10

// CollectionFigures are those of a collection that came to its end. What they
// count is told at [CollectReport]. As JSON they are the content of .gc-status, with the keys and in the order of
// the original, which leaves no white space between them.
type CollectionFigures struct {
	UPID          string `json:"upid"`
	IndexFiles    int    `json:"index-file-count"`
	IndexBytes    uint64 `json:"index-data-bytes"`
	DiskBytes     uint64 `json:"disk-bytes"`
	DiskChunks    int    `json:"disk-chunks"`
	RemovedBytes  uint64 `json:"removed-bytes"`
	RemovedChunks int    `json:"removed-chunks"`
	PendingBytes  uint64 `json:"pending-bytes"`
	PendingChunks int    `json:"pending-chunks"`
	RemovedBad    int    `json:"removed-bad"`
	StillBad      int    `json:"still-bad"`
}

// Figures are those that .gc-status keeps.
func (r CollectReport) Figures() CollectionFigures {
	return CollectionFigures{
		UPID: r.UPID.String(), IndexFiles: r.IndexFiles, IndexBytes: r.IndexBytes,
		DiskBytes: r.DiskBytes, DiskChunks: r.DiskChunks,
		RemovedBytes: r.RemovedBytes, RemovedChunks: r.RemovedChunks,
		PendingBytes: r.PendingBytes, PendingChunks: r.PendingChunks,
		RemovedBad: r.RemovedBad, StillBad: r.StillBad,
	}
}

// beginStatus makes the file that the figures will be written to. While it is
// there, a collection is at work or was cut off: that is how [Datastore.Status] knows. It stops nobody,
// and that it could not be made, as on a full disk, stops no collection.
func (c *collection) beginStatus() {
	if c.opts.DryRun {
		return
	}
	f, err := c.disk.CreateTemp(c.root, fsop.TempPrefix(statusName), fileMode)
	if err != nil {
		return // writeStatus tells, if it still can't be written then
	}
	c.status = f
}

// endStatus takes the file away again where there are no figures to be written.
func (c *collection) endStatus() {
	if c.status == nil {
		return
	}
	if err := c.status.Discard(); err != nil {
		c.Datastore.opts.Events.notice(statusName, "a temporary file stays until the next collection", err)
	}
}

func (c *collection) putStatus(text []byte) error {
	if c.status == nil {
		return c.disk.WriteFile(c.root, statusName, text, fileMode)
	}
	if _, err := c.status.Write(text); err != nil {
		return err
	}
	return c.status.Commit(statusName, fsop.CommitOptions{Sync: true, SyncDir: true})
}

// writeStatus leaves the figures of a collection that came to its end. They are
// for people: that they could not be written undoes nothing, and is a notice.
func (c *collection) writeStatus() {
	text, err := json.Marshal(c.report.Figures())
	if err == nil {
		err = c.putStatus(text)
	}
	if err == nil {
		err = c.removeOldStatus()
	}
	if err != nil {
		c.Datastore.opts.Events.notice(statusName, "the figures of this collection could not be written", err)
	}
}

// removeOldStatus removes the temporary files of collections that were cut off here.
// Under the lock there is no other.
func (c *collection) removeOldStatus() error {
	dir, err := beneath.OpenDir(c.root, ".")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, statusName+".tmp_") || strings.HasPrefix(name, mountsName+".tmp_") {
			if err := c.disk.Remove(dir, name); err != nil {
				return err
			}
		}
	}
	return nil
}

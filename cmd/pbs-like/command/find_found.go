package command

import (
	"strconv"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/catalog"
	"github.com/pbs-like/pbs-like/treefind"
)

func foundColumns() []column {
	return []column{
		{title: "group"},
		{title: "archive"},
		{title: "first"},
		{title: "last"},
		{title: "snapshots", right: true},
		{title: "type"},
		{title: "size", right: true},
		{title: "modified"},
		{title: "path"},
		{title: "ns"},
	}
}

// foundVersion is a row.
type foundVersion struct {
	match   treefind.Match
	version treefind.Version
}

func foundRow(f foundVersion) []string {
	size, modified := "", ""
	if f.version.Kind == catalog.File {
		size = strconv.FormatUint(f.version.Size, 10)
		modified = time.Unix(f.version.ModTime, 0).UTC().Format(time.DateTime) + "Z"
	}
	return []string{
		f.match.Group.String(), f.match.Archive, f.version.First.String(), f.version.Last.String(), strconv.Itoa(f.version.Snapshots),
		f.version.Kind.String(), size, modified, f.match.Path, f.match.Group.Namespace.String(),
	}
}

// addFound adds a row for each version, or one object with all of them.
func addFound(out *listing[foundVersion], format outputFormat, m treefind.Match) error {
	if format != formatText {
		return out.list.add(newFoundJSON(m))
	}
	for _, v := range m.Versions {
		if err := out.add(foundVersion{m, v}); err != nil {
			return err
		}
	}
	return nil
}

type foundJSON struct {
	Archive   string             `json:"archive"`
	ID        string             `json:"backup-id"`
	Type      backupinfo.Type    `json:"backup-type"`
	Namespace string             `json:"ns,omitempty"`
	Path      string             `json:"path"`
	PathHex   string             `json:"path-hex,omitempty"`
	Versions  []foundVersionJSON `json:"versions"`
}

type foundVersionJSON struct {
	First     int64   `json:"first-backup-time"`
	Last      int64   `json:"last-backup-time"`
	ModTime   *int64  `json:"mtime,omitempty"`
	Size      *uint64 `json:"size,omitempty"`
	Snapshots int     `json:"snapshots"`
	Type      string  `json:"type"`
}

func newFoundJSON(m treefind.Match) foundJSON {
	out := foundJSON{
		Archive: m.Archive, ID: m.Group.ID, Type: m.Group.Type, Namespace: m.Group.Namespace.String(),
		Path: m.Path, PathHex: hexIfBinary(m.Path),
	}
	for _, v := range m.Versions {
		version := foundVersionJSON{First: int64(v.First), Last: int64(v.Last), Snapshots: v.Snapshots, Type: v.Kind.String()}
		if v.Kind == catalog.File {
			version.ModTime, version.Size = &v.ModTime, &v.Size
		}
		out.Versions = append(out.Versions, version)
	}
	return out
}

package command

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/pbs-like/pbs-like/pxar"
)

func entryColumns() []column {
	return []column{
		{title: "mode"},
		{title: "uid", right: true},
		{title: "gid", right: true},
		{title: "size", right: true},
		{title: "modified"},
		{title: "path"},
	}
}

func entryRow(e *pxar.Entry) []string {
	if e.Kind == pxar.Hardlink {
		return []string{"hardlink", "", "", "", "", e.Path + " = /" + e.Target}
	}
	size, path := "", e.Path
	switch e.Kind { //nolint:exhaustive // the others have neither
	case pxar.File:
		size = strconv.FormatUint(e.Size, 10)
	case pxar.Device:
		size = fmt.Sprintf("%d,%d", e.Major, e.Minor)
	case pxar.Symlink:
		path += " -> " + e.Target
	}
	return []string{
		modeText(e), strconv.FormatUint(uint64(e.UID), 10), strconv.FormatUint(uint64(e.GID), 10), size,
		e.ModTime().UTC().Format(time.DateTime) + "Z", path,
	}
}

// modeText is the mode as ls shows it.
func modeText(e *pxar.Entry) string {
	text := []byte(kindLetter(e) + "rwxrwxrwx")
	for i := range 9 {
		if e.Mode&(1<<(8-i)) == 0 {
			text[i+1] = '-'
		}
	}
	for i, special := range []struct {
		bit    uint64
		at     int
		letter byte
	}{{0o4000, 3, 's'}, {0o2000, 6, 's'}, {0o1000, 9, 't'}} {
		if e.Mode&special.bit == 0 {
			continue
		}
		if e.Mode&(0o100>>(3*i)) == 0 {
			special.letter -= 'a' - 'A'
		}
		text[special.at] = special.letter
	}
	return string(text)
}

func kindLetter(e *pxar.Entry) string {
	switch e.Kind { //nolint:exhaustive // a file has none
	case pxar.Directory:
		return "d"
	case pxar.Symlink:
		return "l"
	case pxar.Hardlink:
		return "h"
	case pxar.FIFO:
		return "p"
	case pxar.Socket:
		return "s"
	case pxar.Device:
		if e.IsBlock() {
			return "b"
		}
		return "c"
	}
	return "-"
}

type entryJSON struct {
	Device    []uint64 `json:"device,omitempty"`
	GID       *uint32  `json:"gid,omitempty"`
	Mode      *uint64  `json:"mode,omitempty"`
	ModTime   *int64   `json:"mtime,omitempty"`
	Path      string   `json:"path"`
	PathHex   string   `json:"path-hex,omitempty"`
	Size      *uint64  `json:"size,omitempty"`
	Target    string   `json:"target,omitempty"`
	TargetHex string   `json:"target-hex,omitempty"`
	Type      string   `json:"type"`
	UID       *uint32  `json:"uid,omitempty"`
}

func newEntryJSON(e *pxar.Entry) any {
	out := entryJSON{Path: e.Path, PathHex: hexIfBinary(e.Path), Target: e.Target, TargetHex: hexIfBinary(e.Target), Type: e.Kind.String()}
	if e.Kind == pxar.Hardlink {
		return out
	}
	out.GID, out.Mode, out.ModTime, out.UID = &e.GID, &e.Mode, &e.Seconds, &e.UID
	switch e.Kind { //nolint:exhaustive // the others have neither
	case pxar.File:
		out.Size = &e.Size
	case pxar.Device:
		out.Device = []uint64{e.Major, e.Minor}
	}
	return out
}

// hexIfBinary gives the bytes of a text that JSON can't hold.
func hexIfBinary(text string) string {
	if utf8.ValidString(text) {
		return ""
	}
	return hex.EncodeToString([]byte(text))
}

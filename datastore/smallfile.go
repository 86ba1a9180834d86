package datastore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// Owner files and notes are small; more than this is not read.
const (
	maxOwnerSize = 4 << 10
	maxNotesSize = 1 << 20
)

// readBounded reads a regular file whole, up to a limit.
func readBounded(dir *os.File, name string, limit int64) ([]byte, error) {
	f, err := beneath.OpenRegular(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%q is longer than %d bytes", f.Name(), limit)
	}
	return data, nil
}

// readOwner reads the owner file of an open group.
func readOwner(group *os.File) (backupinfo.AuthID, error) {
	data, err := readBounded(group, backupinfo.OwnerName, maxOwnerSize)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("owner file is missing: %w", err)
	}
	if err != nil {
		return "", err
	}
	owner, err := backupinfo.ParseAuthID(firstLine(string(data)))
	if err != nil {
		return "", fmt.Errorf("owner file: %w", err)
	}
	return owner, nil
}

// readNotes gives the notes of an open group, or nothing: they are a
// convenience, and no reason to call a group broken.
func readNotes(group *os.File) string {
	data, err := readBounded(group, backupinfo.NotesName, maxNotesSize)
	if err != nil {
		return ""
	}
	return string(data)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimRight(line, "\r")
}

package pbsrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
)

const journalName = "move-journal"

// AppendMoveJournal tells the server's collection about index files that are about
// to be renamed: it lists directories, and can miss a file that moves from one it
// has not seen yet to one it has. The paths are the new ones, absolute. It has to
// return before the rename. A server before 4.1.9 does not read the journal.
func (s *Store) AppendMoveJournal(ctx context.Context, paths []string) (err error) {
	text, err := journalLines(paths)
	if err != nil || len(paths) == 0 {
		return err
	}
	disk, err := s.disk()
	if err != nil {
		return err
	}
	dir, err := s.locksDir(disk, ".")
	if err != nil {
		return err
	}
	defer dir.Close()
	guard, err := waitFor(ctx, disk, dir, journalName, activeWait)
	if err != nil {
		return fmt.Errorf("journal of moves: %w", err)
	}
	defer func() { err = errors.Join(err, guard.Close()) }()
	// Who removes or replaces the journal has this lock, so the name leads to the locked file.
	f, err := beneath.OpenRegularFlags(dir, journalName, unix.O_RDWR|unix.O_APPEND)
	if err != nil {
		return err
	}
	return errors.Join(appendLines(f, text), f.Close())
}

func journalLines(paths []string) (string, error) {
	var b strings.Builder
	for _, path := range paths {
		if !filepath.IsAbs(path) || strings.ContainsRune(path, '\n') {
			return "", fmt.Errorf("%q can't be in a journal of moves, which has one absolute path in a line", path)
		}
		b.WriteString(path + "\n")
	}
	return b.String(), nil
}

// appendLines adds all of the text or nothing, so that no line is ever joined to
// the half of another one.
func appendLines(f *os.File, text string) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	last := []byte{'\n'}
	if st.Size() > 0 {
		if _, err := f.ReadAt(last, st.Size()-1); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	if last[0] != '\n' {
		text = "\n" + text
	}
	if _, err := f.WriteString(text); err != nil {
		return errors.Join(err, f.Truncate(st.Size()))
	}
	return nil
}

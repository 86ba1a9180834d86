package archiver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/exclude"
)

const (
	patternsFile    = ".pxarexclude"
	cliPatternsFile = ".pxarexclude-cli"
	// maxPatterns is how many bytes the files with patterns on the way to a directory may have together.
	maxPatterns = 1 << 20
)

var (
	errNotRegular   = errors.New("not a regular file")
	errManyPatterns = fmt.Errorf("the patterns on the way to here have more than %d bytes", maxPatterns)
)

// readPatterns reads the patterns in a directory, if there are any; budget is how many bytes they may have.
func (a *Archiver) readPatterns(dirfd int, where *place, budget int) (list exclude.List, size int) {
	text, err := readPatternsFile(dirfd, budget)
	if errors.Is(err, unix.ENOENT) {
		return nil, 0
	}
	size = patternsSize(text, where)
	if err == nil && size > budget {
		err = errManyPatterns
	}
	if err != nil {
		a.notes.warn(Warning{Kind: BadPattern, Path: where.pathOf(patternsFile), Err: err})
		return nil, 0
	}
	list, bad := exclude.ParseFile(text, strings.TrimPrefix(where.path(), "/"))
	for _, err := range bad {
		a.notes.warn(Warning{Kind: BadPattern, Path: where.pathOf(patternsFile), Err: err})
	}
	return list, size
}

// patternsSize counts the path of the directory with each line, for an anchored one has it in it.
func patternsSize(text []byte, where *place) int {
	return len(text) + where.length*(1+bytes.Count(text, []byte("\n")))
}

// readPatternsFile follows a symbolic link, as the original does, but opens nothing that is no regular file: a
// FIFO would block for ever, and opening a device may do anything.
func readPatternsFile(dirfd, budget int) ([]byte, error) {
	pin, err := openAt(dirfd, patternsFile, unix.O_PATH|unix.O_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pin)
	fd, err := openPinned(pin, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	text, err := io.ReadAll(io.LimitReader(descriptor(fd), int64(budget)+1))
	if err == nil && len(text) > budget {
		err = errManyPatterns
	}
	return text, err
}

// descriptor reads from a bare descriptor.
type descriptor int

func (d descriptor) Read(p []byte) (n int, err error) {
	err = again(func() (err error) {
		n, err = unix.Read(int(d), p)
		return err
	})
	if err != nil {
		return 0, err
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

package archiver

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// listed is a name in a directory, and what the directory says that it is: DT_DIR and its like, or
// DT_UNKNOWN where it does not say.
type listed struct {
	name string
	kind uint8
}

// list gives what keep wants of a directory that was not read before, sorted. After an error of the system
// there is what could be read up to there; one of keep is final.
func list(ctx context.Context, fd int, keep func(name string, kind uint8) (bool, error)) (entries []listed, err error) {
	buf := make([]byte, 32<<10)
	for ctx.Err() == nil {
		n := 0
		failure := again(func() (err error) {
			n, err = unix.Getdents(fd, buf)
			return err
		})
		if failure != nil || n == 0 {
			return sorted(entries), failure
		}
		if entries, err = appendWanted(entries, buf[:n], keep); err != nil {
			return nil, err
		}
	}
	return nil, context.Cause(ctx)
}

func appendWanted(entries []listed, raw []byte, keep func(string, uint8) (bool, error)) ([]listed, error) {
	var names []byte
	var lengths []int
	first := len(entries)
	for name, kind := range dirents(raw) {
		wanted, err := keep(string(name), kind)
		if err != nil {
			return nil, err
		}
		if wanted {
			names, lengths = append(names, name...), append(lengths, len(name))
			entries = append(entries, listed{kind: kind})
		}
	}
	// All names of a buffer are parts of one string: that is what keeps a large directory small.
	rest := string(names)
	for i, n := range lengths {
		entries[first+i].name, rest = rest[:n], rest[n:]
	}
	return entries, nil
}

// dirents takes apart what getdents64(2) gave.
func dirents(raw []byte) iter.Seq2[[]byte, uint8] {
	const lengthAt, kindAt, nameAt = 16, 18, 19
	return func(yield func([]byte, uint8) bool) {
		for len(raw) > nameAt {
			length := int(binary.NativeEndian.Uint16(raw[lengthAt:]))
			if length <= nameAt || length > len(raw) {
				return
			}
			name, _, _ := bytes.Cut(raw[nameAt:length], []byte{0})
			kind := raw[kindAt]
			raw = raw[length:]
			if string(name) != "." && string(name) != ".." && !yield(name, kind) {
				return
			}
		}
	}
}

// sorted puts the entries into the order of an archive. A directory that is changed while it is listed may give a name twice.
func sorted(entries []listed) []listed {
	slices.SortFunc(entries, func(a, b listed) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(entries, func(a, b listed) bool { return a.name == b.name })
}

// again repeats a call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

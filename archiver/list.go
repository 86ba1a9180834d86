package archiver

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"

	"golang.org/x/sys/unix"
)

// listing is what a directory has, in few bytes: directories may be large.
type listing struct {
	names   []byte // all of them, one behind the other
	entries []listed
}

// listed is a name in a directory, and what the directory says that it is: DT_DIR and its like, or
// DT_UNKNOWN where it does not say.
type listed struct {
	at     uint32 // in the names
	length uint16
	kind   uint8
}

func (l *listing) name(e listed) []byte { return l.names[e.at:][:e.length] }

// list gives what keep wants of a directory that was not read before, sorted. After an error of the system
// there is what could be read up to there; one of keep is final.
func list(ctx context.Context, fd int, keep func(name []byte, kind uint8) (bool, error)) (l listing, err error) {
	buf := make([]byte, 32<<10)
	for ctx.Err() == nil {
		n := 0
		failure := again(func() (err error) {
			n, err = unix.Getdents(fd, buf)
			return err
		})
		if failure != nil || n == 0 {
			l.sort()
			return l, failure
		}
		if err := l.add(buf[:n], keep); err != nil {
			return listing{}, err
		}
	}
	return listing{}, context.Cause(ctx)
}

var errListing = fmt.Errorf("the names in one directory have more than %d bytes", math.MaxUint32)

func (l *listing) add(raw []byte, keep func([]byte, uint8) (bool, error)) error {
	for name, kind := range dirents(raw) {
		wanted, err := keep(name, kind)
		if err != nil {
			return err
		}
		if len(l.names)+len(name) > math.MaxUint32 {
			return errListing
		}
		if wanted {
			l.entries = append(l.entries, listed{uint32(len(l.names)), uint16(len(name)), kind})
			l.names = append(l.names, name...)
		}
	}
	return nil
}

// sort puts the entries into the order of an archive. A directory that is changed while it is listed may give a name twice.
func (l *listing) sort() {
	slices.SortFunc(l.entries, func(a, b listed) int { return bytes.Compare(l.name(a), l.name(b)) })
	l.entries = slices.CompactFunc(l.entries, func(a, b listed) bool { return bytes.Equal(l.name(a), l.name(b)) })
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

// again repeats a call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

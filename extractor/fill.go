package extractor

import (
	"bytes"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/filemeta"
)

// holeSize is the smallest range of zeros that takes no space. The last one of a file is always written: a size
// that was set alone might be on disk before the data is.
const holeSize = 4096

var zeros [holeSize]byte //nolint:gochecknoglobals // never written to

// fill writes a file's content.
func (r *run) fill(fd int, j job) (holes uint64, err error) {
	filemeta.ApplyEarly(fd, &j.e.Metadata)
	at := int64(0)
	for p := range j.content.pieces {
		if p.err == nil {
			var skipped int
			skipped, p.err = writeData(fd, p.data, at, at+int64(len(p.data)) == int64(j.e.Size))
			holes += uint64(skipped)
			at += int64(len(p.data))
		}
		err = p.err
		r.recycle(p)
		if err != nil {
			break
		}
	}
	if err != nil {
		err = &fs.PathError{Op: "write", Path: j.e.Path, Err: err}
	}
	return holes, err
}

// writeData writes a piece without its holes. Pieces begin at a multiple of a hole's size.
func writeData(fd int, data []byte, at int64, last bool) (holes int, err error) {
	for len(data) > 0 {
		n := dataLength(data)
		if n == len(data) || n > 0 {
			if err := pwrite(fd, data[:n], at); err != nil {
				return holes, err
			}
		} else if n = holeLength(data); n == len(data) && last {
			end := (n - 1) / holeSize * holeSize
			return holes + end, pwrite(fd, data[end:], at+int64(end))
		} else {
			holes += n
		}
		data, at = data[n:], at+int64(n)
	}
	return holes, nil
}

// dataLength is how much there is up to the next hole.
func dataLength(data []byte) int {
	n := 0
	for n+holeSize <= len(data) && !bytes.Equal(data[n:n+holeSize], zeros[:]) {
		n += holeSize
	}
	if n+holeSize > len(data) {
		return len(data)
	}
	return n
}

func holeLength(data []byte) int {
	n := 0
	for n+holeSize <= len(data) && bytes.Equal(data[n:n+holeSize], zeros[:]) {
		n += holeSize
	}
	return n
}

func pwrite(fd int, data []byte, at int64) error {
	for len(data) > 0 {
		n := 0
		err := again(func() (err error) {
			n, err = unix.Pwrite(fd, data, at)
			return err
		})
		if err != nil {
			return err
		}
		data, at = data[n:], at+int64(n)
	}
	return nil
}

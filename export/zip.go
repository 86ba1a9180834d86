package export

import (
	"archive/zip"
	"io"
	"io/fs"
	"strings"

	"github.com/pbs-like/pbs-like/pxar"
)

// Zip writes top and everything below it as a zip archive. After an error what was written is no complete archive.
func Zip(w io.Writer, a *pxar.Archive, top *pxar.Entry, opts Options) (Stats, error) {
	return run(a, top, &zipFormat{zip.NewWriter(w)}, opts)
}

type zipFormat struct{ w *zip.Writer }

func (z *zipFormat) close() error { return z.w.Close() }

func (z *zipFormat) link(*pxar.Entry, *pxar.Entry, uint64) error { return errNoLinks }

func (z *zipFormat) entry(e *pxar.Entry, content io.Reader) error {
	h := &zip.FileHeader{Name: tarName(e.Path), Modified: e.ModTime(), Method: zip.Deflate}
	mode := fs.FileMode(e.Mode & 0o777)
	switch e.Kind { // hard links come elsewhere
	case pxar.Directory:
		if e.Path == "/" {
			return nil // there is nothing to call it
		}
		h.Name += "/"
		h.Method = zip.Store
		mode |= fs.ModeDir
	case pxar.File:
	case pxar.Symlink:
		mode |= fs.ModeSymlink
		content = strings.NewReader(e.Target)
	default:
		return leftOut("a zip archive can't hold a %v", e.Kind)
	}
	if len(h.Name) > 1<<16-1 {
		return leftOut("its path has %d bytes", len(h.Name))
	}
	h.SetMode(mode)
	out, err := z.w.CreateHeader(h)
	if err != nil || content == nil {
		return err
	}
	_, err = io.Copy(out, content)
	return err
}

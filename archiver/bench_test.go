package archiver

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/pbs-like/pbs-like/pxar"
)

// nothingSink reads all contents and keeps nothing.
type nothingSink struct {
	skip bool // contents too
	buf  []byte
}

func (s *nothingSink) Begin(*pxar.Metadata) error    { return nil }
func (s *nothingSink) Add(string, *pxar.Entry) error { return nil }
func (s *nothingSink) Link(string, string) error     { return nil }
func (s *nothingSink) Leave() error                  { return nil }

func (s *nothingSink) AddFile(_ string, _ *pxar.Metadata, _ uint64, content io.ReadCloser, _ bool) error {
	defer content.Close()
	if s.skip {
		return nil
	}
	if s.buf == nil {
		s.buf = make([]byte, 128<<10)
	}
	for {
		if _, err := content.Read(s.buf); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// smallFiles makes files of 1 to 8 KiB, a hundred in a directory.
func smallFiles(b *testing.B, count int) (dir string) {
	b.Helper()
	dir = b.TempDir()
	text := bytes.Repeat([]byte("a line of a small file\n"), 400)
	for i := range count {
		below := filepath.Join(dir, fmt.Sprintf("d%04d", i/100))
		if i%100 == 0 {
			must(b, os.Mkdir(below, 0o755))
		}
		must(b, os.WriteFile(filepath.Join(below, fmt.Sprintf("f%05d", i)), text[:1024+i*7%7168], 0o644))
	}
	return dir
}

func BenchmarkSmallFiles(b *testing.B) {
	const count = 20_000
	dir := smallFiles(b, count)
	for name, sink := range map[string]*nothingSink{"metadata": {skip: true}, "contents": {}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				report, err := run(b, dir, Options{ReadAhead: !sink.skip}, sink)
				must(b, err)
				b.SetBytes(int64(report.Bytes))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/file")
		})
	}
}

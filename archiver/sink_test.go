package archiver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/pbs-like/pbs-like/catalog"
	"github.com/pbs-like/pbs-like/pxar"
)

// archiveSink makes an archive of version 1 and its catalog.
type archiveSink struct {
	out, list bytes.Buffer
	w         *pxar.Writer
	c         *catalog.Writer
	dirs      []string
	linked    map[string]uint64
}

func (s *archiveSink) Begin(root *pxar.Metadata) (err error) {
	s.linked = map[string]uint64{}
	if s.w, err = pxar.NewWriter(&s.out, root, pxar.WriterOptions{}); err != nil {
		return err
	}
	if s.c, err = catalog.NewWriter(&s.list); err != nil {
		return err
	}
	return s.c.Begin("root.pxar.didx")
}

func (s *archiveSink) Add(name string, e *pxar.Entry) error {
	if _, err := s.w.Add(name, e, nil); err != nil {
		return err
	}
	switch e.Kind {
	case pxar.Directory:
		s.dirs = append(s.dirs, name)
		return s.c.Begin(name)
	case pxar.Symlink:
		return s.c.Add(catalog.Entry{Kind: catalog.Symlink, Name: name})
	case pxar.FIFO:
		return s.c.Add(catalog.Entry{Kind: catalog.FIFO, Name: name})
	case pxar.Socket:
		return s.c.Add(catalog.Entry{Kind: catalog.Socket, Name: name})
	case pxar.Device:
		if e.IsBlock() {
			return s.c.Add(catalog.Entry{Kind: catalog.BlockDevice, Name: name})
		}
		return s.c.Add(catalog.Entry{Kind: catalog.CharDevice, Name: name})
	}
	return errors.New("of no kind")
}

func (s *archiveSink) AddFile(name string, m *pxar.Metadata, size uint64, content io.ReadCloser, linked bool) error {
	defer content.Close()
	at, err := s.w.Add(name, &pxar.Entry{Metadata: *m, Kind: pxar.File, Size: size}, content)
	if err != nil {
		return err
	}
	if n, err := content.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return errors.New("content that does not end")
	}
	if linked {
		s.linked[s.path(name)] = at
	}
	return s.c.Add(catalog.Entry{Kind: catalog.File, Name: name, Size: size, ModTime: m.Seconds})
}

func (s *archiveSink) Link(name, target string) error {
	at, ok := s.linked[target]
	if !ok {
		return errors.New("link to " + target + ", which was not given as linked")
	}
	if err := s.w.Link(name, target, at); err != nil {
		return err
	}
	return s.c.Add(catalog.Entry{Kind: catalog.Hardlink, Name: name})
}

func (s *archiveSink) path(name string) string {
	var path string
	for _, dir := range s.dirs {
		path += dir + "/"
	}
	return path + name
}

func (s *archiveSink) Leave() error {
	s.dirs = s.dirs[:len(s.dirs)-1]
	if err := s.c.End(); err != nil {
		return err
	}
	return s.w.Leave()
}

func (s *archiveSink) finish(t testing.TB) {
	t.Helper()
	if err := s.c.End(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.c.Close(), s.w.Close()); err != nil {
		t.Fatal(err)
	}
}

// archive walks a directory that has to be walkable.
func archive(t testing.TB, dir string, opts Options) (*archiveSink, Report) {
	t.Helper()
	var sink archiveSink
	report, err := run(t, dir, opts, &sink)
	if err != nil {
		t.Fatal(err)
	}
	sink.finish(t)
	return &sink, report
}

func run(t testing.TB, dir string, opts Options, sink Sink) (Report, error) {
	t.Helper()
	return runContext(t.Context(), t, dir, opts, sink)
}

func runContext(ctx context.Context, t testing.TB, dir string, opts Options, sink Sink) (Report, error) {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := New(f, opts)
	if err != nil {
		return Report{}, err
	}
	err = a.Run(ctx, sink)
	return a.Report(), err
}

// entries reads the archive.
func (s *archiveSink) entries(t testing.TB) (all []*pxar.Entry) {
	t.Helper()
	r, err := pxar.NewReader(bytes.NewReader(s.out.Bytes()), pxar.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

// paths are those of all entries but the root.
func (s *archiveSink) paths(t testing.TB) (all []string) {
	t.Helper()
	for _, e := range s.entries(t)[1:] {
		all = append(all, e.Path)
	}
	return all
}

// content is that of a file of the archive.
func (s *archiveSink) content(t testing.TB, path string) []byte {
	t.Helper()
	a, err := pxar.Open(bytes.NewReader(s.out.Bytes()), int64(s.out.Len()), pxar.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := a.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Content(e)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// standardInput as a path means just that.
const standardInput = "-"

// source is one archive to be backed up and where its data comes from.
type source struct {
	name backupinfo.ArchiveName
	path string

	file  *os.File
	owned bool  // close it
	size  int64 // of a file or device
	flow  bool  // a pipe, FIFO or terminal: can only be read once, from front to back
	dir   bool
}

// parseSources reads "NAME:PATH" words.
func parseSources(specs []string) ([]*source, error) {
	var sources []*source
	given := map[string]string{}
	for _, spec := range specs {
		s, err := parseSource(spec)
		if err != nil {
			return nil, err
		}
		if before, twice := given[s.name.File()]; twice {
			return nil, usageErrorf("%q and %q are the same archive %q", before, spec, s.name.File())
		}
		given[s.name.File()] = spec
		sources = append(sources, s)
	}
	return sources, checkStandardInput(sources)
}

func parseSource(spec string) (*source, error) {
	name, path, found := strings.Cut(spec, ":")
	if !found || path == "" {
		return nil, usageErrorf("backup source %q: must be NAME:PATH, like drive-scsi0.img:/srv/disk.raw, or NAME:- for standard input", spec)
	}
	archive, err := backupinfo.ParseArchiveName(name)
	if err != nil {
		return nil, asUsage(fmt.Errorf("backup source %q: %w", spec, err))
	}
	return &source{name: archive, path: path}, nil
}

func checkStandardInput(sources []*source) error {
	count := 0
	for _, s := range sources {
		if s.path == standardInput {
			count++
		}
	}
	if count > 1 {
		return usageErrorf("standard input can be the source of one archive only")
	}
	return nil
}

// openSources opens all before anything is written, so that a wrong path is
// found at once. The caller closes them, also after an error.
func openSources(sources []*source, stdin io.Reader) error {
	for _, s := range sources {
		if err := s.open(stdin); err != nil {
			return err
		}
	}
	return nil
}

func closeSources(sources []*source) {
	for _, s := range sources {
		if s.file != nil && s.owned {
			_ = s.file.Close() // only read from
		}
	}
}

func (s *source) open(stdin io.Reader) error {
	if s.path == standardInput {
		f, ok := stdin.(*os.File)
		if !ok {
			return errors.New("standard input is no file")
		}
		s.file, s.flow = f, true
		return s.refuseNothing()
	}
	// Without O_NONBLOCK a FIFO would block here until somebody writes to it.
	f, err := os.OpenFile(s.path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	s.file, s.owned = f, true
	return s.look()
}

// refuseNothing refuses standard input that was closed or led to the null device:
// an empty archive that is taken for a backup is worse than none.
func (s *source) refuseNothing() error {
	info, err := s.file.Stat()
	if err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode()&fs.ModeCharDevice != 0 && stat.Rdev == unix.Mkdev(1, 3) {
		return errors.New("standard input is closed or the null device: there is nothing to back up")
	}
	return nil
}

// look finds out what was opened.
func (s *source) look() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		// Files of the kernel, as in /proc, say that they are empty and are not.
		s.size, s.flow = info.Size(), info.Size() == 0
	case mode.Type() == fs.ModeDevice:
		s.size, err = s.file.Seek(0, io.SeekEnd)
	case mode.Type() == fs.ModeNamedPipe:
		s.flow = true
	case mode.IsDir():
		s.dir = true
		err = s.checkDirectoryName()
	default:
		err = fmt.Errorf("backup source %q is neither a file, a block device nor a pipe", s.path)
	}
	return err
}

// checkDirectoryName is for a directory: only a .pxar holds one.
func (s *source) checkDirectoryName() error {
	if strings.HasSuffix(s.name.Display(), ".pxar") && s.name.Kind() == backupinfo.DynamicIndex {
		return nil
	}
	return usageErrorf("backup source %q is a directory, which is stored as a .pxar, like root.pxar:%s; %q can't hold one", s.path, s.path, s.name.Display())
}

// store writes the archive of anything but a directory.
func (s *source) store(ctx context.Context, w *datastore.SnapshotWriter) (datastore.ArchiveStats, error) {
	if s.name.Kind() == backupinfo.FixedIndex && !s.flow {
		return w.AddImage(ctx, s.name, s.file, s.size)
	}
	r, err := s.reader(ctx)
	if err != nil {
		return datastore.ArchiveStats{}, err
	}
	defer r.Close()
	switch s.name.Kind() {
	case backupinfo.FixedIndex:
		return w.AddImageStream(ctx, s.name, r)
	case backupinfo.DynamicIndex:
		return w.AddStream(ctx, s.name, r)
	default:
		return w.AddBlob(ctx, s.name, r)
	}
}

func (s *source) reader(ctx context.Context) (io.ReadCloser, error) {
	if s.flow {
		return newFlowReader(ctx, s.file)
	}
	return io.NopCloser(&wholeReader{section: io.NewSectionReader(s.file, 0, s.size), path: s.path, size: s.size}), nil
}

// wholeReader reads a file up to the size that it had at first, and calls it an
// error when the file ends before that.
type wholeReader struct {
	section *io.SectionReader
	path    string
	size    int64
	read    int64
}

func (r *wholeReader) Read(p []byte) (int, error) {
	n, err := r.section.Read(p)
	r.read += int64(n)
	if errors.Is(err, io.EOF) && r.read < r.size {
		return n, fmt.Errorf("%q has become shorter than %d bytes while it was read", r.path, r.size)
	}
	return n, err
}

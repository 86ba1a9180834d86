package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
)

// restoredMode is that of a restored file: it holds all that was backed up, so
// only its owner may read it.
const restoredMode = 0o600

// RestoreFile restores the archive to a path. A regular file appears under its
// name when it is whole, with holes for runs of zeros; one that exists is refused
// ([ErrExists]) unless opts say Overwrite. A block device is written in place,
// which needs Overwrite too. Into a pipe or character device it is copied.
func (a *Archive) RestoreFile(ctx context.Context, path string, opts RestoreOptions) (RestoreStats, error) {
	stat, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a.restoreRegular(ctx, path, opts)
	case err != nil:
		return RestoreStats{}, err
	case stat.IsDir():
		return RestoreStats{}, fmt.Errorf("%q is a directory: give the name of a file in it", path)
	case stat.Mode()&fs.ModeType == fs.ModeDevice && !opts.Overwrite:
		return RestoreStats{}, fmt.Errorf("%q is a block device, and overwriting it was not asked for: %w", path, ErrExists)
	case stat.Mode()&fs.ModeType == fs.ModeDevice:
		return a.restoreDevice(ctx, path, opts)
	case !stat.Mode().IsRegular():
		return a.restorePipe(ctx, path, opts)
	case !opts.Overwrite:
		return RestoreStats{}, fmt.Errorf("%q %w, and overwriting it was not asked for", path, ErrExists)
	}
	real, err := filepath.EvalSymlinks(path) // the file is replaced, not the link to it
	if err != nil {
		return RestoreStats{}, err
	}
	return a.restoreRegular(ctx, real, opts)
}

func (a *Archive) restoreRegular(ctx context.Context, path string, opts RestoreOptions) (stats RestoreStats, err error) {
	r, err := a.restoration(opts)
	if err != nil {
		return stats, err
	}
	dir, err := os.OpenFile(filepath.Dir(path), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return stats, err
	}
	defer dir.Close()
	name := filepath.Base(path)
	file, err := a.reader.store.opts.Disk.CreateTemp(dir, "."+name[:min(len(name), 200)]+".tmp_", restoredMode)
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, file.Discard()) }()
	if err := file.Truncate(int64(a.Size())); err != nil {
		return stats, err
	}
	err = r.run(ctx, func(_ context.Context, p part) error { return r.writeSparse(file.WriteAt, p) })
	if err == nil {
		err = file.Commit(name, fsop.CommitOptions{NoReplace: !opts.Overwrite, Sync: !opts.NoSync, SyncDir: !opts.NoSync})
	}
	if err == nil {
		err = r.verdict()
	}
	return r.stats, err
}

func (a *Archive) restoreDevice(ctx context.Context, path string, opts RestoreOptions) (RestoreStats, error) {
	r, err := a.restoration(opts)
	if err != nil {
		return RestoreStats{}, err
	}
	// The kernel refuses to open a block device exclusively that is mounted or otherwise in use.
	device, err := os.OpenFile(path, os.O_WRONLY|os.O_EXCL, 0)
	if err != nil {
		return RestoreStats{}, err
	}
	size, err := device.Seek(0, 2)
	if err == nil && uint64(size) < a.Size() {
		err = fmt.Errorf("%q has %d bytes, the archive %d", path, size, a.Size())
	}
	if err != nil {
		return RestoreStats{}, errors.Join(err, device.Close())
	}
	err = r.run(ctx, func(_ context.Context, p part) error { return writeWhole(device, p) })
	if err = errors.Join(err, device.Sync(), device.Close()); err == nil {
		err = r.verdict()
	}
	return r.stats, err
}

func (a *Archive) restorePipe(ctx context.Context, path string, opts RestoreOptions) (RestoreStats, error) {
	pipe, err := openPipe(ctx, path)
	if err != nil {
		return RestoreStats{}, err
	}
	stats, err := a.CopyTo(ctx, pipe, opts)
	return stats, errors.Join(err, pipe.Close())
}

// openPipe opens a FIFO or device for writing. A FIFO without a reader would block
// the open, where no signal could end it: that is waited for here.
func openPipe(ctx context.Context, path string) (*os.File, error) {
	const pause = 50 * time.Millisecond
	for {
		pipe, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if !errors.Is(err, unix.ENXIO) {
			return pipe, err
		}
		if stat, err := os.Stat(path); err != nil || stat.Mode()&fs.ModeNamedPipe == 0 {
			return nil, errors.Join(err, fmt.Errorf("%q is no device that can be written to", path))
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return nil, ctx.Err()
		}
	}
}

// holeSize is the block of zeros from which on a hole is left. It is the block
// size of most file systems.
const holeSize = 4096

// writeSparse writes the blocks of a part that are not all zeros; the file reads as zeros elsewhere.
func (r *restoration) writeSparse(writeAt func([]byte, int64) (int, error), p part) error {
	holes := p.end - p.start
	for at := 0; at < len(p.data); {
		run := dataRun(p.data[at:])
		if run > 0 {
			if _, err := writeAt(p.data[at:at+run], int64(p.start)+int64(at)); err != nil {
				return err
			}
			holes -= uint64(run)
		}
		at += run + zeroRun(p.data[at+run:])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Holes += holes
	return nil
}

// dataRun is how many bytes come before the next block of zeros.
func dataRun(data []byte) int {
	run := 0
	for run < len(data) {
		block := data[run:min(run+holeSize, len(data))]
		if isZero(block) {
			break
		}
		run += len(block)
	}
	return run
}

// zeroRun is how many bytes of zero blocks come first.
func zeroRun(data []byte) int {
	run := 0
	for run < len(data) {
		block := data[run:min(run+holeSize, len(data))]
		if !isZero(block) {
			break
		}
		run += len(block)
	}
	return run
}

func writeWhole(device *os.File, p part) error {
	return writePart(&sectionWriter{file: device, at: int64(p.start)}, p)
}

// sectionWriter writes on from an offset.
type sectionWriter struct {
	file *os.File
	at   int64
}

func (w *sectionWriter) Write(p []byte) (int, error) {
	n, err := w.file.WriteAt(p, w.at)
	w.at += int64(n)
	return n, err
}

package chunkstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// prefixes is the number of directories in .chunks: one for each four hex digits.
const prefixes = 1 << 16

// CreateOptions for [Create]. The zero value is ready for use.
type CreateOptions struct {
	// Disk makes the changes; its Owner is whose the directories are. nil: the
	// real disk, owner as it comes.
	Disk *fsop.Disk

	// Progress, if not nil, is called now and then with the number of
	// directories made, and in the end with done equal to total.
	Progress func(done, total int)
}

// Create makes an empty chunk store in the open directory root. A .chunks of any
// kind that is there already is left alone and reported as fs.ErrExist. .chunks
// appears in one step, complete and synced; after an error it is not there (or, if
// only the last step was reported to fail, whole), and
// after a crash at most a hidden directory that nobody looks for.
func Create(ctx context.Context, root *os.File, opts CreateOptions) error {
	return opts.create(ctx, root, prefixes)
}

func (o CreateOptions) create(ctx context.Context, root *os.File, total int) error {
	if err := refuseExisting(root); err != nil {
		return err
	}
	temp := chunksName + ".tmp_" + rand.Text()[:6]
	if err := o.Disk.Mkdir(root, temp, dirMode); err != nil {
		return err
	}
	err := o.fill(ctx, root, temp, total)
	if err == nil {
		err = o.Disk.Rename(root, temp, root, chunksName)
	}
	if err != nil {
		// Also when ctx is what ended it.
		return errors.Join(err, o.Disk.RemoveTree(context.WithoutCancel(ctx), root, temp))
	}
	return o.Disk.SyncDir(root)
}

// refuseExisting spares the work in the ordinary case; the rename decides.
func refuseExisting(root *os.File) error {
	_, err := beneath.Stat(root, chunksName)
	switch {
	case err == nil:
		return &fs.PathError{Op: "create", Path: root.Name() + "/" + chunksName, Err: unix.EEXIST}
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

func (o CreateOptions) fill(ctx context.Context, root *os.File, name string, total int) error {
	dir, err := beneath.OpenDir(root, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	for i := range total {
		if err := o.mkdir(ctx, dir, i, total); err != nil {
			return err
		}
	}
	o.progress(total, total)
	return o.Disk.SyncFS(dir)
}

func (o CreateOptions) mkdir(ctx context.Context, dir *os.File, i, total int) error {
	if i%512 == 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		o.progress(i, total)
	}
	return o.Disk.Mkdir(dir, fmt.Sprintf("%04x", i), dirMode)
}

func (o CreateOptions) progress(done, total int) {
	if o.Progress != nil {
		o.Progress(done, total)
	}
}

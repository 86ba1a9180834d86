package datastore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// Adopt makes a usable store of a directory that holds the parts of one, such as a copy by a
// program that left out empty directories and hidden names, or gave everything to
// another owner. It makes .chunks, if there is none, and then is [Datastore.Check] with
// Repair, under the options of check. Everything gets the owner of the directory itself.
//
// A directory that is empty is [ErrNotMounted]; one without any part of a store is
// [ErrNotDatastore], and so is the cache of an object store; one inside of a store, or with one inside,
// is [ErrNested]. Nothing was changed then.
func Adopt(ctx context.Context, path string, opts Options, check CheckOptions) (report CheckReport, err error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return report, err
	}
	if err := adoptable(ctx, absolute, opts); err != nil {
		return report, err
	}
	store, err := Open(absolute, opts)
	if err != nil {
		return report, err
	}
	check.Repair = true
	return store.Check(ctx, check)
}

// adoptable makes sure that there is a .chunks directory in the end, or says why there can't be.
func adoptable(ctx context.Context, path string, opts Options) (err error) {
	root, err := openDirectory(path)
	if err != nil {
		return err
	}
	defer root.Close()
	switch there, err := exists(root, chunkDirName); {
	case err != nil || there:
		return err // Open looks at what it is
	}
	if err := hasParts(root); err != nil {
		return err
	}
	id, err := identityOf(root)
	if err != nil {
		return err
	}
	d := &Datastore{path: path, id: id, opts: opts, server: opts.Server.server(opts.Disk)}
	if err := d.changeable(root); err != nil {
		return err
	}
	set := &guards{}
	if err := lockNewStore(set, root); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	if err := d.surveyParts(ctx, root); err != nil {
		return err
	}
	disk, err := d.disk(root)
	if err != nil {
		return err
	}
	return chunkstore.Create(ctx, root, chunkstore.CreateOptions{Disk: disk, Progress: func(done, total int) {
		opts.Events.progress(Progress{Operation: "create", Object: path, Done: uint64(done), Total: uint64(total), Items: true})
	}})
}

// hasParts refuses a directory in which nothing looks like a store.
func hasParts(root *os.File) error {
	if empty, err := isEmpty(root); err != nil || empty {
		return errors.Join(err, fmt.Errorf("%q is empty: %w", root.Name(), ErrNotMounted))
	}
	names := []string{"ns"}
	for _, kind := range backupinfo.Types() {
		names = append(names, string(kind))
	}
	for _, name := range names {
		stat, err := beneath.Stat(root, name)
		if err == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR {
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("%q holds neither %s nor groups: %w", root.Name(), chunkDirName, ErrNotDatastore)
}

// surveyParts looks for what speaks against adopting them, before anything is changed.
func (d *Datastore) surveyParts(ctx context.Context, root *os.File) error {
	c, err := d.newChecker(root, CheckOptions{})
	if err != nil {
		return err
	}
	c.surveying = true
	if err := c.run(ctx); err != nil {
		return err
	}
	return c.refusal()
}

package fsop

import (
	"io/fs"
	"os"
)

// CommitOptions say how a file gets its final name. The zero value replaces
// what is there and waits for nothing to reach the disk.
type CommitOptions struct {
	NoReplace bool // an existing file stays, and the error is fs.ErrExist
	Sync      bool // the content is on disk before the file gets its name
	SyncDir   bool // the name is on disk before Commit returns
}

// Commit closes the file and gives it its final name in the same directory,
// in one step: nobody sees it half written, and what it replaces stays whole
// until then.
//
// After an error the file is discarded and what had the name still has it. Only
// when syncing the directory failed does the file have its new name already,
// and either name may be found after a power cut.
func (f *File) Commit(name string, opts CommitOptions) error {
	if err := f.publish(name, opts); err != nil {
		return withCleanup(err, f.Discard())
	}
	f.name = name
	f.kept = true
	if opts.SyncDir {
		return f.disk.SyncDir(f.dir)
	}
	return nil
}

func (f *File) publish(name string, opts CommitOptions) error {
	if opts.Sync {
		// Before the rename: some file systems put the new name on disk before
		// the content, and a power cut would leave an empty file.
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := f.disk.do(f.change(OpClose), func() error { return f.f.Close() }); err != nil {
		return err
	}
	switch {
	case name == f.name:
		return nil // renaming it without replacing would find the file itself in the way
	case opts.NoReplace:
		return f.disk.Rename(f.dir, f.name, f.dir, name)
	default:
		return f.disk.replace(f.dir, f.name, name)
	}
}

// WriteFile replaces the file name in dir, or makes it, atomically and
// durably: after nil it has the new content and that survives a power cut;
// after an error it has either the old or the new content, and there is no
// other new file. mode and owner are those of a new file, whatever the old one had.
func (d *Disk) WriteFile(dir *os.File, name string, data []byte, mode fs.FileMode) error {
	if _, err := at(OpCreate, dir, name); err != nil {
		return err
	}
	f, err := d.CreateTemp(dir, TempPrefix(name), mode)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return withCleanup(err, f.Discard())
	}
	return f.Commit(name, CommitOptions{Sync: true, SyncDir: true})
}

package fsop

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrMountPoint is the reason for which RemoveTree stops at a directory where
// another file system, or another part of the same one, is mounted.
var ErrMountPoint = errors.New("is a mount point")

const (
	// treeDepth is how many directories RemoveTree holds open. Nothing of ours
	// is nested that deep.
	treeDepth = 32

	// treeBatch is how many names of one directory it holds in memory.
	treeBatch = 256
)

// RemoveTree removes a name and, if that is a directory, everything in it.
// What is gone already, or vanishes meanwhile, counts as removed. Symbolic
// links are removed, never followed, and everything is reached through open
// directories, so nothing outside the tree can be hit, whatever is renamed or
// linked during the call.
//
// It needs a bounded number of descriptors and a bounded amount of memory: a
// directory that is nested too deep is first moved up to the top of the tree.
//
// It stops at the first error, at a mount point ([ErrMountPoint]), and when ctx
// is done, with its error; the rest of the tree is then still there. Directories
// that our user may not read or change are such an error, also when it owns them.
func (d *Disk) RemoveTree(ctx context.Context, dir *os.File, name string) error {
	if _, err := at(OpRemove, dir, name); err != nil {
		return err
	}
	home, err := mountOf(dir)
	if err != nil {
		return err
	}
	t := &treeRemoval{disk: d, home: home, above: dir}
	defer t.close()
	if err := t.remove(dir, name); err != nil {
		return err
	}
	for len(t.stack) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.step(); err != nil {
			return err
		}
	}
	return nil
}

// treeRemoval is a walk without recursion: stack holds the directories from
// the top of the tree to the one that is being emptied.
type treeRemoval struct {
	disk  *Disk
	home  mount
	above *os.File // the directory that holds the tree
	stack []*treeDir
}

type treeDir struct {
	f     *os.File
	name  string   // in the directory above
	batch []string // names read and not yet removed
	// removed says whether something was removed since the listing was begun.
	removed bool
}

func (t *treeRemoval) close() {
	for _, d := range t.stack {
		d.f.Close()
	}
}

// step takes the next name of the innermost directory, or leaves it.
func (t *treeRemoval) step() error {
	in := t.stack[len(t.stack)-1]
	if len(in.batch) == 0 {
		names, err := in.f.Readdirnames(treeBatch)
		// ENOENT: somebody removed the directory that we have open.
		if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) {
			return t.leave()
		}
		if err != nil {
			return err
		}
		in.batch = names
	}
	name := in.batch[0]
	in.batch = in.batch[1:]
	return t.remove(in.f, name)
}

// leave removes the innermost directory, which should be empty now.
func (t *treeRemoval) leave() error {
	last := len(t.stack) - 1
	in, parent := t.stack[last], t.above
	if last > 0 {
		parent = t.stack[last-1].f
	}
	err := t.disk.Rmdir(parent, in.name)
	if errors.Is(err, unix.ENOTEMPTY) && in.removed {
		// Some file systems skip names when others are removed while they
		// list, and directories may have been moved up here: look again, as
		// long as that finds something to remove.
		in.removed = false
		_, err := in.f.Seek(0, io.SeekStart)
		return err
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	t.stack = t.stack[:last]
	t.noteRemoved()
	return in.f.Close()
}

// remove removes what is not a directory and enters what is one.
func (t *treeRemoval) remove(dir *os.File, name string) error {
	st, err := lstat(dir, name)
	if err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		err = t.enter(dir, name)
	} else if err == nil {
		err = t.disk.Remove(dir, name)
		t.noteRemoved()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (t *treeRemoval) noteRemoved() {
	if len(t.stack) > 0 {
		t.stack[len(t.stack)-1].removed = true
	}
}

// enter opens a directory and puts it on the stack; beyond the depth that we
// allow ourselves it is moved up to the top, where a later listing finds it.
func (t *treeRemoval) enter(dir *os.File, name string) error {
	f, err := openAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	at, err := mountOf(f)
	if err == nil && at != t.home {
		err = &fs.PathError{Op: string(OpRemove), Path: f.Name(), Err: ErrMountPoint}
	}
	if err == nil && len(t.stack) < treeDepth {
		t.stack = append(t.stack, &treeDir{f: f, name: name})
		return nil
	}
	f.Close()
	if err != nil {
		return err
	}
	return t.moveUp(dir, name)
}

func (t *treeRemoval) moveUp(dir *os.File, name string) error {
	top := t.stack[0]
	var err error
	for range tempAttempts {
		err = t.disk.Rename(dir, name, top.f, "nested_"+randomSuffix())
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	t.noteRemoved()
	top.removed = true
	return err
}

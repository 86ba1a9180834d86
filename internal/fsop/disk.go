package fsop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A Disk changes what is on disk. The zero value and a nil *Disk are ready for
// use. A Disk is safe for concurrent use if its hooks are.
type Disk struct {
	// Before, if set, runs before each change. Its error is reported instead
	// of making the change.
	Before func(Change) error

	// After, if set, runs after each change that was tried, with its result.
	// What it returns is reported as the result. It does not run when Before
	// refused the change.
	After func(c Change, result error) error

	// Owner is who new files and directories are given to. It is applied only
	// when they did not get that owner anyway, so a process without privileges
	// can name itself here. nil leaves them as the system makes them.
	Owner *Owner
}

// An Owner is a user and a group by number. -1 leaves that one as it is.
type Owner struct {
	UID, GID int
}

// An Op is a kind of change.
type Op string

// The kinds of change, one for each system call that alters the disk.
const (
	OpMkdir    Op = "mkdir"
	OpCreate   Op = "create"
	OpWrite    Op = "write" // one call of Write or WriteAt, whatever its size
	OpTruncate Op = "truncate"
	OpSync     Op = "sync"
	OpClose    Op = "close" // network file systems report a full disk here
	OpRename   Op = "rename"
	OpLink     Op = "link"
	OpRemove   Op = "remove"
	OpRmdir    Op = "rmdir"
	OpSyncDir  Op = "syncdir"
	OpSyncFS   Op = "syncfs"
	OpChmod    Op = "chmod"
	OpChown    Op = "chown"
	OpTouch    Op = "touch"
)

// A Change is one step that alters the disk.
type Change struct {
	Op   Op
	Path string // for people: the name of the directory's *os.File, and the name in it
	To   string // the new path of OpRename and OpLink, else empty
}

// String is the change in a form fit for a test's message: `rename "/a/b" to "/a/c"`.
func (c Change) String() string {
	if c.To != "" {
		return fmt.Sprintf("%s %q to %q", c.Op, c.Path, c.To)
	}
	return fmt.Sprintf("%s %q", c.Op, c.Path)
}

// wrap gives an error the operation and the names, as package os does.
func (c Change) wrap(err error) error {
	if err == nil {
		return nil
	}
	if c.To != "" {
		return &os.LinkError{Op: string(c.Op), Old: c.Path, New: c.To, Err: bare(err)}
	}
	return &fs.PathError{Op: string(c.Op), Path: c.Path, Err: bare(err)}
}

// bare takes the error out of what package os wrapped around it, so that
// names are told once.
func bare(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// do makes one change, with the hooks around it. Interrupted calls are made
// again: Go's runtime interrupts its threads with signals all the time, and
// FUSE, NFS and CIFS answer EINTR where local file systems never do.
func (d *Disk) do(c Change, change func() error) error {
	if d != nil && d.Before != nil {
		if err := d.Before(c); err != nil {
			return c.wrap(err)
		}
	}
	var err error
	if c.Op == OpClose {
		err = change() // a close that was interrupted has closed all the same
	} else {
		err = again(change)
	}
	if d != nil && d.After != nil {
		err = d.After(c, err)
	}
	return c.wrap(err)
}

func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// owner is the owner that new files get, nil for none in particular.
func (d *Disk) owner() *Owner {
	if d == nil {
		return nil
	}
	return d.Owner
}

// errName unwraps to fs.ErrInvalid, which is all that a caller can act on.
var errName = fmt.Errorf("not the name of an entry in a directory: %w", fs.ErrInvalid)

// at describes a change of one name in a directory, after checking the name.
func at(op Op, dir *os.File, name string) (Change, error) {
	if dir == nil {
		return Change{}, &fs.PathError{Op: string(op), Path: name, Err: fs.ErrInvalid}
	}
	c := Change{Op: op, Path: pathOf(dir, name)}
	if !singleName(name) {
		return c, &fs.PathError{Op: string(op), Path: fmt.Sprintf("%q", name), Err: errName}
	}
	return c, nil
}

// between describes a change that leads from one name to another.
func between(op Op, fromDir *os.File, from string, toDir *os.File, to string) (Change, error) {
	c, err := at(op, fromDir, from)
	if err != nil {
		return c, err
	}
	target, err := at(op, toDir, to)
	c.To = target.Path
	return c, err
}

func singleName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

func pathOf(dir *os.File, name string) string {
	return strings.TrimSuffix(dir.Name(), "/") + "/" + name
}

// withFD lends the descriptor of an open file. Unlike a number taken with
// [os.File.Fd] it can't be closed, and then mean another file, during the call.
func withFD(f *os.File, call func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := conn.Control(func(fd uintptr) { result = call(int(fd)) }); err != nil {
		return fs.ErrClosed // the one error that it has, in a type that is nobody's
	}
	return result
}

// withFDs lends the descriptors of two open files, which may be one and the same.
func withFDs(a, b *os.File, call func(a, b int) error) error {
	return withFD(a, func(fdA int) error {
		return withFD(b, func(fdB int) error { return call(fdA, fdB) })
	})
}

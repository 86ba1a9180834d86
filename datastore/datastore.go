package datastore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/activity"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/pbsrun"
	"github.com/pbs-like/pbs-like/storelock"
)

const (
	chunkDirName = ".chunks"
	lockFileName = ".lock"

	directoryMode = 0o755
	fileMode      = 0o644
)

// Options are how a datastore is used. The zero value is the careful one.
type Options struct {
	// LockWait is how long to wait for locks that somebody else holds; 0 refuses at once.
	LockWait time.Duration
	// OnlyHost says that no other host uses the store, so that it may be changed
	// although its file system carries no locks to other hosts.
	OnlyHost bool
	// ServerStopped says that no Proxmox Backup Server runs on this machine: the locks
	// of one that is configured to serve the store are not taken, and its maintenance
	// mode does not count.
	ServerStopped bool
	// Server says where that server has its things.
	Server ServerPlace
	// Fstab is the file that lists what belongs mounted where, see fstab(5); "" is /etc/fstab.
	Fstab string
	// Activities is where this process says what it does, and learns what others do that
	// are in its way. The zero value is nowhere; see [UsualActivities].
	Activities ActivityPlace
	// HostID names this host in store locks; empty is its name and hardware address.
	HostID string
	// LeaseOnly never concludes from a process that is missing on this machine that a
	// store lock is free, see storelock.Options.
	LeaseOnly bool
	// LockMemory is a directory outside the store in which is remembered what was seen of
	// store locks, so that those of a host that died are free after their stale time
	// also for processes that don't wait that long. Empty: only this handle remembers.
	LockMemory string
	// Events tell what goes on.
	Events Events
	// Disk performs every change; nil is the operating system. Tests make single operations fail with it.
	Disk *fsop.Disk
}

// Datastore is a datastore on disk. It holds no descriptor and no lock while no
// operation runs, so a disk can be unmounted under an idle one. It is safe for
// concurrent use.
type Datastore struct {
	path   string
	id     identity
	opts   Options
	server *pbsrun.Server
	lease  *lease // of one operation, see begin
	// moveJournal is told of each move before it happens; nil is the server's journal, if there is one.
	moveJournal func(ctx context.Context, indexes []string) error
	// patience bounds manifestWait and briefWait, for tests in which nobody lets go; 0 does not.
	patience time.Duration
	says     *activity.Publisher
	seen     *storelock.Memory // of store locks, by whoever waits for one
}

// identity tells whether a directory is still the one that was opened.
type identity struct{ dev, ino uint64 }

// Open looks at the directory and gives a handle to the datastore in it. It
// takes no lock and writes nothing. The error is [ErrNotFound], [ErrNotMounted]
// or [ErrNotDatastore] where there is no datastore.
func Open(path string, opts Options) (*Datastore, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("datastore %q: %w", path, err)
	}
	root, err := openDirectory(absolute)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := checkIsDatastore(root); err != nil {
		return nil, err
	}
	id, err := identityOf(root)
	if err != nil {
		return nil, err
	}
	says := activity.NewPublisher(activity.Place(opts.Activities))
	opts.Events.Progress = alsoSaying(says, opts)
	return &Datastore{path: absolute, id: id, opts: opts, server: opts.Server.server(opts.Disk), says: says, seen: &storelock.Memory{}}, nil
}

// Path is the absolute path of the store's root.
func (d *Datastore) Path() string { return d.path }

// openRoot opens the root for the length of one operation, and makes sure that
// it is still the directory that [Open] saw: a disk that was unmounted in
// between leaves an empty directory, in which nothing may be created.
func (d *Datastore) openRoot() (*os.File, error) {
	root, err := openDirectory(d.path)
	if err != nil {
		return nil, err
	}
	id, err := identityOf(root)
	if err == nil && id != d.id {
		err = fmt.Errorf("%q is another directory than before: %w", d.path, ErrNotMounted)
	}
	if err == nil {
		err = d.checkReadable()
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

func openDirectory(path string) (*os.File, error) {
	root, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &NotFoundError{Kind: "datastore", Name: path}
	case errors.Is(err, unix.ENOTDIR):
		return nil, fmt.Errorf("%q is no directory: %w", path, ErrNotDatastore)
	case err != nil:
		return nil, err
	}
	return root, nil
}

func identityOf(f *os.File) (identity, error) {
	stat, err := beneath.Stat(f, ".")
	if err != nil {
		return identity{}, err
	}
	return identity{dev: stat.Dev, ino: stat.Ino}, nil
}

// checkIsDatastore tells a datastore from an empty mount point and from any other directory.
func checkIsDatastore(root *os.File) error {
	stat, err := beneath.Stat(root, chunkDirName)
	if errors.Is(err, fs.ErrNotExist) {
		if empty, _ := isEmpty(root); empty {
			return fmt.Errorf("%q is empty: %w", root.Name(), ErrNotMounted)
		}
		return fmt.Errorf("%q holds no %s: %w", root.Name(), chunkDirName, ErrNotDatastore)
	}
	if err != nil {
		return err
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return nil
	case unix.S_IFLNK:
		return fmt.Errorf("%s in %q is a symbolic link, which is never followed: %w", chunkDirName, root.Name(), ErrNotDatastore)
	default:
		return fmt.Errorf("%s in %q is no directory: %w", chunkDirName, root.Name(), ErrNotDatastore)
	}
}

// isEmpty looks for anything but the file system's own lost+found.
func isEmpty(dir *os.File) (bool, error) {
	own, err := beneath.OpenDir(dir, ".")
	if err != nil {
		return false, err
	}
	defer own.Close()
	names, err := own.Readdirnames(16)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !isForeign(name) }), nil
}

// changeable refuses to change a store whose locks would protect nobody, or
// whose new files would belong to the wrong user.
func (d *Datastore) changeable(root *os.File) error {
	if err := d.checkReach(root); err != nil {
		return err
	}
	if err := d.checkServer(root); err != nil {
		return err
	}
	return d.checkUser(root)
}

func (d *Datastore) checkUser(root *os.File) error {
	stat, err := beneath.Stat(root, ".")
	if err != nil {
		return err
	}
	if uid := os.Geteuid(); uid != 0 && uint32(uid) != stat.Uid {
		return fmt.Errorf("%q belongs to user id %d, this process runs as %d: %w; run it as that user or as root",
			d.path, stat.Uid, uid, ErrWrongUser)
	}
	return nil
}

// disk gives what performs changes, with the owner of the store's root for new files.
func (d *Datastore) disk(root *os.File) (*fsop.Disk, error) {
	stat, err := beneath.Stat(root, ".")
	if err != nil {
		return nil, err
	}
	disk := withOwner(d.opts.Disk, fsop.Owner{UID: int(stat.Uid), GID: int(stat.Gid)})
	d.lease.gate(disk)
	return disk, nil
}

func withOwner(disk *fsop.Disk, owner fsop.Owner) *fsop.Disk {
	var owned fsop.Disk
	if disk != nil {
		owned = *disk
	}
	owned.Owner = &owner
	return &owned
}

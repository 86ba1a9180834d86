package pbsrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
)

// Where a server has its things unless [Options] say otherwise.
const (
	defaultEtc    = "/etc/proxmox-backup"
	defaultRun    = "/run/proxmox-backup"
	defaultMounts = "/mnt/datastore"
	defaultUser   = "backup"
)

// Options say where the server is. The zero value is where it is always.
type Options struct {
	// Etc is the directory with datastore.cfg, Run that with the locks.
	Etc, Run string
	// Mounts is the directory in which removable datastores are mounted.
	Mounts string
	// User is the name or the number of whom its daemons run as.
	User string
	// Disk makes lock files; its owner does not count. nil is the operating system.
	Disk *fsop.Disk
}

// Server is a Proxmox Backup Server as it is configured on this machine, running
// or not. It is safe for concurrent use.
type Server struct {
	opts Options

	mu     sync.Mutex // protects what was read of the configuration
	stamp  stamp
	config []Datastore
}

// stamp tells whether the configuration is still the file that was read: the
// server replaces it by a rename.
type stamp struct {
	dev, ino  uint64
	size      int64
	sec, nsec int64
}

// New gives the server. Nothing is read yet.
func New(opts Options) *Server {
	opts.Etc = or(opts.Etc, defaultEtc)
	opts.Run = or(opts.Run, defaultRun)
	opts.Mounts = or(opts.Mounts, defaultMounts)
	opts.User = or(opts.User, defaultUser)
	return &Server{opts: opts}
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// Config gives the datastores that the server is configured to serve, none where
// there is no server. It is read again when it has changed.
func (s *Server) Config() ([]Datastore, error) {
	name := filepath.Join(s.opts.Etc, "datastore.cfg")
	// A pipe in its place must not be waited for.
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	now := stamp{uint64(st.Dev), st.Ino, st.Size, int64(st.Mtim.Sec), int64(st.Mtim.Nsec)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now == s.stamp {
		return s.config, nil
	}
	list, err := ParseConfig(f)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	s.stamp, s.config = now, list
	return list, nil
}

// Find gives the datastore that the server serves from the directory with this
// device and inode number, nil if there is none. Where the configuration may not
// be read the error is fs.ErrPermission.
func (s *Server) Find(dev, ino uint64) (*Store, error) {
	list, err := s.Config()
	if err != nil {
		return nil, err
	}
	var found *Store
	for _, one := range list {
		if !isDirectory(one.directory(s.opts.Mounts), dev, ino) {
			continue
		}
		if err := one.check(); err != nil {
			return nil, err
		}
		if found != nil {
			return nil, fmt.Errorf("the datastores %q and %q are the same directory: %w", found.Name, one.Name, ErrConfig)
		}
		found = &Store{Datastore: one, server: s}
	}
	return found, nil
}

func isDirectory(path string, dev, ino uint64) bool {
	var st unix.Stat_t
	return path != "" && unix.Stat(path, &st) == nil && uint64(st.Dev) == dev && st.Ino == ino
}

// Owner is whom the server's daemons run as.
func (s *Server) Owner() (fsop.Owner, error) {
	u, err := user.Lookup(s.opts.User)
	if err != nil {
		var numeric error
		if u, numeric = user.LookupId(s.opts.User); numeric != nil {
			return s.numericOwner(err)
		}
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return fsop.Owner{}, err
	}
	gid, err := strconv.Atoi(u.Gid)
	return fsop.Owner{UID: uid, GID: gid}, err
}

// numericOwner is for a number that the list of users does not have.
func (s *Server) numericOwner(unknown error) (fsop.Owner, error) {
	if uid, err := strconv.ParseUint(s.opts.User, 10, 31); err == nil {
		return fsop.Owner{UID: int(uid), GID: int(uid)}, nil
	}
	return fsop.Owner{}, fmt.Errorf("the user that the Proxmox Backup Server runs as: %w", unknown)
}

// UserName is how that user was named.
func (s *Server) UserName() string { return s.opts.User }

// Mounted tells whether the file system of a removable datastore is there: what is
// in its directory without it belongs to another disk.
func (s *Store) Mounted() (bool, error) {
	if s.Device == "" {
		return true, nil
	}
	point := filepath.Join(s.server.opts.Mounts, s.Name)
	var own, above unix.Stat_t
	if err := unix.Stat(point, &own); err != nil {
		return false, &fs.PathError{Op: "stat", Path: point, Err: err}
	}
	if err := unix.Stat(filepath.Dir(point), &above); err != nil {
		return false, &fs.PathError{Op: "stat", Path: filepath.Dir(point), Err: err}
	}
	return own.Dev != above.Dev, nil
}

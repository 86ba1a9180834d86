package datastore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// The file in the store's root that says which locks are in force, and the
// directory of the store locks. The original skips hidden names.
const (
	schemeName   = ".pbs-like-locking"
	storeLockDir = ".pbs-like-locks"

	// storeLockMode lets the group of the store make locks: what root has made must not keep the store's owner out.
	storeLockMode = 0o775
	maxScheme     = 4096
)

// LockMode says whose locks count in a store.
type LockMode string

// The modes. A store in which nothing is said is local.
const (
	// LockLocal: those of this machine's kernel.
	LockLocal LockMode = "local"
	// LockShared: those that lie in the store itself, besides, so that several hosts may use it.
	LockShared LockMode = "shared"
	// LockChanging: somebody changes the mode, or died over that. Nothing may be changed meanwhile.
	LockChanging LockMode = "changing"
)

// LockScheme is which locks are in force in a store, for everybody.
type LockScheme struct {
	Mode LockMode `json:"mode"`
	// OnlyHost says, in local mode, that no other host uses the store, whatever its file system.
	OnlyHost bool `json:"only-host,omitempty"`
	// Stale and RecheckDelay are those of the store locks, see storelock.Options; 0 are its own.
	Stale        time.Duration `json:"stale-ns,omitempty"`
	RecheckDelay time.Duration `json:"recheck-delay-ns,omitempty"`
}

// schemeFormat is in the file, so that a later form of it is not misread.
const schemeFormat = 1

type schemeFile struct {
	Format int `json:"format"`
	LockScheme
}

// ErrScheme means that a store says of its locks what this program does not
// understand. Nothing in it may be changed.
var ErrScheme = errors.New("it is not known which locks are in force")

const (
	leastStale = time.Second
	mostStale  = 24 * time.Hour
	mostDelay  = time.Minute
)

// parseScheme is strict: what is not understood in every part may ask for locks that we don't know of.
func parseScheme(text []byte) (LockScheme, error) {
	var f schemeFile
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return LockScheme{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return LockScheme{}, errors.New("something follows the end")
	}
	if f.Format != schemeFormat {
		return LockScheme{}, fmt.Errorf("format %d, not %d", f.Format, schemeFormat)
	}
	return f.LockScheme, f.validate()
}

func (s LockScheme) validate() error {
	switch s.Mode {
	case LockLocal, LockShared, LockChanging:
	default:
		return fmt.Errorf("unknown mode %q", string(s.Mode))
	}
	if s.Stale != 0 && (s.Stale < leastStale || s.Stale > mostStale) {
		return fmt.Errorf("stale time %v: from %v to %v", s.Stale, leastStale, mostStale)
	}
	if s.RecheckDelay < 0 || s.RecheckDelay > mostDelay {
		return fmt.Errorf("recheck delay %v: from 0 to %v", s.RecheckDelay, mostDelay)
	}
	return nil
}

// readScheme tells which locks are in force. Whatever lies there and is no
// scheme that we know is ErrScheme, and never "local".
func readScheme(root *os.File) (LockScheme, error) {
	text, err := readBounded(root, schemeName, maxScheme)
	if errors.Is(err, fs.ErrNotExist) {
		return LockScheme{Mode: LockLocal}, nil
	}
	var scheme LockScheme
	if err == nil {
		scheme, err = parseScheme(text)
	}
	if err != nil {
		return LockScheme{}, fmt.Errorf("%q in %q: %w: %w", schemeName, root.Name(), ErrScheme, err)
	}
	return scheme, nil
}

// writeScheme says which locks are in force.
func writeScheme(disk *fsop.Disk, root *os.File, scheme LockScheme) error {
	text, err := json.Marshal(schemeFile{schemeFormat, scheme})
	if err != nil {
		return err
	}
	return disk.WriteFile(root, schemeName, append(text, '\n'), fileMode)
}

// errSchemeChanged is a refusal like that of a lock: whoever waits tries again.
var errSchemeChanged = fmt.Errorf("%w: its kind of locks is being changed; if nobody does that any more, set it again", flock.ErrLocked)

// checkReach refuses to change a store on a file system whose locks don't reach
// everybody, unless store locks are in force or somebody has said that nobody else is there.
func (d *Datastore) checkReach(root *os.File) error {
	scheme, err := readScheme(root)
	if err != nil {
		return err
	}
	reach, err := flock.Reach(root)
	if err != nil {
		return err
	}
	if reach.Local || d.opts.OnlyHost || scheme.OnlyHost || scheme.Mode != LockLocal {
		return nil
	}
	return errReach(d.path, reach.Name)
}

// errReach names both ways out.
func errReach(path, fileSystem string) error {
	return fmt.Errorf("%q is on a file system of type %s, where %w: set its locking to shared, for a store that several hosts use,"+
		" or to local, with the word that this is the only host", path, fileSystem, ErrSharedStore)
}

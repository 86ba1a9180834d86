package datastore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
	"unicode/utf8"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// A snapshot is protected while it has a file ".protected". The original makes it
// empty, looks only at whether it is there, and leaves it alone while it is. So its
// content is the place for what we know besides: a JSON object with the keys
// "reason" and "until". A server that is told to protect the snapshot once more
// empties the file: the protection stays, the facts are lost.

const (
	maxProtectionFile = 64 << 10
	maxReason         = 4 << 10
)

// Protection is what is known about the protection of a snapshot.
type Protection struct {
	// Protected says that the snapshot is protected.
	Protected bool
	// Until is when the protection may end; 0 where nothing was said. Nothing
	// happens by itself at that time: the snapshot stays protected until somebody
	// unprotects it.
	Until backupinfo.Time
	// Reason is free text, or empty.
	Reason string
}

// Expired tells whether the time that was given has come.
func (p Protection) Expired(now time.Time) bool {
	return p.Protected && p.Until != 0 && p.Until <= backupinfo.TimeOf(now)
}

// words continue the sentence "snapshot x is protected".
func (p Protection) words() string {
	text := ""
	if p.Until != 0 {
		text = " until " + p.Until.String()
	}
	if p.Expired(time.Now()) {
		text += ", which is over, though it stays protected until it is unprotected"
	}
	if p.Reason != "" {
		text += fmt.Sprintf(": %q", p.Reason)
	}
	return text
}

type protectionFile struct {
	Reason string          `json:"reason,omitempty"`
	Until  backupinfo.Time `json:"until,omitempty"`
}

// ProtectOptions are what is noted beside a protection.
type ProtectOptions struct {
	// Until and Reason are kept for whoever looks at the protection later; see [Protection].
	Until  backupinfo.Time
	Reason string
}

func (o ProtectOptions) check() error {
	if len(o.Reason) > maxReason || !utf8.ValidString(o.Reason) {
		return fmt.Errorf("a reason must be UTF-8 of at most %d bytes", maxReason)
	}
	return nil
}

// over gives the protection that comes out where there is one already.
func (o ProtectOptions) over(now Protection) Protection {
	next := Protection{Protected: true, Until: now.Until, Reason: now.Reason}
	if o.Until != 0 {
		next.Until = o.Until
	}
	if o.Reason != "" {
		next.Reason = o.Reason
	}
	return next
}

// file gives the content of the marker: nothing, as the original's, where there is nothing to say.
func (p Protection) file() ([]byte, error) {
	if p.Until == 0 && p.Reason == "" {
		return nil, nil
	}
	text, err := json.Marshal(protectionFile{Reason: p.Reason, Until: p.Until})
	return append(text, '\n'), err
}

// Protect keeps a snapshot from being removed, by us and by a server, whatever
// the rules and whoever forces it. Of one that is protected already, a fact
// is replaced where a new one is given. It is refused while anybody reads the
// snapshot, writes it or uses it as a base (flock.ErrLocked).
//
// After nil the protection is durable. changed says whether there was anything to do.
func (d *Datastore) Protect(ctx context.Context, snapshot backupinfo.Snapshot, opts ProtectOptions) (changed bool, err error) {
	if err := opts.check(); err != nil {
		return false, err
	}
	err = d.changeProtection(ctx, snapshot, func(disk *fsop.Disk, dir *os.File, now Protection) error {
		next := opts.over(now)
		text, err := next.file()
		if err != nil || next == now {
			return err
		}
		changed = true
		return disk.WriteFile(dir, backupinfo.ProtectedName, text, fileMode)
	})
	return changed && err == nil, err
}

// UnprotectOptions are how a protection is taken away.
type UnprotectOptions struct {
	// OnlyExpired leaves a protection alone whose time has not come, or which has none.
	OnlyExpired bool
}

// Unprotect lets a snapshot be removed again. The locks are those of
// [Datastore.Protect]. changed says whether there was anything to do.
func (d *Datastore) Unprotect(ctx context.Context, snapshot backupinfo.Snapshot, opts UnprotectOptions) (changed bool, err error) {
	err = d.changeProtection(ctx, snapshot, func(disk *fsop.Disk, dir *os.File, now Protection) error {
		if !now.Protected || opts.OnlyExpired && !now.Expired(time.Now()) {
			return nil
		}
		changed = true
		return removeFile(disk, dir, backupinfo.ProtectedName)
	})
	return changed && err == nil, err
}

// changeProtection calls change under L3, with what holds under it.
func (d *Datastore) changeProtection(ctx context.Context, snapshot backupinfo.Snapshot, change func(*fsop.Disk, *os.File, Protection) error) (err error) {
	d = d.begin()
	root, disk, err := d.openForChange()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := findSnapshot(root, snapshot); err != nil {
		return err
	}
	var dir *os.File
	set, err := d.acquire(ctx, func(set *guards) error {
		guard, err := lockSnapshotToMark(set, root, snapshot)
		if err == nil {
			dir = guard.File()
		}
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	return change(disk, dir, readProtection(dir))
}

// Protection tells whether a snapshot is protected, and what was noted beside it. It takes no lock.
func (d *Datastore) Protection(ctx context.Context, snapshot backupinfo.Snapshot) (Protection, error) {
	if err := ctx.Err(); err != nil {
		return Protection{}, err
	}
	root, err := d.openRoot()
	if err != nil {
		return Protection{}, err
	}
	defer root.Close()
	if err := findSnapshot(root, snapshot); err != nil {
		return Protection{}, err
	}
	dir, err := beneath.OpenDir(root, snapshot.Dir())
	if err != nil {
		return Protection{}, notFound(err, "snapshot", snapshot.Dir())
	}
	defer dir.Close()
	return readProtection(dir), nil
}

// readProtection reads the marker of an open snapshot. Whatever lies there under
// its name protects; what can't be read of it is only missing from the facts.
func readProtection(dir *os.File) Protection {
	text, err := readBounded(dir, backupinfo.ProtectedName, maxProtectionFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Protection{}
	}
	var facts protectionFile
	if err != nil || json.Unmarshal(text, &facts) != nil || len(facts.Reason) > maxReason {
		facts = protectionFile{}
	}
	return Protection{Protected: true, Until: facts.Until, Reason: facts.Reason}
}

package pbsrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

// Use is what an operation does with a datastore.
type Use int

// What the server counts before it lets a maintenance mode begin.
const (
	Reading Use = iota
	Writing
)

// activeWait is how long the server waits for the lock of its list of operations.
const activeWait = 10 * time.Second

// maxActive bounds the list that is read.
const maxActive = 4 << 20

// activeProcess is an entry of the list: how much a process is doing. The start
// time is in ticks since the machine started, field 22 of /proc/PID/stat.
type activeProcess struct {
	PID        int    `json:"pid"`
	StartTime  uint64 `json:"starttime"`
	Operations struct {
		Read  int64 `json:"read"`
		Write int64 `json:"write"`
	} `json:"active_operations"`
}

// Entry is an operation that the server counts. Closing it again does nothing.
type Entry struct {
	store *Store
	use   Use
	mu    sync.Mutex
	gone  bool
}

// Enter counts an operation of this process, so that the server's maintenance
// modes wait for its end. Entries of processes that have died are dropped.
func (s *Store) Enter(ctx context.Context, use Use) (*Entry, error) {
	if err := s.count(ctx, use, 1); err != nil {
		return nil, err
	}
	return &Entry{store: s, use: use}, nil
}

// Close ends the operation.
func (e *Entry) Close() error {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return nil
	}
	// An operation that was cancelled has ended all the same.
	err := e.store.count(context.Background(), e.use, -1)
	e.gone = err == nil
	return err
}

// count adds to this process' entry, under the lock that the server has for it.
func (s *Store) count(ctx context.Context, use Use, n int64) (err error) {
	disk, err := s.disk()
	if err != nil {
		return err
	}
	dir, err := s.directory(disk, "active-operations", activeDirMode)
	if err != nil {
		return err
	}
	defer dir.Close()
	guard, err := waitFor(ctx, disk, dir, s.Name+".lock", activeWait)
	if err != nil {
		return fmt.Errorf("list of the operations on datastore %q: %w", s.Name, err)
	}
	defer func() { err = errors.Join(err, guard.Close()) }()
	text, err := readList(dir, s.Name)
	if err != nil {
		return err
	}
	if text, err = counted(text, os.Getpid(), use, n); err != nil {
		return fmt.Errorf("%q: %w: stop the server, and remove it", dir.Name()+"/"+s.Name, err)
	}
	return replace(disk, dir, s.Name, text)
}

func waitFor(ctx context.Context, disk *fsop.Disk, dir *os.File, name string, timeout time.Duration) (guard io.Closer, err error) {
	err = flock.Wait{Timeout: timeout}.Do(ctx, func() (err error) {
		guard, err = lockFile(disk, dir, name, flock.Exclusive)
		return err
	})
	return guard, err
}

func readList(dir *os.File, name string) ([]byte, error) {
	f, err := beneath.OpenRegular(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxActive+1))
	if err == nil && len(text) > maxActive {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: unix.EFBIG}
	}
	return text, err
}

// replace gives the file a new content in one step. It need not survive the end of
// the machine, which ends all operations.
func replace(disk *fsop.Disk, dir *os.File, name string, text []byte) error {
	f, err := disk.CreateTemp(dir, temporaryStart, fileMode)
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit(name, fsop.CommitOptions{})
}

var errList = errors.New("not a list of operations")

// counted gives the list with n operations more of the process. Entries of others
// stay as they are, unless their process is gone.
func counted(text []byte, pid int, use Use, n int64) ([]byte, error) {
	var list []json.RawMessage
	if len(text) > 0 {
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("%w: %w", errList, err)
		}
	}
	start, err := startTime(pid)
	if err != nil {
		return nil, err
	}
	own := activeProcess{PID: pid, StartTime: start}
	kept := []json.RawMessage{}
	for _, raw := range list {
		var one activeProcess
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, fmt.Errorf("%w: %w", errList, err)
		}
		switch {
		case one.PID == pid && one.StartTime == start:
			own = one
		case alive(one.PID, one.StartTime):
			kept = append(kept, raw)
		}
	}
	own.add(use, n)
	if own.Operations.Read > 0 || own.Operations.Write > 0 {
		raw, err := json.Marshal(own)
		if err != nil {
			return nil, err
		}
		kept = append(kept, raw)
	}
	return json.Marshal(kept)
}

// add never goes below none: somebody may have emptied the list meanwhile.
func (p *activeProcess) add(use Use, n int64) {
	if use == Reading {
		p.Operations.Read = max(0, p.Operations.Read+n)
	} else {
		p.Operations.Write = max(0, p.Operations.Write+n)
	}
}

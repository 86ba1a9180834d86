package activity

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pbs-like/pbs-like/internal/fsop"
)

const (
	dirMode  = 0o755
	fileMode = 0o644
	// every is how far apart two writes of a publisher are at least.
	every = time.Second
	// maxSwept bounds how many files of others are looked at.
	maxSwept = 4096

	// temporary comes behind the name of the process, so that what is left is swept too.
	temporary = ".tmp_"
)

// Publisher says what this process does. Nothing that goes wrong with it is an error
// of what is done. It is safe for concurrent use.
type Publisher struct {
	place Place
	now   func() time.Time

	mu      sync.Mutex
	own     Process
	dir     string // where it can be written; "" is not known yet
	nowhere bool
	last    time.Time // of the last write
	running []*Running
}

// NewPublisher gives a publisher. Nothing is written yet.
func NewPublisher(place Place) *Publisher {
	return &Publisher{place: place, now: time.Now, nowhere: len(place.Dirs) == 0}
}

// Running is an activity that goes on. A nil one does nothing.
type Running struct {
	publisher *Publisher
	what      Activity
	file      string // its name, once there is one
	later     *time.Timer
	over      bool
}

// Begin publishes an activity until it is closed. A publisher that is nil says nothing.
func (p *Publisher) Begin(what Activity) *Running {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nowhere {
		return nil
	}
	what.Started = p.now().Unix()
	r := &Running{publisher: p, what: what}
	p.running = append(p.running, r)
	r.publish()
	return r
}

// Close ends the activity. The error is always nil.
func (r *Running) Close() error {
	if r == nil {
		return nil
	}
	p := r.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.over {
		return nil
	}
	r.over = true
	if r.later != nil {
		r.later.Stop()
	}
	for i, other := range p.running {
		if other == r {
			p.running = append(p.running[:i], p.running[i+1:]...)
			break
		}
	}
	if r.file != "" {
		_ = p.inDir(func(dir *os.File) error { return new(fsop.Disk).Remove(dir, r.file) })
	}
	return nil
}

// Progress notes how far the activity is that works on the object, or the newest one
// of that operation.
func (p *Publisher) Progress(operation, object string, done, total uint64, items bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.find(operation, object)
	if r == nil {
		return
	}
	part := strings.TrimPrefix(strings.TrimPrefix(object, r.what.Object), "/")
	switch {
	case r.what.Operation == Reading:
		r.what.Operation = operation
	case part == "" && operation != r.what.Operation:
		part = operation
	}
	r.what.Part, r.what.Done, r.what.Total, r.what.Items = part, done, total, items
	r.publish()
}

func (p *Publisher) find(operation, object string) (found *Running) {
	for _, r := range p.running {
		switch {
		case r.what.Object != "" && (object == r.what.Object || strings.HasPrefix(object, r.what.Object+"/")):
			return r
		case r.what.Operation == operation:
			found = r
		}
	}
	return found
}

// publish writes the file, now or when it may be written again.
func (r *Running) publish() {
	p := r.publisher
	if r.over || r.later != nil {
		return
	}
	if wait := every - p.now().Sub(p.last); wait > 0 {
		r.later = time.AfterFunc(wait, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			r.later = nil
			if !r.over {
				r.write()
			}
		})
		return
	}
	r.write()
}

func (r *Running) write() {
	p := r.publisher
	p.last = p.now()
	text, err := json.Marshal(r.what)
	if err != nil {
		return
	}
	_ = p.inDir(func(dir *os.File) error {
		f, err := new(fsop.Disk).CreateTemp(dir, p.own.prefix()+temporary, fileMode)
		if err != nil {
			return err
		}
		if _, err := f.Write(text); err != nil {
			return errors.Join(err, f.Discard())
		}
		name := r.file
		if name == "" {
			name = strings.Replace(f.Name(), temporary, "", 1)
		}
		if err := f.Commit(name, fsop.CommitOptions{}); err != nil {
			return errors.Join(err, f.Discard())
		}
		r.file = name
		return nil
	})
}

// inDir does something in the directory, which is looked for the first time.
func (p *Publisher) inDir(do func(dir *os.File) error) error {
	if p.dir == "" {
		p.choose()
	}
	if p.nowhere {
		return fs.ErrNotExist
	}
	dir, err := open(p.dir)
	if err != nil {
		return err
	}
	return errors.Join(do(dir), dir.Close())
}

// choose takes the first directory that can be written to, and makes it if need be.
func (p *Publisher) choose() {
	own, known := self()
	p.own, p.nowhere = own, true
	if !known {
		return
	}
	for _, name := range p.place.of(os.Geteuid()) {
		dir, err := makeDir(name, own)
		if err != nil {
			continue
		}
		p.dir, p.nowhere = name, false
		sweep(dir)
		_ = dir.Close()
		return
	}
}

// makeDir opens a directory that this user can make files in.
func makeDir(name string, own Process) (*os.File, error) {
	dir, err := open(name)
	if errors.Is(err, fs.ErrNotExist) {
		above, err := os.Open(filepath.Dir(name))
		if err != nil {
			return nil, err
		}
		defer above.Close()
		if err := new(fsop.Disk).Mkdir(above, filepath.Base(name), dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		dir, err = open(name)
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	probe, err := new(fsop.Disk).CreateTemp(dir, own.prefix()+temporary, fileMode)
	if err == nil {
		err = probe.Discard()
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// sweep removes what processes that are gone have left behind.
func sweep(dir *os.File) {
	names, _ := dir.Readdirnames(maxSwept)
	for _, name := range names {
		if isOver(name) {
			_ = new(fsop.Disk).Remove(dir, name)
		}
	}
}

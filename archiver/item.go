package archiver

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/pxar"
)

// item is one step of the tree. It either says itself what is to be done, or is an entry that a worker looks at.
type item struct {
	do    func(Sink) error
	count func(*Report)

	name   string
	where  *place
	dir    *directory    // held until it is loaded
	loaded chan struct{} // closed when what follows is there

	entry   pxar.Entry
	content *content // of a regular file
	inode   Inode
	born    int64  // when the inode was made, in ns, of a file with several names; 0 is unknown
	names   uint64 // how many hard links there are
	err     error
}

// abandon is for an item that no worker gets.
func (it *item) abandon() {
	if it.dir != nil {
		it.dir.release()
	}
}

// discard is for an item that the sink does not get.
func (it *item) discard() {
	if it.loaded == nil {
		return
	}
	<-it.loaded
	if it.content != nil {
		_ = it.content.Close()
	}
}

// startWorkers loads what comes until work is closed. Contents stay readable until ctx ends, and
// when inner has ended nothing is loaded any more.
func (a *Archiver) startWorkers(ctx, inner context.Context, work <-chan *item) *sync.WaitGroup {
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for it := range work {
				if it.err = context.Cause(inner); it.err == nil {
					it.err = a.load(ctx, it)
				}
				it.dir.release()
				close(it.loaded)
			}
		})
	}
	return &group
}

// load looks at an entry, again if something else takes its place meanwhile.
func (a *Archiver) load(ctx context.Context, it *item) (err error) {
	for attempt := range attempts {
		err = a.loadOnce(ctx, it, attempt == attempts-1)
		if !errors.Is(err, errChanged) && err != unix.ELOOP && err != unix.ENOTDIR {
			return err
		}
	}
	return err
}

func (a *Archiver) loadOnce(ctx context.Context, it *item, last bool) error {
	seen, err := look(it.dir.fd, it.name)
	if err != nil {
		return err
	}
	if seen.Mode&unix.S_IFMT == unix.S_IFDIR {
		return errChanged // it was none when the directory was listed
	}
	fd, st, err := open(it.dir.fd, it.name, &seen)
	if err != nil {
		return err
	}
	it.inode, it.names = inodeOf(&st), uint64(st.Nlink)
	it.entry, err = a.describe(fd, &st, it)
	if err != nil || it.entry.Kind != pxar.File {
		_ = unix.Close(fd)
		return err
	}
	if it.names > 1 {
		it.born = birth(fd)
	}
	c := newContent(ctx, a, it, fd, &st)
	if a.opts.ReadAhead && it.names == 1 {
		if err := c.readAhead(last); err != nil {
			_ = c.Close()
			return err
		}
	}
	it.content = c
	return nil
}

// describe makes the entry of what is open.
func (a *Archiver) describe(fd int, st *unix.Stat_t, it *item) (e pxar.Entry, err error) {
	if e.Metadata, err = a.metadata(fd, st, func() string { return it.where.pathOf(it.name) }); err != nil {
		return e, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.Kind, e.Size = pxar.File, uint64(st.Size)
	case unix.S_IFLNK:
		e.Kind = pxar.Symlink
		e.Target, err = readLink(fd)
	case unix.S_IFIFO:
		e.Kind = pxar.FIFO
	case unix.S_IFSOCK:
		e.Kind = pxar.Socket
	case unix.S_IFCHR, unix.S_IFBLK:
		e.Kind = pxar.Device
		e.Major, e.Minor = uint64(unix.Major(st.Rdev)), uint64(unix.Minor(st.Rdev))
	default:
		err = errNotRegular
	}
	return e, err
}

// readLink reads the link that fd pins.
func readLink(fd int) (string, error) {
	buf := make([]byte, unix.PathMax)
	n := 0
	err := again(func() (err error) {
		n, err = unix.Readlinkat(fd, "", buf)
		return err
	})
	return string(buf[:max(n, 0)]), err
}

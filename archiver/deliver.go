package archiver

import (
	"github.com/pbs-like/pbs-like/pxar"
)

// firstName is the name under which a file is in the archive, and how many others are still to come.
type firstName struct {
	where *place
	name  string
	left  uint64
}

// links are the files with more names than were seen.
type links map[file]firstName

// file is one, and not another that got the number of its inode after it was removed.
type file struct {
	Inode

	born int64
}

// maxTarget is how long the path of a first name may be for others to refer to it.
const maxTarget = 4096

// deliver gives the items to the sink, in order. After an error the rest is still in the channel.
func (a *Archiver) deliver(items <-chan *item, sink Sink) error {
	for it := range items {
		if err := a.deliverOne(it, sink); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archiver) deliverOne(it *item, sink Sink) (err error) {
	switch {
	case it.do != nil:
		err = it.do(sink)
	default:
		<-it.loaded
		if it.err != nil {
			return a.notes.leaveOut(it.where.pathOf(it.name), it.err)
		}
		err = a.add(it, sink)
	}
	if err == nil && it.count != nil {
		a.notes.count(it.count)
	}
	return err
}

func (a *Archiver) add(it *item, sink Sink) error {
	if it.entry.Kind != pxar.File {
		it.count = func(r *Report) { r.Others++ }
		return sink.Add(it.name, &it.entry)
	}
	if first, ok := a.links.take(it); ok {
		_ = it.content.Close() // only read from
		it.count = func(r *Report) { r.HardLinks++ }
		return sink.Link(it.name, first.where.pathOf(first.name)[len("/"):])
	}
	it.count = func(r *Report) {
		r.Files++
		r.Bytes += it.entry.Size
	}
	linked := it.names > 1 && it.where.lengthOf(it.name) <= maxTarget
	if linked {
		a.links[it.file()] = firstName{it.where, it.name, it.names - 1}
	}
	return sink.AddFile(it.name, &it.entry.Metadata, it.entry.Size, it.content, linked)
}

func (it *item) file() file { return file{it.inode, it.born} }

// take finds the first name of a file, and forgets it with the last of the others.
func (l links) take(it *item) (firstName, bool) {
	key := it.file()
	first, ok := l[key]
	if !ok || it.names < 2 {
		return first, false
	}
	if first.left--; first.left == 0 {
		delete(l, key)
	} else {
		l[key] = first
	}
	return first, true
}

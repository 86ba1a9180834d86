package activity

import (
	"cmp"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Reader finds what processes say about themselves. It reads each directory once, so
// it is for one look. It is for one goroutine.
type Reader struct {
	place Place
	names map[string][]string
}

// maxNames bounds how many names of a directory are read, maxEach how many
// activities of a process.
const (
	maxNames = 1 << 16
	maxEach  = 64
)

// NewReader gives a reader.
func NewReader(place Place) *Reader { return &Reader{place: place, names: map[string][]string{}} }

// Of lists what the process says that it does, the oldest first. uid is the user
// that the process runs as: what others say about it is not listened to.
func (r *Reader) Of(process Process, uid int) []Activity {
	if process.PID <= 0 || process.Start == 0 || uid < 0 {
		return nil
	}
	var all []Activity
	for _, dir := range r.place.of(uid) {
		all = append(all, r.in(dir, process, uid)...)
	}
	slices.SortStableFunc(all, func(a, b Activity) int { return cmp.Compare(a.Started, b.Started) })
	return all[:min(len(all), maxEach)]
}

func (r *Reader) in(path string, process Process, uid int) (all []Activity) {
	dir, err := open(path)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, known := r.names[path]
	if !known {
		names, _ = dir.Readdirnames(maxNames)
		slices.Sort(names)
		r.names[path] = names
	}
	first, _ := slices.BinarySearch(names, process.prefix())
	for _, name := range names[first:] {
		rest, ok := strings.CutPrefix(name, process.prefix())
		if !ok || len(all) == maxEach {
			break
		}
		if strings.HasPrefix(rest, temporary) {
			continue
		}
		if a, ok := read(dir, name, uid); ok {
			all = append(all, a)
		}
	}
	return all
}

func read(dir *os.File, name string, uid int) (a Activity, ok bool) {
	f, err := openAt(int(dir.Fd()), name, dir.Name()+"/"+name, unix.O_RDONLY)
	if err != nil {
		return a, false
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || int64(st.Uid) != int64(uid) || st.Size > maxFile {
		return a, false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return a, false
	}
	a, err = parse(text)
	return a, err == nil
}

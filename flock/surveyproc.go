package flock

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fewNames is how many descriptors are looked at in one go: a process may have a
// million of them.
const fewNames = 1024

// eachLock calls found for each lock on a descriptor of the process that leads to one
// of the devices. It tells whether the process could be looked at.
func (p procfs) eachLock(pid int, buf []byte, devices map[uint64]bool, found func(file ident, path string, l lockLine)) (visible bool) {
	dir := p.root + "/" + strconv.Itoa(pid)
	fd, err := unix.Open(dir+"/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	list := os.NewFile(uintptr(fd), dir+"/fd")
	defer list.Close()
	visible = true
	for {
		names, err := list.Readdirnames(fewNames)
		for _, name := range names {
			id, err := behind(fd, name)
			if errors.Is(err, fs.ErrPermission) {
				visible = false
			}
			if err != nil || !devices[id.dev] {
				continue
			}
			for _, l := range locksIn(readHead(dir+"/fdinfo/"+name, buf)) {
				found(id, linkAt(fd, name), l)
			}
		}
		if err != nil {
			return visible
		}
	}
}

// behind tells which file a descriptor of another process leads to. The file
// systems are not asked anew: one that hangs must not hang the search.
func behind(fds int, name string) (ident, error) {
	var st unix.Statx_t
	err := again(func() error {
		return unix.Statx(fds, name, unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, unix.STATX_INO, &st)
	})
	if err == unix.ENOSYS || err == unix.EPERM { // an old kernel, or a filter in front of it
		var old unix.Stat_t
		err = unix.Fstatat(fds, name, &old, 0)
		return identOf(&old), err
	}
	return ident{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}, err
}

func linkAt(dirfd int, name string) string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dirfd, name, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

type mountPoint struct {
	point  string
	device uint64 // as lock lines have it
}

// mountsBelow lists what is mounted below a directory, in this process' tree.
func (p procfs) mountsBelow(dir string) iter.Seq[mountPoint] {
	return func(yield func(mountPoint) bool) {
		mounts, _ := os.ReadFile(p.root + "/self/mountinfo")
		for line := range strings.Lines(string(mounts)) {
			f := strings.Fields(line)
			if len(f) < 5 {
				continue
			}
			m := mountPoint{unescapeMount(f[4]), parseDevice(f[2])}
			if strings.HasPrefix(m.point, strings.TrimSuffix(dir, "/")+"/") && !yield(m) {
				return
			}
		}
	}
}

// unescapeMount undoes what the kernel does to blanks, tabs, line feeds and
// backslashes: \ and three octal digits.
func unescapeMount(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

package flock

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxInfo is how much of a file in /proc is read. The locks come early in it; a
// descriptor that watches thousands of files has a long rest.
const maxInfo = 16 << 10

// sighting is a lock seen on a descriptor of a process.
type sighting struct {
	owner       // who has it
	taken owner // who took it
	file  ident // the file behind the descriptor, as stat has it
}

// process returns the locks that a process has on files with that inode number.
// It is not readable if it is gone or may not be looked at.
func (p procfs) process(pid int, ino uint64) (seen []sighting, readable bool) {
	if pid <= 0 {
		return nil, false
	}
	dir := p.root + "/" + strconv.Itoa(pid)
	fds, err := os.Open(dir + "/fdinfo")
	if err != nil {
		return nil, false
	}
	defer fds.Close()
	names, err := fds.Readdirnames(-1)
	buf := make([]byte, maxInfo)
	for _, fd := range names {
		for _, l := range locksOf(readHead(dir+"/fdinfo/"+fd, buf), ino) {
			if file, ok := fileBehind(dir+"/fd/"+fd, l); ok {
				seen = append(seen, sighting{owner{pid, l.kind, l.mode}, owner{l.pid, l.kind, l.mode}, file})
			}
		}
	}
	return seen, err == nil
}

// locksOf returns the locks in a text of fdinfo that are about the inode number.
func locksOf(info []byte, ino uint64) []lockLine {
	if !bytes.Contains(info, []byte("lock:")) {
		return nil
	}
	var lines []lockLine
	for text := range strings.Lines(string(info)) {
		rest, ok := strings.CutPrefix(text, "lock:")
		if !ok {
			continue
		}
		if l, ok := parseLockLine(rest); ok && l.id.ino == ino {
			lines = append(lines, l)
		}
	}
	return lines
}

// fileBehind asks which file a descriptor is about, because the device in the
// lock's line is not always the one of stat. The file system is not asked anew:
// one that hangs must not hang the search.
func fileBehind(link string, l lockLine) (ident, bool) {
	var st unix.Statx_t
	err := again(func() error {
		return unix.Statx(unix.AT_FDCWD, link, unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, unix.STATX_INO, &st)
	})
	switch err {
	case nil:
		return ident{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}, true
	case unix.ENOENT:
		return ident{}, false // closed meanwhile
	default:
		return l.id, true
	}
}

// deviceOf returns the device by which the kernel's lock lines call the file
// system of an open file, or 0.
func (p procfs) deviceOf(fd int) uint64 {
	info := readHead(p.root+"/self/fdinfo/"+strconv.Itoa(fd), make([]byte, maxInfo))
	_, rest, ok := strings.Cut(string(info), "mnt_id:")
	if !ok {
		return 0
	}
	id, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	mounts, _ := os.ReadFile(p.root + "/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == id {
			return parseDevice(f[2])
		}
	}
	return 0
}

// parseDevice reads the decimal "major:minor" of mountinfo.
func parseDevice(s string) uint64 {
	major, minor, _ := strings.Cut(s, ":")
	ma, err1 := strconv.ParseUint(major, 10, 32)
	mi, err2 := strconv.ParseUint(minor, 10, 32)
	if err1 != nil || err2 != nil {
		return 0
	}
	return unix.Mkdev(uint32(ma), uint32(mi))
}

// readHead returns the beginning of a file in /proc, which is not read through
// os.File because a search reads thousands of them.
func readHead(path string, buf []byte) []byte {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var n int
	err = again(func() (err error) {
		n, err = unix.Read(fd, buf)
		return err
	})
	if err != nil {
		return nil
	}
	return buf[:n]
}

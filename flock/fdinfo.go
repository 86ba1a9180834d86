package flock

import (
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
}

// process returns the locks that a process has on the file. It is not readable if
// it is gone or may not be looked at.
//
// The descriptors are compared by what stat says, because lock lines call a file
// on btrfs or overlay by other numbers.
func (p procfs) process(pid int, file ident) (seen []sighting, readable bool) {
	if pid <= 0 {
		return nil, false
	}
	dir := p.root + "/" + strconv.Itoa(pid)
	fds, err := unix.Open(dir+"/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	list := os.NewFile(uintptr(fds), dir+"/fd")
	defer list.Close()
	names, err := list.Readdirnames(-1) // what was read before an error is as good
	for _, name := range names {
		if !leadsTo(fds, name, file) {
			continue
		}
		for _, l := range locksIn(readHead(dir+"/fdinfo/"+name, make([]byte, maxInfo))) {
			seen = append(seen, sighting{owner{pid, l.kind, l.mode}, owner{l.pid, l.kind, l.mode}})
		}
	}
	return seen, err == nil
}

// leadsTo compares a descriptor of another process with a file.
func leadsTo(fds int, name string, file ident) bool {
	id, err := behind(fds, name)
	return err == nil && id == file
}

// locksIn returns the locks in a text of fdinfo.
func locksIn(info []byte) []lockLine {
	var lines []lockLine
	for text := range strings.Lines(string(info)) {
		rest, ok := strings.CutPrefix(text, "lock:")
		if !ok {
			continue
		}
		if l, ok := parseLockLine(rest); ok {
			lines = append(lines, l)
		}
	}
	return lines
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

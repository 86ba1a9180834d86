package procstat

import (
	"bytes"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Process is what the file tells of one.
type Process struct {
	// Name is the short name of the program, which may hold anything.
	Name string
	// State is one letter: R, S, D, Z and so on.
	State byte
	// Start is when it started, in ticks since the machine did.
	Start uint64
}

// Of reads the file of a process. The error is fs.ErrNotExist when there is no such process.
func Of(pid int) (Process, error) { return read(strconv.Itoa(pid)) }

// Self reads that of this process.
func Self() (Process, error) { return read("self") }

func read(name string) (Process, error) {
	path := "/proc/" + name + "/stat"
	text, err := os.ReadFile(path)
	if err != nil {
		return Process{}, err
	}
	p, ok := Parse(text)
	if !ok {
		return Process{}, &fs.PathError{Op: "read", Path: path, Err: unix.EINVAL}
	}
	return p, nil
}

// Over tells whether the process has ended and only waits to be noticed by its parent:
// it has no descriptors any more, and so no locks.
func (p Process) Over() bool { return p.State == 'Z' || p.State == 'X' }

// The places of fields behind the name, which is field 2: the state is field 3, the start field 22.
const (
	stateField = 0
	startField = 22 - 3
)

// Parse reads the text of the file; ok is false where it is none, or cut off
// behind the name, which is told all the same. The name stands in
// parentheses and may contain some itself, so what comes after it is counted from the last one.
func Parse(text []byte) (p Process, ok bool) {
	begin, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return Process{}, false
	}
	p.Name = string(text[begin+1 : end])
	fields := bytes.Fields(text[end+1:])
	if len(fields) <= startField || len(fields[stateField]) != 1 || fields[stateField][0] < 'A' {
		return p, false
	}
	start, err := strconv.ParseUint(string(fields[startField]), 10, 64)
	if err != nil {
		return p, false
	}
	p.State, p.Start = fields[stateField][0], start
	return p, true
}

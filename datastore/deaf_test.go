package datastore_test

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deafenLocks makes the kernel answer "done" to every flock and to every record
// lock of this process without doing anything, which is what a network file system does
// whose locks stay on one host. Two processes of that kind are as two hosts to each other.
func deafenLocks() error { return answerLocks(0) }

// answerLocks makes the kernel give that answer to every lock that this process asks for.
func answerLocks(errno unix.Errno) error {
	const (
		argument = 24 // of the second one, in what a filter looks at
		setLock  = 37 // F_OFD_SETLK
	)
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	equal := func(value uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: value}
	}
	answer := func(value uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value} }
	filter := []unix.SockFilter{
		load(0),
		equal(unix.SYS_FLOCK, 3, 0),
		equal(unix.SYS_FCNTL, 0, 3),
		load(argument),
		equal(setLock, 0, 1),
		answer(unix.SECCOMP_RET_ERRNO | uint32(errno)),
		answer(unix.SECCOMP_RET_ALLOW),
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if failed != 0 {
		return failed
	}
	return nil
}

package datastore

import (
	"bytes"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
)

// The kinds of task, as the original calls them.
const (
	taskCollect = "garbage_collection"
	taskVerify  = "verificationjob"
)

// newUPID names a task that begins now. It is written where the original leaves
// the name of its own task.
func (d *Datastore) newUPID(kind string, start time.Time) backupinfo.UPID {
	return backupinfo.UPID{
		Node: nodeName(), PID: uint32(os.Getpid()), ProcessStart: processStart(),
		TaskID: uint64(start.UnixNano()) & 0xffffffff, Start: max(0, start.Unix()),
		WorkerType: kind, WorkerID: path.Base(d.path), AuthID: backupinfo.DefaultOwner,
	}
}

// nodeName is the first part of the host's name, as far as a UPID can hold it.
func nodeName() string {
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z') {
			return r
		}
		return -1
	}, host), "-")
	if name == "" {
		return "localhost"
	}
	return name
}

// processStart is field 22 of /proc/self/stat, see proc_pid_stat(5), or 0. The
// second field is the program's name in brackets, which may hold anything.
func processStart() uint64 {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const startTime = 22 - 3
	if len(fields) <= startTime {
		return 0
	}
	ticks, _ := strconv.ParseUint(string(fields[startTime]), 10, 64)
	return ticks
}

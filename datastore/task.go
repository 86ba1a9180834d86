package datastore

import (
	"os"
	"path"
	"strings"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/procstat"
)

// The kinds of task, as the original calls them.
const (
	taskCollect = "garbage_collection"
	taskVerify  = "verificationjob"
)

// newUPID names a task that begins now. It is written where the original leaves
// the name of its own task.
func (d *Datastore) newUPID(kind string, start time.Time) backupinfo.UPID {
	self, _ := procstat.Self() // without /proc the name says 0
	return backupinfo.UPID{
		Node: nodeName(), PID: uint32(os.Getpid()), ProcessStart: self.Start,
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

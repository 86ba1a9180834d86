package datastore

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/flock"
)

const (
	defaultServerLog = "/var/log/proxmox-backup"
	maxTaskList      = 4 << 20
	maxTaskLine      = 64 << 10
)

// activeTasks reads the list in which the server names its tasks, one UPID a line. One
// that has ended stays for a while, with its result behind it. Where the list can't
// be read, there are none to tell of.
func activeTasks(log string) []backupinfo.UPID {
	if log == "" {
		log = defaultServerLog
	}
	f, err := os.OpenFile(filepath.Join(log, "tasks", "active"), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return parseTasks(io.LimitReader(f, maxTaskList))
}

func parseTasks(list io.Reader) (tasks []backupinfo.UPID) {
	lines := bufio.NewScanner(list)
	lines.Buffer(nil, maxTaskLine)
	for lines.Scan() {
		text, ended, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		if task, err := backupinfo.ParseUPID(text); err == nil && ended == "" {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// tasksOf are the tasks of the server for which a process of it may hold the lock. One
// process works on many; those that name the group count where there are some.
func (n *informer) tasksOf(h flock.Holder, thing string) (some []backupinfo.UPID) {
	var all []backupinfo.UPID
	for _, task := range n.tasks {
		store, object, _ := strings.Cut(task.WorkerID, ":")
		if h.PID <= 0 || int64(task.PID) != int64(h.PID) || task.ProcessStart != h.Ticks || store != n.name {
			continue
		}
		all = append(all, task)
		if thing != "" && object != "" && related(object, thing) {
			some = append(some, task)
		}
	}
	if len(some) == 0 {
		return all
	}
	return some
}

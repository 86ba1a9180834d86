package storelock

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"math"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/procstat"
)

// hostSuffix keeps originals from taking our objects for their own host's: they would look
// for our pid among their processes, and find it dead in another container.
const hostSuffix = "+pbs-like"

// A process is what can be told of one and compared later. Empty is unknown.
type process struct {
	pid       int64
	started   int64
	bootID    string
	pidSpace  string
	timeSpace string
}

func thisProcess() process {
	pid := int64(os.Getpid())
	return process{
		pid: pid, started: startOf(pid), bootID: bootID(),
		pidSpace: namespace("pid"), timeSpace: namespace("time"),
	}
}

func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(data))
}

func namespace(kind string) string {
	link, err := os.Readlink("/proc/self/ns/" + kind)
	if err != nil {
		return ""
	}
	return link
}

// startOf is when a process began, in ticks since boot; 0 if that can't be read.
func startOf(pid int64) int64 {
	stat, err := procstat.Of(int(pid))
	if err != nil || stat.Start > math.MaxInt64 {
		return 0
	}
	return int64(stat.Start)
}

// dead says whether the owner is proven to be dead: it ran under this very
// kernel, in our namespaces, and its process is gone or another one has its pid.
// What can't be read proves nothing.
func (p process) dead(l Lock) bool {
	same := p.bootID != "" && p.bootID == l.BootID &&
		p.pidSpace != "" && p.pidSpace == l.PIDSpace &&
		p.timeSpace != "" && p.timeSpace == l.TimeSpace
	if !same || l.PID <= 0 || l.PID > 1<<30 {
		return false
	}
	if errors.Is(unix.Kill(int(l.PID), 0), unix.ESRCH) {
		return true
	}
	started := startOf(l.PID)
	return started != 0 && l.Started != 0 && started != l.Started
}

// hostID is the original's form: the host's name and its hardware address as a number.
func hostID(override string) string {
	if override != "" {
		return override + hostSuffix
	}
	// Without the domain: that would take questions to a name server, and the
	// number tells hosts apart.
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return name + "@" + hardwareAddress() + hostSuffix
}

func hardwareAddress() string {
	interfaces, _ := net.Interfaces() // without any there is no address
	for _, i := range interfaces {
		if len(i.HardwareAddr) == 6 && i.Flags&net.FlagLoopback == 0 {
			return new(big.Int).SetBytes(i.HardwareAddr).String()
		}
	}
	return "0"
}

// template is our lock, but for what changes with each object.
func (o Options) template(self process) Lock {
	return Lock{
		Exclusive: o.Exclusive, HostID: hostID(o.HostID), PID: self.pid, ThreadID: randomThread(), Instance: randomInstance(),
		BootID: self.bootID, PIDSpace: self.pidSpace, TimeSpace: self.timeSpace, Started: self.started,
		User: orUser(o.User), Command: short(orCommand(o.Command)), Message: short(o.Message),
	}
}

// short cuts what could make an object too large to be read again.
func short(s string) string {
	const most = 2048
	return s[:min(len(s), most)]
}

func orUser(user string) string {
	if user != "" {
		return short(user)
	}
	return strconv.Itoa(os.Geteuid())
}

func orCommand(command string) string {
	if command != "" {
		return command
	}
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Base(program)
}

func randomInstance() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// randomThread is never zero, which is what all originals have.
func randomThread() int64 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return 1 + int64(b[0])<<16 + int64(b[1])<<8 + int64(b[2])
}

// at gives the next object of this owner.
func (l Lock) at(sequence int64, wall time.Time, stale time.Duration) Lock {
	l.Sequence, l.Time, l.Stale = sequence, wall, stale
	return l
}

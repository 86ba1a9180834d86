package helperproc

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a test waits for a line or an exit before it fails. It
// is for programs that hang, not a measure of speed.
const patience = 30 * time.Second

// Options changes how a process is started. The zero value is what [Start] uses.
type Options struct {
	ExtraFiles []*os.File          // become descriptors 3, 4, …
	Credential *syscall.Credential // run as another user
	Cloneflags uintptr             // namespaces of its own, such as CLONE_NEWPID
	Env        []string            // added to the environment
	Dir        string              // working directory; empty: the test's
	Under      []string            // a command and its arguments that starts it, such as strace(1)
}

// Proc is a started process.
type Proc struct {
	PID int

	t      testing.TB
	role   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *buffer
	lines  chan string
	quit   chan struct{} // closed when nobody reads lines any more
	exited chan struct{} // closed when the process was waited for
	err    error         // its exit, valid after exited
	once   sync.Once
}

// Start runs the test binary again in the named role. It fails the test if that
// can't be done, and kills the process when the test ends.
func Start(t testing.TB, role string, args ...string) *Proc {
	t.Helper()
	return StartWith(t, Options{}, role, args...)
}

// StartWith is [Start] with options.
func StartWith(t testing.TB, o Options, role string, args ...string) *Proc {
	t.Helper()
	p := &Proc{
		t: t, role: role, cmd: command(o, role, args), stderr: &buffer{},
		lines: make(chan string, 1024), quit: make(chan struct{}), exited: make(chan struct{}),
	}
	if err := p.start(); err != nil {
		t.Fatalf("helper %q: %v", role, err)
	}
	t.Cleanup(p.Kill)
	return p
}

func command(o Options, role string, args []string) *exec.Cmd {
	// Through /proc, because the binary lies in a directory that another user
	// may not enter, and may have been replaced.
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	if len(o.Under) > 0 {
		own := "/proc/" + strconv.Itoa(os.Getpid()) + "/exe" // self is another one there
		cmd = exec.Command(o.Under[0], slices.Concat(o.Under[1:], []string{own}, args)...)
	}
	cmd.Env = append(append(os.Environ(), o.Env...), envRole+"="+role)
	cmd.Dir = o.Dir
	cmd.ExtraFiles = o.ExtraFiles
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig: unix.SIGKILL, Credential: o.Credential, Cloneflags: o.Cloneflags,
	}
	return cmd
}

func (p *Proc) start() error {
	// A pipe of our own: the one of exec.Cmd is closed by its Wait, which would
	// throw away the last lines of a process that has exited.
	out, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	p.cmd.Stdout, p.cmd.Stderr = w, p.stderr
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		out.Close()
		return err
	}
	p.PID = p.cmd.Process.Pid
	go p.read(out)
	go func() {
		defer close(p.exited)
		p.err = p.cmd.Wait()
	}()
	return nil
}

func (p *Proc) read(out *os.File) {
	defer out.Close()
	defer close(p.lines)
	for s := bufio.NewScanner(out); s.Scan(); {
		select {
		case p.lines <- s.Text():
		case <-p.quit:
			return
		}
	}
}

// Lines delivers what the role says, and is closed after the last line.
func (p *Proc) Lines() <-chan string { return p.lines }

// Line returns the next line of the role, and fails the test if there is none.
func (p *Proc) Line() string {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.fatalf("ended without saying what was expected")
		}
		return line
	case <-time.After(patience):
		p.fatalf("said nothing for %v", patience)
	}
	return ""
}

// Expect fails the test unless the next line of the role is the given one.
func (p *Proc) Expect(line string) {
	p.t.Helper()
	if got := p.Line(); got != line {
		p.fatalf("said %q, want %q", got, line)
	}
}

// WaitReady waits for the role's [IO.Ready].
func (p *Proc) WaitReady() {
	p.t.Helper()
	p.Expect(readyLine)
}

// Send gives the role its next line.
func (p *Proc) Send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		p.fatalf("can't be told %q: %v", line, err)
	}
}

// CloseInput ends the role's input: its [IO.Next] returns io.EOF.
func (p *Proc) CloseInput() { _ = p.stdin.Close() }

func (p *Proc) fatalf(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("helper %q (pid %d) "+format+"\n%s", append(append([]any{p.role, p.PID}, args...), p.stderr)...)
}

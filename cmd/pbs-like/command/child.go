package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The exit codes of shells for a command that did not run.
const (
	exitCannotRun = 126
	exitNoCommand = 127
	exitSignal    = 128
)

// childError is the end of a command that ran in place of us: its exit code is ours.
type childError struct {
	code int
	err  error // why it did not run, or nil
}

func (e *childError) Error() string {
	if e.err != nil {
		return e.err.Error()
	}
	return fmt.Sprintf("the command ended with exit code %d", e.code)
}

func (e *childError) Unwrap() error { return e.err }

// child is a command that runs in the same session and process group, so that the
// terminal is its own as much as ours.
type child struct {
	args    []string
	streams Streams
	files   []*os.File      // that it gets besides, and then lives on its own
	signals chan os.Signal  // for it
	lost    <-chan struct{} // closed when what it is protected by is lost; nil: that can't be
}

// lostGrace is how long a command has to end by itself when its lock is lost.
const lostGrace = 10 * time.Second

// catchForwarded takes the signals that are the command's. Those that are ignored, as
// under nohup, stay so.
func catchForwarded() chan os.Signal {
	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	return signals
}

// run runs the command to its end.
func (c child) run() error {
	cmd := exec.Command(c.args[0], c.args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.streams.In, c.streams.Out, c.streams.Err
	cmd.ExtraFiles = c.files
	if len(c.files) == 0 {
		// Nothing protects what it does once we are gone.
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGTERM}
	}
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		// The kernel takes the end of the thread that started it for our death.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return notStarted(c.args[0], err)
	}
	lost := c.lost
	overdue := time.NewTimer(lostGrace)
	overdue.Stop()
	defer overdue.Stop()
	for {
		select {
		case <-lost:
			_ = cmd.Process.Signal(unix.SIGTERM) // it may have ended just now
			lost = nil
			overdue.Reset(lostGrace)
		case <-overdue.C:
			_ = cmd.Process.Kill()
		case s := <-c.signals:
			if !fromTerminal(s) {
				_ = cmd.Process.Signal(s) // it may have ended just now
			}
		case err := <-ended:
			return endOf(cmd, err)
		}
	}
}

func notStarted(name string, err error) error {
	code := exitCannotRun
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = exitNoCommand
	}
	return &childError{code, fmt.Errorf("command %q can't be run: %w", name, err)}
}

func endOf(cmd *exec.Cmd, err error) error {
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return err
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		return &childError{code: exitSignal + int(status.Signal())}
	case cmd.ProcessState.ExitCode() != 0:
		return &childError{code: cmd.ProcessState.ExitCode()}
	}
	return nil
}

// fromTerminal tells whether a signal has reached the command already: what is typed
// goes to all processes in the foreground. Passed on once more, it would be a second one,
// which many programs take for an order to drop everything.
func fromTerminal(s os.Signal) bool {
	if s != unix.SIGINT && s != unix.SIGQUIT && s != unix.SIGWINCH {
		return false
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	foreground, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}

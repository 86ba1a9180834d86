// Pbs-like writes, lists, restores and removes backups in a datastore of a
// Proxmox Backup Server that is there as a directory. See the package command
// for its parts.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/cmd/pbs-like/command"
)

// memory is what the program aims to get by with, in bytes. Its large buffers are
// made once and kept; without an aim, what was thrown away would pile up to the
// same size beside them.
const memory = 48 << 20

func main() { os.Exit(run()) }

func run() int {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory)
	}
	ctx, stop := interruptible(context.Background())
	defer stop()
	return command.Run(ctx, os.Args, command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

// interruptible gives a context that ends with the first signal, so that what
// was begun is cleaned up and locks are released. The second signal kills.
//
// A closed pipe on standard output must not kill in the middle of a backup: the
// signal is taken, and the write's own error ends the command in good order.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, wanted()...)
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	go func() {
		if s, ok := <-arrived; ok {
			signal.Stop(arrived) // and no Reset: others may want the next one
			cancel(signalError{s})
		}
	}()
	return ctx, func() {
		signal.Stop(arrived)
		close(arrived)
		cancel(nil)
	}
}

// signalError is why the context ended.
type signalError struct{ os.Signal }

func (s signalError) Error() string { return fmt.Sprintf("signal %q", s.Signal) }

// Unwrap makes it what ends any context.
func (s signalError) Unwrap() error { return context.Canceled }

// wanted leaves out the hang-up under nohup, which asked for it to be ignored.
func wanted() []os.Signal {
	signals := []os.Signal{unix.SIGINT, unix.SIGTERM}
	if !signal.Ignored(unix.SIGHUP) {
		signals = append(signals, unix.SIGHUP)
	}
	return signals
}

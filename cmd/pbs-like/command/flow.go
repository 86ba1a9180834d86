package command

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// flowReader reads a pipe, FIFO or terminal, and gives up when the context
// ends: a plain read would block for as long as the other side likes, and with
// it the cleaning up after an interruption.
//
// A FIFO that nobody has opened for writing yet is waited for. Reading it at
// once would look like its end.
type flowReader struct {
	ctx  context.Context
	file *os.File // keeps the descriptor open
	wake *os.File // becomes readable when the context ends
	stop func() error
}

func newFlowReader(ctx context.Context, f *os.File) (*flowReader, error) {
	wake, trigger, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	detach := context.AfterFunc(ctx, func() { _ = trigger.Close() })
	return &flowReader{ctx: ctx, file: f, wake: wake, stop: func() error {
		if detach() {
			_ = trigger.Close()
		}
		return wake.Close()
	}}, nil
}

// Close ends the watch over the context. The file stays open.
func (r *flowReader) Close() error { return r.stop() }

// Read gives what is there, and waits only where there is nothing.
func (r *flowReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if err := r.waitReadable(); err != nil {
			return 0, err
		}
		n, err := unix.Read(int(r.file.Fd()), p)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return 0, &os.PathError{Op: "read", Path: r.file.Name(), Err: err}
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func (r *flowReader) waitReadable() error {
	fds := []unix.PollFd{
		{Fd: int32(r.file.Fd()), Events: unix.POLLIN},
		{Fd: int32(r.wake.Fd()), Events: unix.POLLIN},
	}
	for {
		_, err := unix.Poll(fds, -1)
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "poll", Path: r.file.Name(), Err: err}
		}
		return nil
	}
}

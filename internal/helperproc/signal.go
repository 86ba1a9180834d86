package helperproc

import (
	"bytes"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Kill ends the process with SIGKILL and returns when it is gone, and with it
// its descriptors and locks. Killing twice, or what has ended, is harmless.
func (p *Proc) Kill() {
	_ = p.cmd.Process.Kill()
	p.once.Do(func() { close(p.quit) })
	<-p.exited
}

// Wait closes the input, which cancels what the role does, and returns when the process has
// ended: nil for exit status 0, else an *exec.ExitError.
func (p *Proc) Wait() error {
	p.t.Helper()
	p.CloseInput()
	return p.Ended()
}

// Ended is Wait for a role that comes to its end by itself, and is not disturbed.
func (p *Proc) Ended() error {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.fatalf("did not end within %v", patience)
	}
	return p.err
}

// Stop sends SIGSTOP and returns when all threads of the process stand still.
func (p *Proc) Stop() {
	p.t.Helper()
	p.signal(unix.SIGSTOP)
	p.await(unix.WSTOPPED)
}

// Continue sends SIGCONT and returns when the process runs again.
func (p *Proc) Continue() {
	p.t.Helper()
	p.signal(unix.SIGCONT)
	p.await(unix.WCONTINUED)
}

func (p *Proc) signal(s unix.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.fatalf("can't be sent %v: %v", s, err)
	}
}

// await asks for one kind of change only, so that it never takes the exit status
// away from the goroutine that waits for the end.
func (p *Proc) await(change int) {
	p.t.Helper()
	for {
		err := unix.Waitid(unix.P_PID, p.PID, nil, change, nil)
		if err == nil {
			return
		}
		if err != unix.EINTR {
			p.fatalf("did not change its state: %v", err)
		}
	}
}

// buffer collects the standard error while the test may read it.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(data)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

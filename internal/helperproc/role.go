package helperproc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
)

// envRole names the role in the environment of a started process.
const envRole = "HELPERPROC_ROLE"

// readyLine is what a role says when it has got as far as the test needs.
const readyLine = "ready"

// Role is what a started process does. The context is cancelled when the test
// closes the input or dies. An error is written to the standard error, which the
// test shows when it fails, and makes the exit status 1.
type Role func(ctx context.Context, args []string, io *IO) error

// Main is to be called by TestMain. In a process that [Start] made it runs the
// role and exits; otherwise it runs the tests and exits with their result.
func Main(m *testing.M, roles map[string]Role) {
	name, started := os.LookupEnv(envRole)
	if !started {
		os.Exit(m.Run())
	}
	if err := run(name, roles); err != nil {
		fmt.Fprintf(os.Stderr, "role %q: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(name string, roles map[string]Role) error {
	role, known := roles[name]
	if !known {
		return fmt.Errorf("no such role")
	}
	// What the role itself starts is not a role.
	if err := os.Unsetenv(envRole); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	return role(ctx, os.Args[1:], newIO(os.Stdin, os.Stdout, cancel))
}

// IO is a role's connection with its test.
type IO struct {
	mu    sync.Mutex // one line at a time
	out   io.Writer
	lines chan string
}

func newIO(in io.Reader, out io.Writer, ended func()) *IO {
	c := &IO{out: out, lines: make(chan string)}
	go c.read(in, ended)
	return c
}

func (c *IO) read(in io.Reader, ended func()) {
	defer close(c.lines)
	defer ended()
	for s := bufio.NewScanner(in); s.Scan(); {
		c.lines <- s.Text()
	}
}

// Ready tells the test that [Proc.WaitReady] may return.
func (c *IO) Ready() { c.Say(readyLine) }

// Say sends a line to the test. When the test has gone there is nobody left to
// tell about it, and the process is about to be killed.
func (c *IO) Say(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.out, line+"\n")
}

// Next returns the next line that the test sends, or io.EOF when the test has
// closed the input or is gone.
func (c *IO) Next() (string, error) {
	line, ok := <-c.lines
	if !ok {
		return "", io.EOF
	}
	return line, nil
}

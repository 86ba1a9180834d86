package helperproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	Main(m, map[string]Role{"echo": echo, "fail": fail, "parent": parent})
}

// echo repeats its arguments, then each line that it is told.
func echo(ctx context.Context, args []string, c *IO) error {
	c.Say(strings.Join(args, "|"))
	c.Ready()
	for {
		line, err := c.Next()
		if errors.Is(err, io.EOF) {
			<-ctx.Done() // the end of the input cancels it
			c.Say("input ended")
			return nil
		}
		c.Say("heard " + line)
	}
}

func fail(context.Context, []string, *IO) error { return errors.New("as told") }

// parent starts a sleeper that is to die with it.
func parent(_ context.Context, _ []string, c *IO) error {
	cmd := command(Options{}, "echo", nil)
	if _, err := cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.Say(strconv.Itoa(cmd.Process.Pid))
	_, err := c.Next()
	return err
}

func TestRoleAndTestTalkInLines(t *testing.T) {
	t.Parallel()
	p := Start(t, "echo", "a b", "", "-test.run=x")
	p.Expect("a b||-test.run=x")
	p.WaitReady()
	p.Send("one")
	p.Send("two")
	p.Expect("heard one")
	p.Expect("heard two")
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	p.Expect("input ended")
	if line, ok := <-p.Lines(); ok {
		t.Errorf("one more line: %q", line)
	}
}

func TestErrorOfARoleIsItsExitStatus(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]string{"fail": "as told", "nobody": "no such role"} {
		p := Start(t, role)
		var exit *exec.ExitError
		if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("Wait = %v, want exit status 1", err)
		}
		if got := p.stderr.String(); !strings.Contains(got, want) {
			t.Errorf("standard error %q, want %q in it", got, want)
		}
	}
}

func TestStoppedMeansStopped(t *testing.T) {
	t.Parallel()
	p := Start(t, "echo")
	p.Line()
	p.WaitReady()
	for range 20 {
		p.Stop()
		if s := state(t, p.PID); s != "T" {
			t.Fatalf("state %q after Stop", s)
		}
		p.Send("x")
		p.Continue()
		p.Expect("heard x")
	}
	p.Stop()
	p.Kill() // also when stopped
	p.Kill()
	if err := unix.Kill(p.PID, 0); err != unix.ESRCH {
		t.Errorf("still there after Kill: %v", err)
	}
}

func TestNothingIsLeftWhenTheParentIsKilled(t *testing.T) {
	t.Parallel()
	p := Start(t, "parent")
	pid, err := strconv.Atoi(p.Line())
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	p.Kill()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
	if n != 1 {
		t.Errorf("grandchild lives: %d, %v", n, err)
	}
}

func TestOptionsReachTheProcess(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root to become another user")
	}
	p := StartWith(t, Options{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}, "echo")
	p.Line()
	p.WaitReady()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
	if err != nil || !strings.Contains(string(status), "Uid:\t65534") {
		t.Errorf("not the other user: %v\n%s", err, status)
	}
}

func state(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[:1]
}

package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/term"
)

// The environment that holds a passphrase, or with one of the endings says where
// it comes from. The first one is that of proxmox-backup-client.
const (
	envPassphrase    = "PBS_ENCRYPTION_PASSWORD"
	envNewPassphrase = "PBS_LIKE_NEW_ENCRYPTION_PASSWORD" // of "key create" and "key change-passphrase"

	endFD      = "_FD"
	endFile    = "_FILE"
	endCommand = "_CMD"

	// maxPassphrase bounds what is read in search of the end of the first line.
	maxPassphrase = 64 << 10
)

// errNoTerminal means that there is nobody to ask.
var errNoTerminal = errors.New("a passphrase is needed")

// passphrase takes a passphrase from the environment, or asks on the terminal.
func (p *program) passphrase(ctx context.Context, env, prompt string) ([]byte, error) {
	secret, found, err := p.passphraseOfEnv(ctx, env)
	if found || err != nil {
		return secret, err
	}
	return p.askPassphrase(ctx, env, prompt)
}

// newPassphrase is passphrase for one that is being set: on the terminal it has to be typed twice.
func (p *program) newPassphrase(ctx context.Context, env, prompt string) ([]byte, error) {
	secret, found, err := p.passphraseOfEnv(ctx, env)
	if found || err != nil {
		return secret, err
	}
	first, err := p.askPassphrase(ctx, env, prompt)
	if err != nil {
		return nil, err
	}
	second, err := p.askPassphrase(ctx, env, "The same again: ")
	if err == nil && !bytes.Equal(first, second) {
		err = errors.New("the two passphrases are not the same; nothing was written")
	}
	return first, err
}

// passphraseOfEnv asks the environment in the order of the original: the first
// variable that is set counts, also when it is empty. Of what it leads to, the first line is taken.
func (p *program) passphraseOfEnv(ctx context.Context, env string) (secret []byte, found bool, err error) {
	sources := []struct {
		name string
		read func(value string) ([]byte, error)
	}{
		{env, func(value string) ([]byte, error) { return []byte(value), nil }},
		{env + endFD, func(value string) ([]byte, error) {
			fd, err := strconv.Atoi(value)
			if err != nil {
				return nil, usageErrorf("has to be the number of an open file descriptor")
			}
			return readFD(ctx, fd, maxPassphrase)
		}},
		{env + endFile, func(value string) ([]byte, error) { return readSmall(value, maxPassphrase) }},
		{env + endCommand, func(value string) ([]byte, error) { return p.outputOf(ctx, value) }},
	}
	for _, source := range sources {
		value, set := os.LookupEnv(source.name)
		if !set {
			continue
		}
		text, err := source.read(value)
		if err != nil {
			return nil, true, fmt.Errorf("%s: %w", source.name, err)
		}
		return firstLine(text), true, nil
	}
	return nil, false, nil
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// outputOf runs a command line, without a shell, and gives what it prints. Neither
// that nor the command line, which may hold a secret, is in an error.
func (p *program) outputOf(ctx context.Context, line string) ([]byte, error) {
	words, err := splitWords(line)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // the user's own command, from the user's own environment
	command.Stderr = p.screen
	if stdin, ok := p.streams.In.(*os.File); ok {
		command.Stdin = stdin
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, errors.New("the command can't be started")
	}
	text, err := readAtMost(out, maxPassphrase)
	_, drainErr := io.Copy(io.Discard, out)
	if waitErr := command.Wait(); waitErr != nil {
		return nil, fmt.Errorf("the command failed: %w", waitErr)
	}
	return text, errors.Join(err, drainErr)
}

// askPassphrase reads a line that the terminal does not show.
func (p *program) askPassphrase(ctx context.Context, env, prompt string) ([]byte, error) {
	if !p.isInteractive() {
		return nil, asUsage(fmt.Errorf("%w, and there is no terminal to ask on: set %s, or one of %s, %s and %s",
			errNoTerminal, env, env+endFile, env+endFD, env+endCommand))
	}
	p.progress.finish()
	if _, err := io.WriteString(p.screen, printable(prompt)); err != nil {
		return nil, err
	}
	fd := int(p.streams.In.(*os.File).Fd()) //nolint:forcetypeassert // only a file is a terminal
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	type answer struct {
		line []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		line, err := term.ReadPassword(fd)
		answers <- answer{line, err}
	}()
	select {
	case <-ctx.Done(): // the reading goroutine ends with the process; the terminal must show again what is typed
		return nil, errors.Join(context.Cause(ctx), term.Restore(fd, before))
	case a := <-answers:
		_, _ = io.WriteString(p.screen, "\n")
		if errors.Is(a.err, io.EOF) {
			return nil, errors.New("no passphrase was typed")
		}
		return a.line, a.err
	}
}

package command

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/datastore"
)

// errDeclined means that the user said no.
var errDeclined = errors.New("not confirmed; nothing was changed")

// question decides whether something is destroyed.
type question struct {
	p        *program
	answered bool // --yes
}

// newQuestion makes sure that there is a way to get an answer, before any work is done.
func (p *program) newQuestion(c *cli.Context) (question, error) {
	return p.newQuestionOf(c, "removed")
}

// newQuestionOf is newQuestion for what is not removed but moved, or the like.
func (p *program) newQuestionOf(c *cli.Context, done string) (question, error) {
	q := question{p: p, answered: c.Bool(flagYes)}
	if !q.answered && !c.Bool(flagDryRun) && !p.isInteractive() {
		return q, usageErrorf("nothing is %s without being asked for, and there is no terminal to ask on: use --%s", done, flagYes)
	}
	return q, nil
}

// prepare is how a command begins that asks before it changes something: done is what then is done, "removed" or the like.
func (p *program) prepare(c *cli.Context, done string) (format outputFormat, q question, ds *datastore.Datastore, err error) {
	if format, err = outputFormatOf(c); err != nil {
		return format, q, nil, err
	}
	if q, err = p.newQuestionOf(c, done); err != nil {
		return format, q, nil, err
	}
	ds, err = p.open(c)
	return format, q, ds, err
}

func (p *program) isInteractive() bool { return isTerminal(p.streams.In) && isTerminal(p.streams.Err) }

// confirm asks on the terminal, unless --yes was given.
func (q question) confirm(ctx context.Context, text string) error {
	if q.answered {
		return nil
	}
	q.p.progress.finish()
	if _, err := io.WriteString(q.p.screen, printable(text)+" [y/N] "); err != nil {
		return err
	}
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(q.p.streams.In).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done(): // the reading goroutine ends with the process
		return context.Cause(ctx)
	case a := <-answer:
		if a == "y" || a == "yes" {
			return nil
		}
		return errDeclined
	}
}

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/rs/zerolog"
	"golang.org/x/term"
)

type logFormat string

const (
	logConsole logFormat = "console" // lines for people
	logJSON    logFormat = "json"    // one object a line
)

// fieldExitCode is in the last message of a command that failed.
const fieldExitCode = "exit-code"

// screen is standard error. What is written to it first wipes a progress bar away.
type screen struct {
	mu   sync.Mutex
	out  io.Writer
	wipe func() // set while a bar is shown
}

// Write never fails: there is nowhere left to complain, and work in hand must
// not stop because nobody listens.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wipe != nil {
		s.wipe()
	}
	_, _ = s.out.Write(p)
	return len(p), nil
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func newLogger(out io.Writer, format logFormat, level zerolog.Level) zerolog.Logger {
	if format == logJSON {
		return zerolog.New(out).Level(level).With().Timestamp().Logger()
	}
	return zerolog.New(console(out)).Level(level)
}

// console prints "pbs-like: warning: text", as command-line tools do.
func console(out io.Writer) zerolog.ConsoleWriter {
	return zerolog.ConsoleWriter{
		Out:           out,
		NoColor:       true,
		PartsOrder:    []string{zerolog.LevelFieldName, zerolog.MessageFieldName},
		FieldsExclude: []string{fieldExitCode},
		FormatLevel:   func(level any) string { return programName + ":" + levelWord(level) },
		FormatMessage: func(message any) string { return oneLine(fmt.Sprint(message)) },
	}
}

func levelWord(level any) string {
	switch level {
	case zerolog.LevelInfoValue:
		return ""
	case zerolog.LevelWarnValue:
		return " warning:"
	}
	return fmt.Sprintf(" %s:", level)
}

func (p *program) configureLog(format, level string, quiet bool) error {
	parsed, err := zerolog.ParseLevel(level)
	if err != nil || level == "" {
		return usageErrorf("--log-level %q: must be debug, info, warn or error", level)
	}
	if quiet {
		parsed = max(parsed, zerolog.WarnLevel)
	}
	switch f := logFormat(format); f {
	case logConsole, logJSON:
		p.log = newLogger(p.screen, f, parsed)
	default:
		return usageErrorf("--log-format %q: must be console or json", format)
	}
	if quiet || logFormat(format) == logJSON {
		p.progress.bars = false
	}
	return nil
}

// logAsAsked obeys --log-format on a line that is otherwise wrong, so that a
// program that reads our messages can read this one as well.
func (p *program) logAsAsked(l line) {
	if l.value("log-format") == string(logJSON) {
		p.log = newLogger(p.screen, logJSON, zerolog.InfoLevel)
	}
}

// conclude reports how the command ended and gives its exit code.
func (p *program) conclude(ctx context.Context, err error) int {
	code := exitCode(ctx, err)
	ran, isChild := errors.AsType[*childError](err)
	switch {
	case err == nil:
	case isChild && ran.err == nil && code == ran.code: // it has said itself what there was to say
	case code == exitInterrupted && ctx.Err() != nil:
		p.log.Error().Int(fieldExitCode, code).Msg(interruption(ctx, err))
	default:
		p.logError(err, code)
	}
	return code
}

// interruption names the signal, and what went wrong besides.
func interruption(ctx context.Context, err error) string {
	text := "interrupted: " + context.Cause(ctx).Error()
	if !errors.Is(err, context.Canceled) {
		text += ": " + err.Error()
	}
	return text
}

func (p *program) logError(err error, code int) {
	p.log.Error().Int(fieldExitCode, code).Msg(p.hinted(err))
}

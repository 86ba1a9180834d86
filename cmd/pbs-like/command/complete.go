package command

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// completeWord is the hidden command that the shells ask. It stands outside of
// the tree of commands, since what follows it is somebody's unfinished line.
//
//	pbs-like __complete bash LINE WORDBREAKS   LINE up to the cursor
//	pbs-like __complete zsh WORD...            the last word is the unfinished one
//
// The first line of the answer says what to do besides: "-" nothing, "nospace"
// add no space, "files" offer files too, "dirs" offer directories. Candidates
// follow, one a line.
const completeWord = "__complete"

// completionTime bounds how long a key press may take on a slow disk.
const completionTime = 3 * time.Second

// completions are the answer to the shell.
type completions struct {
	todo  string
	words []string
}

// complete has nothing to say about what is wrong: a message would spoil the line that is being typed.
func (p *program) complete(ctx context.Context, args []string) error {
	words, cut := unfinished(args)
	if len(words) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	last := len(words) - 1
	answer := p.completer(words[:last]).answer(ctx, words[last])
	var out strings.Builder
	out.WriteString(answer.todo + "\n")
	for _, word := range answer.words {
		if rest, ok := strings.CutPrefix(word, words[last]); ok {
			out.WriteString(words[last][cut:] + rest + "\n")
		}
	}
	_, err := io.WriteString(p.out, out.String())
	return err
}

// unfinished gives the words behind the program's name, and how much of the last
// one the shell leaves out of its answer: bash takes "vm/100/2026-01-02T03" and
// what stands behind the colon for words of their own.
func unfinished(args []string) (words []string, cut int) {
	if len(args) < 2 {
		return nil, 0
	}
	if args[0] != "bash" {
		return args[1:], 0
	}
	words = splitLine(args[1])
	if len(words) < 2 {
		return nil, 0
	}
	words = words[1:]
	if len(args) > 2 {
		cut = strings.LastIndexAny(words[len(words)-1], args[2]) + 1
	}
	return words, cut
}

// splitLine takes a line apart as a shell does, without expanding anything. The
// last word is the one that is being typed, and may be empty.
func splitLine(line string) []string {
	var words []string
	var word strings.Builder
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && (c == ' ' || c == '\t'):
			if word.Len() > 0 {
				words = append(words, word.String())
				word.Reset()
			}
		default:
			word.WriteByte(c)
		}
	}
	return append(words, word.String())
}

// completer knows the words before the one that is being typed.
type completer struct {
	p *program
	*words
}

func (p *program) completer(before []string) *completer {
	app := p.app()
	c := &completer{p: p, words: newWords(app.Commands, app.Flags)}
	for _, word := range before {
		_ = c.read(word) // what is wrong so far is told when the line is sent off
	}
	return c
}

func (c *completer) answer(ctx context.Context, word string) completions {
	switch {
	case c.pending != "":
		return c.flagValue(ctx, c.pending, "", word)
	case !c.ended && strings.HasPrefix(word, "-"):
		if flag, value, ok := strings.Cut(word, "="); ok {
			return c.flagValue(ctx, strings.TrimLeft(flag, "-"), flag+"=", value)
		}
		return c.flagNames()
	case c.commands != nil:
		return completions{todo: "-", words: visibleNames(c.commands)}
	}
	return c.argument(ctx, word)
}

func visibleNames(commands []*cli.Command) []string {
	var names []string
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

func (c *completer) flagNames() completions {
	var names []string
	for _, f := range append(slices.Clone(c.commandFlags()), c.globals...) {
		if name := "--" + f.Names()[0]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return completions{todo: "-", words: names}
}

// flagValue completes a flag's value. The prefix is "--flag=" where the two are one word.
func (c *completer) flagValue(ctx context.Context, flag, prefix, word string) completions {
	answer := completions{todo: "-"}
	switch flag {
	case flagDatastore, flagRepository:
		answer.todo = "dirs"
	case flagNamespace, flagTargetNS:
		answer.words = c.namespaces(ctx)
	case "base":
		answer = c.snapshots(ctx, word)
		answer.words = append(answer.words, "auto", "none")
	case "backup-id":
		answer.words = c.ids(ctx)
	case "group":
		answer.words = c.groups(ctx)
	case "snapshot":
		answer = c.snapshots(ctx, word)
	default:
		answer.words = flagChoices(flag)
	}
	for i := range answer.words {
		answer.words[i] = prefix + answer.words[i]
	}
	return answer
}

// flagChoices are the values of flags that have but a few.
func flagChoices(flag string) []string {
	switch flag {
	case flagFormat:
		return []string{string(formatText), string(formatJSON), string(formatJSONPretty)}
	case "log-format":
		return []string{string(logConsole), string(logJSON)}
	case "log-level":
		return []string{"debug", "info", "warn", "error"}
	case "timezone":
		return []string{"local", "UTC"}
	case "backup-type":
		return []string{"ct", "host", "vm"}
	case "type":
		return []string{"f", "d", "l"}
	case flagLockWait:
		return []string{"30s", "10m", "2h"}
	}
	return nil
}

// argument completes by what the command's usage line calls the argument.
func (c *completer) argument(ctx context.Context, word string) completions {
	switch c.argumentName() {
	case "GROUP", "[GROUP]", "GROUP...":
		return completions{todo: "-", words: c.groups(ctx)}
	case "SNAPSHOT", "SNAPSHOT...", "SNAPSHOT|GROUP", "SNAPSHOT|GROUP...", "SNAPSHOT|GROUP|datastore", "[SNAPSHOT|GROUP|datastore]":
		return c.snapshots(ctx, word)
	case "NAMESPACE", "NEW-NAME":
		return completions{todo: "-", words: c.namespaces(ctx)}
	case "ARCHIVE":
		return completions{todo: "-", words: c.archives(ctx)}
	case "SHELL":
		return completions{todo: "-", words: shells()}
	case "PATH":
		return completions{todo: "dirs"}
	case "TARGET|-", "NAME:PATH...":
		return completions{todo: "files"}
	}
	return completions{todo: "-"}
}

func (c *completer) argumentName() string {
	if len(c.path) == 0 {
		return ""
	}
	names := strings.Fields(c.path[len(c.path)-1].ArgsUsage)
	switch i := len(c.args); {
	case i < len(names):
		return names[i]
	case len(names) > 0 && strings.HasSuffix(names[len(names)-1], "..."):
		return names[len(names)-1]
	}
	return ""
}

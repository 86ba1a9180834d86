package command

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// words sorts the words of a command line. The library that parses flags stops
// at the first argument, so that "remove-group vm/100 --dry-run" would take
// --dry-run for an argument, or worse, ignore it. Here each word is looked at
// once, wherever it stands:
//
//   - what begins with a dash is a flag, or an error, never an argument. A
//     single dash is an argument, and after "--" everything is;
//   - a flag that wants a value takes the next word, which must not look like a
//     flag itself: "--notes --dry-run" is an error, "--notes=--dry-run" is not;
//   - the first words that are no flags name the command.
type words struct {
	line

	commands []*cli.Command      // that may come next; nil when only arguments may
	globals  []cli.Flag          // accepted with each command
	known    map[string]cli.Flag // of all commands: a flag may stand before the command's name
	pending  string              // the flag that wants its value, without dashes
	ended    bool                // "--" was there
}

// line is a command line in order.
type line struct {
	path  []*cli.Command // the command below its parents
	flags []givenFlag    // in the order given
	args  []string
	help  bool
}

type givenFlag struct {
	name, value string
	hasValue    bool
	global      bool
}

func newWords(commands []*cli.Command, globals []cli.Flag) *words {
	w := &words{commands: commands, globals: globals, known: map[string]cli.Flag{}}
	w.learn(w.globals)
	w.learnCommands(commands)
	return w
}

func (w *words) learnCommands(commands []*cli.Command) {
	for _, c := range commands {
		w.learn(c.Flags)
		w.learnCommands(c.Subcommands)
	}
}

func (w *words) learn(flags []cli.Flag) {
	for _, f := range flags {
		for _, name := range f.Names() {
			w.known[name] = f
		}
	}
}

// sort reads all words behind the program's name. The first error counts, but
// reading goes on: how messages are wanted may be said at the end of a line.
func (w *words) sort(all []string) (line, error) {
	var first error
	for _, word := range all {
		if err := w.read(word); first == nil {
			first = err
		}
	}
	if first == nil {
		first = w.check()
	}
	return w.line, first
}

func (w *words) read(word string) error {
	switch {
	case w.pending != "" && looksLikeFlag(word):
		return usageErrorf("flag --%s needs a value, and %q looks like a flag; write --%s=%s if it is meant", w.pending, word, w.pending, word)
	case w.pending != "":
		w.flags[len(w.flags)-1].value = word
		w.pending = ""
		return nil
	case w.ended:
		w.args = append(w.args, word)
		return nil
	case word == "--":
		w.ended = true
		return nil
	case looksLikeFlag(word):
		return w.readFlag(word)
	case w.commands != nil:
		return w.readCommand(word)
	}
	w.args = append(w.args, word)
	return nil
}

func looksLikeFlag(word string) bool { return len(word) > 1 && word[0] == '-' }

func (w *words) readFlag(word string) error {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(word[1:], "-"), "=")
	flag := w.known[name]
	switch {
	case flag == nil && w.isBundle(word):
		return w.readBundle(word)
	case flag == nil:
		return w.unknownFlag(strings.TrimSuffix(word, "="+value), name)
	}
	if slices.Contains(helpFlag().Names(), name) {
		w.help = true
		return nil
	}
	given := givenFlag{name: name, value: value, hasValue: hasValue || takesValue(flag)}
	given.global = slices.Contains(w.globals, flag)
	if takesValue(flag) && !hasValue {
		w.pending = name
	}
	w.flags = append(w.flags, given)
	return nil
}

// isBundle tells several switches of one letter in one word.
func (w *words) isBundle(word string) bool {
	for _, letter := range word[1:] {
		if flag := w.known[string(letter)]; flag == nil || takesValue(flag) {
			return false
		}
	}
	return true
}

func (w *words) readBundle(word string) error {
	for _, letter := range word[1:] {
		if err := w.readFlag("-" + string(letter)); err != nil {
			return err
		}
	}
	return nil
}

func (w *words) unknownFlag(typed, name string) error {
	if why := flagsToCome()[name]; why != "" {
		return usageErrorf("no flag %q: %s", typed, why)
	}
	return usageErrorf("unknown flag %q%s", typed, w.suggestFlag(name))
}

func spellFlag(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func takesValue(flag cli.Flag) bool {
	documented, ok := flag.(cli.DocGenerationFlag)
	return ok && documented.TakesValue()
}

func (w *words) readCommand(word string) error {
	i := slices.IndexFunc(w.commands, func(c *cli.Command) bool { return c.HasName(word) })
	if i < 0 {
		return w.unknownCommand(word)
	}
	c := w.commands[i]
	if c.Name == helpName {
		w.help = true
		return nil
	}
	w.path = append(w.path, c)
	w.commands = c.Subcommands
	return nil
}

func (w *words) unknownCommand(word string) error {
	if why := commandsToCome()[w.spelled(word)]; why != "" {
		return usageErrorf("no command %q: %s", w.spelled(word), why)
	}
	return usageErrorf("unknown command %q%s", w.spelled(word), suggest(word, commandNames(w.commands)))
}

// spelled is the name of a command with its parents.
func (l line) spelled(last ...string) string {
	var names []string
	for _, c := range l.path {
		names = append(names, c.Name)
	}
	return strings.Join(append(names, last...), " ")
}

// check looks at what can only be known at the end.
func (w *words) check() error {
	if w.pending != "" {
		return usageErrorf("flag --%s needs a value", w.pending)
	}
	if w.help {
		return nil
	}
	for i, given := range w.flags {
		if !given.global && !hasFlag(w.commandFlags(), given.name) {
			return usageErrorf("command %q has no flag %s%s", w.spelled(), spellFlag(given.name), w.suggestFlag(given.name))
		}
		if err := w.checkValue(&w.flags[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkValue looks at values of which the flag library says too little, and turns
// --repository into --datastore.
func (w *words) checkValue(given *givenFlag) error {
	if _, ok := w.known[given.name].(*cli.DurationFlag); ok {
		return checkDuration(*given)
	}
	if given.name == flagRepository {
		if !filepath.IsAbs(given.value) {
			return usageErrorf("--%s %q is no absolute path; a server can't be used, only the directory of a datastore", given.name, given.value)
		}
		given.name = flagDatastore
	}
	return nil
}

func checkDuration(given givenFlag) error {
	if _, err := time.ParseDuration(given.value); err == nil {
		return nil
	}
	if _, err := strconv.ParseFloat(given.value, 64); err == nil {
		return usageErrorf("--%s %s needs a unit: %ss or %sm", given.name, given.value, given.value, given.value)
	}
	return usageErrorf("--%s %q: must be a time with its unit, such as 90s or 2h", given.name, given.value)
}

func (w *words) commandFlags() []cli.Flag {
	if len(w.path) == 0 {
		return nil
	}
	return w.path[len(w.path)-1].Flags
}

func hasFlag(flags []cli.Flag, name string) bool {
	return slices.ContainsFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

// suggestFlag guesses long names only: one letter is near to everything.
func (w *words) suggestFlag(name string) string {
	if len(name) == 1 {
		return ""
	}
	candidates := append(slices.Clone(w.globals), w.commandFlags()...)
	var names []string
	for _, f := range candidates {
		for _, n := range f.Names() {
			names = append(names, spellFlag(n))
		}
	}
	return suggest(spellFlag(name), names)
}

// canonical writes the line as the flag library reads it: each command's flags
// right behind its name, and arguments behind "--".
func (l line) canonical() []string {
	out := append([]string{programName}, l.flagWords(true)...)
	if len(l.path) == 0 {
		return append(out, l.helpWord()...)
	}
	for _, c := range l.path {
		out = append(out, c.Name)
	}
	out = append(out, l.helpWord()...)
	out = append(out, l.flagWords(false)...)
	return append(append(out, "--"), l.args...)
}

func (l line) helpWord() []string {
	if l.help {
		return []string{"--help"}
	}
	return nil
}

func (l line) flagWords(global bool) []string {
	var out []string
	for _, given := range l.flags {
		switch {
		case given.global != global || l.help && !global:
		case given.hasValue:
			out = append(out, "--"+given.name+"="+given.value)
		default:
			out = append(out, "--"+given.name)
		}
	}
	return out
}

// value is the last value given for a flag, or "".
func (l line) value(name string) string {
	value := ""
	for _, given := range l.flags {
		if given.name == name {
			value = given.value
		}
	}
	return value
}

package command

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func sorted(t *testing.T, words ...string) ([]string, error) {
	t.Helper()
	app := newProgram(Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}).app()
	line, err := newWords(app.Commands, app.Flags).sort(words)
	return line.canonical()[1:], err
}

func TestFlagsStandBeforeAndAfterArguments(t *testing.T) {
	t.Parallel()
	want := strings.Fields("--datastore=/s remove-group --ns=a --dry-run -- vm/100")
	for _, words := range []string{
		"--datastore /s remove-group --ns a --dry-run vm/100",
		"remove-group vm/100 --datastore /s --ns a --dry-run",
		"remove-group --ns a vm/100 --dry-run --datastore=/s",
		"--ns a remove-group --dry-run vm/100 --datastore /s",
		"--ns=a --dry-run --datastore /s remove-group -- vm/100",
		"-ns a remove-group vm/100 -dry-run -datastore /s",
	} {
		if got, err := sorted(t, strings.Fields(words)...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q, %v\nwant %q", words, got, err, want)
		}
	}
}

func TestWordsAreSorted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, words, want string
	}{
		{"a single dash is an argument", "restore vm/1 a.img - --overwrite", "restore --overwrite -- vm/1 a.img -"},
		{"a single dash is a value", "backup --notes - a.img:b", "backup --notes=- -- a.img:b"},
		{"behind a double dash all are arguments", "backup -- --dry-run -- -x", "backup -- --dry-run -- -x"},
		{"a double dash keeps the flags before it", "backup --notes x -- a.img:--y", "backup --notes=x -- a.img:--y"},
		{"subcommands", "snapshot --ns a list vm/1 --recursive", "snapshot list --ns=a --recursive -- vm/1"},
		{"a value may hold an equals sign", "backup --notes a=b", "backup --notes=a=b --"},
		{"a value given with an equals sign may look like a flag", "backup --notes=--dry-run", "backup --notes=--dry-run --"},
		{"an empty value", "list --ns=", "list --ns= --"},
		{"a switch may be turned off", "remove-group --dry-run=false vm/1", "remove-group --dry-run=false -- vm/1"},
		{"help before", "help snapshot list", "snapshot list --help --"},
		{"help behind, with what else is there", "remove-group vm/1 --dry-run -h", "remove-group --help -- vm/1"},
		{"a command's name is an argument where one is wanted", "files list", "files -- list"},
		{"help is an argument where one is wanted", "files help", "files -- help"},
		{"the last value counts", "list --ns a --ns b", "list --ns=a --ns=b --"},
	}
	for _, test := range tests {
		got, err := sorted(t, strings.Fields(test.words)...)
		if err != nil || !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("%s: got %q, %v, want %q", test.name, got, err, test.want)
		}
	}
}

func TestWhatLooksLikeAFlagIsNeverAnArgument(t *testing.T) {
	t.Parallel()
	tests := []struct {
		words, want string
	}{
		{"remove-group vm/100 --dryrun", `unknown flag "--dryrun"; did you mean "--dry-run"?`},
		{"remove-group vm/100 -dry", `unknown flag "-dry"`},
		{"remove-group -x vm/100", `unknown flag "-x"`},
		{"remove-group vm/100 ---dry-run", `unknown flag`},
		{"remove-group vm/100 --dryrun=true", `unknown flag "--dryrun"; did you mean "--dry-run"?`},
		{"remove-group vm/100 -5", `unknown flag "-5"`},
		{"remove-group vm/100 --=x", `unknown flag`},
		{"--nonsense", `unknown flag "--nonsense"`},
		{"list -n", `command "list" has no flag -n`},
		{"remove-group -nx vm/1", `unknown flag "-nx"`},
		{"list --dry-run", `command "list" has no flag --dry-run`},
		{"--dry-run list", `command "list" has no flag --dry-run`},
		{"snapshot --force list", `command "snapshot list" has no flag --force`},
		{"backup --notes --quiet a.img:b", `flag --notes needs a value, and "--quiet" looks like a flag`},
		{"backup --notes -- a.img:b", `flag --notes needs a value, and "--" looks like a flag`},
		{"backup a.img:b --notes", `flag --notes needs a value`},
		{"remove-grop vm/100", `unknown command "remove-grop"; did you mean "remove-group"?`},
		{"snapshot lst", `unknown command "snapshot lst"; did you mean "list"?`},
	}
	for _, test := range tests {
		_, err := sorted(t, strings.Fields(test.words)...)
		var usage *usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.words, err, test.want)
		}
	}
}

// A flag that stands before the command's name is read before the command is
// known: whether it takes a value must not depend on the command.
func TestFlagsOfOneNameAreOfOneKind(t *testing.T) {
	t.Parallel()
	app := newProgram(Streams{Out: io.Discard, Err: io.Discard}).app()
	all := newWords(app.Commands, app.Flags)
	var check func(path string, w *words)
	check = func(path string, w *words) {
		for _, c := range w.commands {
			for _, f := range c.Flags {
				for _, name := range f.Names() {
					if takesValue(f) != takesValue(all.known[name]) {
						t.Errorf("--%s of %q takes a value in one command only", name, path+c.Name)
					}
					if name != "help" && name != "h" && slices.Contains(namesOf(all), name) {
						t.Errorf("--%s of %q is a global flag too", name, path+c.Name)
					}
				}
			}
			check(path+c.Name+" ", &words{commands: c.Subcommands})
		}
	}
	check("", all)
}

func namesOf(w *words) []string {
	var names []string
	for _, f := range w.globals {
		names = append(names, f.Names()...)
	}
	return names
}

func TestShortFlags(t *testing.T) {
	t.Parallel()
	want := strings.Fields("--q remove-group --n --y -- vm/1")
	for _, flags := range []string{"-n -q -y", "-nqy", "-nq -y"} {
		got, err := sorted(t, append([]string{"remove-group", "vm/1"}, strings.Fields(flags)...)...)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", flags, got, err, want)
		}
	}
}

func FuzzSortedWords(f *testing.F) {
	f.Add("remove-group vm/100 --dry-run")
	f.Add("backup --notes= -- - --x a.img:-")
	f.Add("help snapshot --ns")
	app := newProgram(Streams{Out: io.Discard, Err: io.Discard}).app()
	f.Fuzz(func(t *testing.T, text string) {
		line, err := newWords(app.Commands, app.Flags).sort(strings.Split(text, " "))
		if err != nil {
			return
		}
		again, err := newWords(app.Commands, app.Flags).sort(line.canonical()[1:])
		if err != nil || !slices.Equal(again.canonical(), line.canonical()) {
			t.Errorf("%q became %q, which became %q, %v", text, line.canonical(), again.canonical(), err)
		}
	})
}

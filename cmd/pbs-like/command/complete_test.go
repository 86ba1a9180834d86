package command

import (
	"slices"
	"strings"
	"testing"
)

func TestLineIsTakenApartAsAShellDoes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line string
		want []string
	}{
		{"pbs-like ", []string{"pbs-like", ""}},
		{"pbs-like li", []string{"pbs-like", "li"}},
		{"pbs-like  files\tvm/1/2026-01-02T03:0", []string{"pbs-like", "files", "vm/1/2026-01-02T03:0"}},
		{`pbs-like --datastore "/a b" x`, []string{"pbs-like", "--datastore", "/a b", "x"}},
		{`pbs-like --datastore '/a\ b' x`, []string{"pbs-like", "--datastore", `/a\ b`, "x"}},
		{`pbs-like --datastore /a\ b x`, []string{"pbs-like", "--datastore", "/a b", "x"}},
		{`pbs-like --datastore "/a b`, []string{"pbs-like", "--datastore", "/a b"}},
		{"", []string{""}},
	}
	for _, test := range tests {
		if got := splitLine(test.line); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.line, got, test.want)
		}
	}
}

func completed(t *testing.T, args ...string) []string {
	t.Helper()
	var out strings.Builder
	code := Run(t.Context(), append([]string{"pbs-like", completeWord}, args...), Streams{In: strings.NewReader(""), Out: &out, Err: &out})
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out.String())
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func TestCompletionOfWordsThatNeedNoStore(t *testing.T) {
	t.Parallel()
	tests := []struct {
		words string // the last is unfinished; _ is empty
		want  string
	}{
		{"li", "- list"},
		{"re", "- restore remove-snapshot remove-group"},
		{"--quiet snap", "- snapshots snapshot"},
		{"snapshot _", "- list files forget notes protected"},
		{"list --out", "- --output-format"},
		{"list --output-format j", "- json json-pretty"},
		{"list --output-format=json-", "- --output-format=json-pretty"},
		{"list --data", "- --datastore"},
		{"list --he", "- --help"},
		{"--repository _", "dirs"},
		{"--datastore _", "dirs"},
		{"backup --backup-type v", "- vm"},
		{"backup disk.img:/sr", "files"},
		{"backup a.conf:b disk.img:/sr", "files"},
		{"completion _", "- bash zsh"},
		{"init /sr", "dirs"},
		{"list -- --out", "-"},
		{"nonsense x", "-"},
		{"list surplus _", "-"},
	}
	for _, test := range tests {
		words := strings.Fields(strings.ReplaceAll(test.words, "_", "''"))
		for i := range words {
			words[i] = strings.Trim(words[i], "'")
		}
		if got := completed(t, append([]string{"zsh"}, words...)...); !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("%s: %q, want %q", test.words, got, test.want)
		}
	}
}

func TestBashGetsWhatStandsBehindItsWordBreak(t *testing.T) {
	t.Parallel()
	got := completed(t, "bash", "pbs-like list --output-format=json-", " \t\n\"'@><=;|&(:")
	if want := []string{"-", "json-pretty"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzSplitLine(f *testing.F) {
	f.Add(`pbs-like "a \" b' c`)
	f.Fuzz(func(t *testing.T, line string) {
		if len(splitLine(line)) == 0 {
			t.Error("no last word")
		}
	})
}

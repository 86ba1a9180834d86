package command

import "testing"

func TestSuggestNamesTheNearest(t *testing.T) {
	t.Parallel()
	candidates := []string{"list", "files", "remove-group", "remove-snapshot", "restore"}
	tests := map[string]string{
		"lst":             `; did you mean "list"?`,
		"remove-grup":     `; did you mean "remove-group"?`,
		"remove-snapshop": `; did you mean "remove-snapshot"?`,
		"restroe":         `; did you mean "restore"?`,
		"prune":           "",
		"":                "",
	}
	for typed, want := range tests {
		if got := suggest(typed, candidates); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"list", "list", 0}}
	for _, test := range tests {
		if got := editDistance(test.a, test.b); got != test.want {
			t.Errorf("%q %q: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

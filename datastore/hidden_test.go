package datastore

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryHiddenNameOfOursIsInTheTable looks for such names in the source.
func TestEveryHiddenNameOfOursIsInTheTable(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`"(\.pbs-like[^"]*)"`).FindAllSubmatch(text, -1) {
			found++
			name := string(match[1])
			if !slices.ContainsFunc(hiddenNames(), func(h hiddenName) bool { return h.name == name }) {
				t.Errorf("%s has %q, and hiddenNames doesn't", file, name)
			}
		}
	}
	if found < 3 {
		t.Errorf("only %d names were found", found)
	}
}

func TestAHiddenNameIsOursInItsPlaceOnly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		place hiddenPlace
		name  string
		want  bool
	}{
		{hiddenInRoot, leftoverDir, true},
		{hiddenInSnapshot, leftoverDir, false},
		{hiddenInSnapshot, writerMark, true},
		{hiddenInRoot, writerMark, false},
		{hiddenInRoot, leftoverPrefix + "x", true},
		{hiddenInSnapshot, leftoverPrefix + "x", true},
		{hiddenInRoot, ".hidden", false},
	} {
		if _, known := hiddenAt(test.place, test.name); known != test.want {
			t.Errorf("%q: %v", test.name, known)
		}
	}
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTourOfTheREADMEWorks runs what the README shows, word for word.
func TestTourOfTheREADMEWorks(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash")
	}
	dir, err := fastDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	tour := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", readmeBlock(t, "tour:", "```sh\n", "```"))
	tour.Dir = dir
	tour.Env = append(os.Environ(), "PBS_LIKE_DATASTORE=", "PBS_REPOSITORY=", "PBS_LIKE_LOCK_WAIT=", "HOME="+dir,
		"PBS_LIKE_RUNTIME_DIR="+filepath.Join(dir, "runtime"), "PBS_LIKE_STATE_DIR="+filepath.Join(dir, "state"))
	out, err := tour.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"new datastore", "3 reused", "base 2026-01-15T03:00:00Z", "etc/hosts", "would keep 2", "P protected",
		"would remove group host/laptop", "\nremoved group host/laptop",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// readmeBlock is the text between two marks behind a comment.
func readmeBlock(t *testing.T, comment, begin, end string) string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(readme), "<!-- "+comment)
	if !found {
		t.Fatalf("the README has no comment %q", comment)
	}
	if _, text, found = strings.Cut(text, begin); !found {
		t.Fatalf("no %q behind the comment %q", begin, comment)
	}
	text, _, _ = strings.Cut(text, end)
	return text
}

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestREADMEHasTheTableOfExitCodes(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := "| code | meaning |\n|---|---|\n"
	for _, row := range exitCodes() {
		want += fmt.Sprintf("| %d | %s |\n", row.code, row.meaning)
	}
	if !strings.Contains(string(readme), want) {
		t.Errorf("the README should hold\n%s", want)
	}
}

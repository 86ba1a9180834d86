package command

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/datastore"
)

func TestEveryKindOfFindingIsDocumentedAndHasAdvice(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/design/check.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, kind := range datastore.FindingKinds() {
		repaired := ""
		if kind.Repairable() {
			repaired = "yes "
		}
		if row := fmt.Sprintf("\n| %s | %s | %s| ", kind, kind.Severity(), repaired); !strings.Contains(string(page), row) {
			t.Errorf("docs/design/check.md has no row %q", row)
		}
		if advice(kind) == "" {
			t.Errorf("there is no advice about %s", kind)
		}
		rows++
	}
	_, table, _ := strings.Cut(string(page), "<!-- findings")
	table, _, _ = strings.Cut(table, "\n## ")
	if n := strings.Count(table, "\n| ") - 1; n != rows {
		t.Errorf("docs/design/check.md has %d rows, there are %d kinds", n, rows)
	}
}

func TestAHugeNumberOfFindingsOfOneKindIsCountedAndNotShown(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := newProgram(Streams{Out: &out, Err: &strings.Builder{}})
	f := p.newFindings(formatText)
	for i := range 1000 {
		f.add(datastore.Finding{Kind: datastore.FindingMode, Severity: datastore.SeverityWarning, Path: fmt.Sprint("path", i)})
	}
	if err := f.close(nil); err != nil {
		t.Fatal(err)
	}
	if err := p.out.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "path"); got != maxRows || !strings.Contains(out.String(), "mode: 1000 in all, of which 50 are shown") {
		t.Errorf("%d rows: %s", got, out.String())
	}
}

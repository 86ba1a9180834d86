package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// A rule that finds nothing looks just like one that is kept: each is tried on
// text that breaks it.
func snippet(t *testing.T, text string) *source {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	p := &listed{ImportPath: module + "/digest", Name: "digest"}
	return &source{pkg: p, name: "digest/x.go", text: []byte(text), fset: fset, file: file}
}

func TestBansFindCallsUnderAnyName(t *testing.T) {
	t.Parallel()
	s := snippet(t, `package digest
import ("fmt"; system "os"; "log/slog"; "time"; "golang.org/x/sys/unix")
func f() {
	fmt.Println(); fmt.Sprint(); system.Exit(1); slog.Info(""); <-time.After(1); system.Rename("", ""); unix.Renameat2(0, "", 0, "", 0)
	os := thing{}; os.Exit(1)
}`)
	var found []string
	for _, b := range bans() {
		s.uses(func(_ ast.Node, name string) {
			if b.where(s) && b.names.MatchString(name) {
				found = append(found, name)
			}
		})
	}
	slices.Sort(found)
	want := []string{"fmt.Println", "golang.org/x/sys/unix.Renameat2", "log/slog.Info", "os.Exit", "os.Rename", "time.After"}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

func TestChangesOfGlobalsAreFound(t *testing.T) {
	t.Parallel()
	s := snippet(t, `package digest
import "sync"
var a, b = 1, map[int]int{}
var m sync.Mutex
var c = make(chan int)
var fine = []string{"x"}
func f() {
	a = 2; b[1] = 2; delete(b, 1); elsewhere.x++; m.Lock()
	a := 3; a = 4; fine := 1; fine++
	_ = a
}`)
	var changed []string
	assignments(s, func(x *ast.Ident) {
		if isGlobal(s, x) && x.Name != "_" {
			changed = append(changed, x.Name)
		}
	})
	if want := []string{"a", "b", "b", "elsewhere"}; !slices.Equal(changed, want) {
		t.Errorf("changed %q, want %q", changed, want)
	}
	var made []string
	for _, spec := range globalSpecs(s) {
		if mutable(s, spec) {
			made = append(made, spec.Names[0].Name)
		}
	}
	if want := []string{"m", "c"}; !slices.Equal(made, want) {
		t.Errorf("made to change: %q, want %q", made, want)
	}
}

func TestOnlyLinesWithCodeAreCounted(t *testing.T) {
	t.Parallel()
	text := "// a comment\npackage x\n\n/* two\nlines */\nvar s = `three\nlines\n`\n\nfunc f() {} // and this\n"
	if got := codeLines([]byte(text)); got != 5 {
		t.Errorf("%d lines", got)
	}
}

func TestMissingCommentsAreFound(t *testing.T) {
	t.Parallel()
	s := snippet(t, `package digest
type T struct{}
func (T) M() {}
func (t *T) String() string { return "" }
func (hidden) M2() {}
func F() {}
// G has one.
func G() {}
const A, B = 1, 2
// These have one together.
const (
	C = 1
)
var D = 1 // has one
`)
	var found []string
	for _, decl := range s.file.Decls {
		found = append(found, unexplained(decl)...)
	}
	if want := []string{"T", "M", "F", "A", "B"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

func TestTheTableOfModulesKnowsSubpackages(t *testing.T) {
	t.Parallel()
	for imported, want := range map[string][2]bool{ // known, allowed for datastore
		"golang.org/x/sys/unix":                      {true, true},
		"github.com/urfave/cli/v2":                   {true, false},
		"github.com/rs/zerologger":                   {false, false},
		"github.com/rogpeppe/go-internal/testscript": {true, false},
	} {
		rule, known := moduleRule(imported)
		if known != want[0] || known && rule("datastore") != want[1] {
			t.Errorf("%s: known %v", imported, known)
		}
	}
}

func TestStaleEntriesOfTheLinterAreFound(t *testing.T) {
	t.Parallel()
	config := `
      - pkg: github.com/pbs-like/pbs-like
      - pkg: github.com/pbs-like/pbs-like/digest
      - pkg: github.com/pbs-like/pbs-like/nowhere
      - pkg: github.com/urfave/cli
      - pkg: github.com/some/body
      - pkg: testing$
        files: ["**/digest/*.go", "!**/gone/*.go", "!**/cmd/**", "!$test"]`
	got := staleInLinter(config, map[string]bool{"github.com/urfave/cli/v2": true})
	if len(got) != 3 || !strings.Contains(got[0], "nowhere") || !strings.Contains(got[1], "some/body") || !strings.Contains(got[2], "gone") {
		t.Errorf("%q", got)
	}
}

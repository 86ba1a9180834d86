package lint

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxLines is how many lines with code a file that is no test may have.
const maxLines = 300

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	for _, s := range allSources(t) {
		if n := codeLines(s.text); !s.test && n > maxLines {
			t.Errorf("%s has %d lines of code, at most %d are allowed: what in it would somebody look for under another name?", s.name, n, maxLines)
		}
	}
}

// maxWidth is how many characters a line of the program may have.
const maxWidth = 160

func TestLinesOfTheProgramFitAScreen(t *testing.T) {
	t.Parallel()
	for _, s := range allSources(t) {
		if !isCommand(s.pkg.path()) {
			continue
		}
		for i, line := range strings.Split(string(s.text), "\n") {
			if n := utf8.RuneCountInString(line); n > maxWidth {
				t.Errorf("%s:%d has %d characters, at most %d are allowed", s.name, i+1, n, maxWidth)
			}
		}
	}
}

// codeLines counts the lines on which there is something but comments.
func codeLines(text []byte) int {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue // not written, but put there at the end of a line
		}
		first := file.Line(pos)
		for i := range 1 + strings.Count(lit, "\n") {
			lines[first+i] = true
		}
	}
}

func TestEveryPackageTellsWhatItIs(t *testing.T) {
	t.Parallel()
	for _, p := range allPackages(t) {
		if p.Name != "main" && !slices.Contains(p.GoFiles, "doc.go") {
			t.Errorf("%s has no doc.go", p.path())
		}
	}
	for _, s := range allSources(t) {
		if filepath.Base(s.name) == "doc.go" && !strings.HasPrefix(s.file.Doc.Text(), "Package "+s.pkg.Name+" ") {
			t.Errorf("%s does not begin with %q", s.name, "Package "+s.pkg.Name)
		}
	}
}

func TestEveryExportedNameIsExplained(t *testing.T) {
	t.Parallel()
	for _, s := range allSources(t) {
		if s.test || s.pkg.Name == "main" {
			continue
		}
		for _, decl := range s.file.Decls {
			for _, name := range unexplained(decl) {
				t.Errorf("%s:%d: %s is exported and has no comment", s.name, s.line(decl), name)
			}
		}
	}
}

func unexplained(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && receiverIsExported(d) && !isWellKnown(d) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

func receiverIsExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	x := rootOf(d.Recv.List[0].Type)
	return x != nil && x.IsExported()
}

// isWellKnown are methods whose meaning the standard library has fixed.
func isWellKnown(d *ast.FuncDecl) bool {
	known := []string{"Error", "Unwrap", "Is", "String", "Len", "Less", "Swap", "MarshalText", "UnmarshalText", "MarshalJSON", "UnmarshalJSON"}
	return d.Recv != nil && slices.Contains(known, d.Name.Name)
}

// texts gives the files that people read and that are ours: no golden bytes.
func texts(t *testing.T, f func(name string, text string)) {
	t.Helper()
	err := filepath.WalkDir(root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, root()+string(filepath.Separator))
		if d.IsDir() {
			if base := d.Name(); base == ".git" || base == "testdata" || base == "bin" || base == ".bin" {
				return filepath.SkipDir
			}
			return nil
		}
		readable := []string{".go", ".md", ".yml", ".sh", ".mod", ""}
		if !d.Type().IsRegular() || !slices.Contains(readable, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		f(name, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsLeftToDo(t *testing.T) {
	t.Parallel()
	// Put together here, so that this file is not the one that is found.
	left := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|HA` + `CK|W` + `IP|lo` + `rem ipsum)\b`)
	texts(t, func(name, text string) {
		for i, line := range strings.Split(text, "\n") {
			if word := left.FindString(line); word != "" {
				t.Errorf("%s:%d: %s", name, i+1, word)
			}
		}
	})
}

func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	texts(t, func(name, text string) {
		if filepath.Ext(name) != ".md" {
			return
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			target := filepath.Join(root(), filepath.Dir(name), m[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link to %q leads nowhere", name, m[1])
			}
		}
	})
}

package lint

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/pbs-like/pbs-like"

// A listed package is what go list tells of one.
type listed struct {
	ImportPath   string
	Name         string
	Dir          string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// path is the import path below the module, "." for its root.
func (p *listed) path() string {
	if p.ImportPath == module {
		return "."
	}
	return strings.TrimPrefix(p.ImportPath, module+"/")
}

// isLibrary says whether the rules of library code hold: everything but the
// program itself and what only tests use.
func (p *listed) isLibrary() bool { return !isCommand(p.path()) && !isTestOnly(p.path()) }

func isCommand(path string) bool { return path == "cmd" || strings.HasPrefix(path, "cmd/") }

// packages are all packages of the module, once for all tests.
var packages = sync.OnceValues(func() ([]*listed, error) {
	// -e: a package that doesn't build is the compiler's to report.
	cmd := exec.Command("go", "list", "-e", "-json", "./...")
	cmd.Dir = root()
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var all []*listed
	for dec := json.NewDecoder(out); ; {
		p := new(listed)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, cmd.Wait()
})

func root() string { return filepath.Join("..", "..") }

func allPackages(t *testing.T) []*listed {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	if len(all) < 5 {
		t.Fatalf("go list knows only %d packages", len(all))
	}
	return all
}

// A source is one parsed Go file.
type source struct {
	pkg  *listed
	name string // below the root of the repository
	test bool
	text []byte
	fset *token.FileSet
	file *ast.File
}

var sources = sync.OnceValues(func() ([]*source, error) {
	all, err := packages()
	if err != nil {
		return nil, err
	}
	var files []*source
	for _, p := range all {
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			s, err := parse(p, name)
			if err != nil {
				return nil, err
			}
			files = append(files, s)
		}
	}
	return files, nil
})

func parse(p *listed, name string) (*source, error) {
	text, err := os.ReadFile(filepath.Join(p.Dir, name))
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return &source{
		pkg: p, name: filepath.Join(p.path(), name), test: strings.HasSuffix(name, "_test.go"),
		text: text, fset: fset, file: file,
	}, nil
}

func allSources(t *testing.T) []*source {
	t.Helper()
	files, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// line is the number of the line on which a node begins.
func (s *source) line(n ast.Node) int { return s.fset.Position(n.Pos()).Line }

// imports tells which package each name of an import stands for.
func (s *source) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range s.file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = path
	}
	return names
}

// uses calls f for each mention of an exported name of an imported package, as
// "os.Exit".
func (s *source) uses(f func(node ast.Node, name string)) {
	imports := s.imports()
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		// An identifier with an object is a local name that hides the import.
		if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && imports[x.Name] != "" {
			f(sel, imports[x.Name]+"."+sel.Sel.Name)
		}
		return true
	})
}

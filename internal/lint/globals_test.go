package lint

import (
	"go/ast"
	"go/token"
	"regexp"
	"testing"
)

// changing are the package-level variables that may change.
var changing = map[string]string{
	"flock": "keeps the files of guards reachable: a forgotten guard must stay locked, not be closed by the garbage collector",
}

// TestNoPackageLevelVariableChanges finds assignments to package-level
// variables, and those whose type is made to be changed.
func TestNoPackageLevelVariableChanges(t *testing.T) {
	t.Parallel()
	globals := map[string]map[string]bool{} // package -> names
	for _, s := range allSources(t) {
		if !inProduct(s) || changing[s.pkg.path()] != "" {
			continue
		}
		for _, spec := range globalSpecs(s) {
			if mutable(s, spec) {
				t.Errorf("%s:%d: %s is made to be changed", s.name, s.line(spec), spec.Names[0].Name)
			}
			for _, name := range spec.Names {
				if name.Name == "_" { // which has no value, and says that a type has methods
					continue
				}
				if globals[s.pkg.ImportPath] == nil {
					globals[s.pkg.ImportPath] = map[string]bool{}
				}
				globals[s.pkg.ImportPath][name.Name] = true
			}
		}
	}
	for _, s := range allSources(t) {
		names := globals[s.pkg.ImportPath]
		if !inProduct(s) || names == nil {
			continue
		}
		assignments(s, func(x *ast.Ident) {
			if names[x.Name] && isGlobal(s, x) {
				t.Errorf("%s:%d: the package-level variable %s is changed", s.name, s.line(x), x.Name)
			}
		})
	}
}

func globalSpecs(s *source) (specs []*ast.ValueSpec) {
	for _, decl := range s.file.Decls {
		if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.VAR {
			for _, spec := range gen.Specs {
				specs = append(specs, spec.(*ast.ValueSpec))
			}
		}
	}
	return specs
}

var madeToChange = regexp.MustCompile(`^(sync\.(Mutex|RWMutex|Map|Pool|WaitGroup|Once)|sync/atomic\.\w+)$`)

// mutable looks at the type of a variable, or at what it is made of.
func mutable(s *source, spec *ast.ValueSpec) bool {
	imports, found := s.imports(), false
	ast.Inspect(spec, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // what a function makes when called is its own
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && madeToChange.MatchString(imports[x.Name]+"."+n.Sel.Name) {
				found = true
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "make" {
				found = true
			}
		}
		return true
	})
	return found
}

// assignments calls f with the variable at the root of each place that is written to.
func assignments(s *source, f func(*ast.Ident)) {
	report := func(e ast.Expr) {
		if x := rootOf(e); x != nil {
			f(x)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if n.Tok != token.DEFINE {
					report(e)
				}
			}
		case *ast.IncDecStmt:
			report(n.X)
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.Ident); ok && (fun.Name == "delete" || fun.Name == "clear") && len(n.Args) > 0 {
				report(n.Args[0])
			}
		}
		return true
	})
}

func rootOf(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// isGlobal tells a package-level variable from a local one with its name. The
// parser resolves names within a file; what it leaves open is in another file
// of the package, so at package level.
func isGlobal(s *source, x *ast.Ident) bool {
	if x.Obj == nil {
		return true
	}
	for _, spec := range globalSpecs(s) {
		if x.Obj.Decl == spec {
			return true
		}
	}
	return false
}

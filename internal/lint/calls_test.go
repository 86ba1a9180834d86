package lint

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// A ban says what code may not call, and where it may all the same.
type ban struct {
	names *regexp.Regexp
	why   string
	where func(*source) bool // where the ban holds
	not   map[string]string  // file or package -> why it may
}

func inLibrary(s *source) bool { return !s.test && s.pkg.isLibrary() }
func inProduct(s *source) bool { return !s.test && !isTestOnly(s.pkg.path()) }

// excused says whether the line has the comment that the linter of the same
// name asks for, with a reason.
func (s *source) excused(n ast.Node) bool {
	lines := strings.Split(string(s.text), "\n")
	return reasoned.MatchString(lines[s.line(n)-1])
}

var reasoned = regexp.MustCompile(`//nolint:forbidigo // \S+`)

func bans() []ban {
	disk := map[string]string{
		"internal/fsop":     "that is where",
		"internal/beneath":  "passes on the flags that it is called with",
		"extractor":         "restores anything a file system can hold into directories that are no store",
		"internal/filemeta": "gives owners and permissions to what is restored, which is never in a store",
	}
	return []ban{
		{
			names: regexp.MustCompile(`^fmt\.Print(f|ln)?$`),
			why:   "results go to the writer that was handed in",
			where: inProduct,
		}, {
			names: regexp.MustCompile(`^(log|log/slog)\.`),
			why:   "the library reports through errors and events, the program logs with zerolog",
			where: inProduct,
			not:   map[string]string{"mount/silence.go": "the library for FUSE writes to standard error unless it is given a logger that does not"},
		}, {
			names: regexp.MustCompile(`^os\.(Stdin|Stdout|Stderr|Args|Exit)$`),
			why:   "the process belongs to main",
			where: inProduct,
			not:   map[string]string{"cmd/pbs-like/main.go": "it is main"},
		}, {
			names: regexp.MustCompile(`^os\.(Rename|Remove|RemoveAll|Mkdir|MkdirAll|MkdirTemp|WriteFile|Create|CreateTemp|` +
				`Chmod|Chown|Lchown|Link|Symlink|Truncate|Chtimes|OpenRoot|O_CREATE)$`),
			why:   "the disk is changed through internal/fsop",
			where: inLibrary,
			not:   disk,
		}, {
			names: regexp.MustCompile(`^(golang\.org/x/sys/unix|syscall)\.(Rename|Unlink|Rmdir|Mkdir|Mknod|Link|Symlink|Chmod|Fchmod|Chown|Fchown|` +
				`Lchown|Truncate|Ftruncate|Utimes|UtimesNano|Syncfs|Fsync|Sync|O_CREAT\b|O_TMPFILE\b)`),
			why:   "the disk is changed through internal/fsop",
			where: inLibrary,
			not:   disk,
		}, {
			names: regexp.MustCompile(`^time\.(After|Tick)$`),
			why:   "its timer outlives the wait: use time.NewTimer and stop it",
			where: inProduct,
		}, {
			names: regexp.MustCompile(`^(io/ioutil|math/rand)\.`),
			why:   "has a better successor",
			where: func(*source) bool { return true },
		},
	}
}

func TestNothingBannedIsCalled(t *testing.T) {
	t.Parallel()
	for _, s := range allSources(t) {
		for _, b := range bans() {
			if !b.where(s) || b.not[s.name] != "" || b.not[s.pkg.path()] != "" {
				continue
			}
			s.uses(func(n ast.Node, name string) {
				if b.names.MatchString(name) && !s.excused(n) {
					t.Errorf("%s:%d: %s: %s", s.name, s.line(n), name, b.why)
				}
			})
		}
	}
}

// panics may be where the reason says.
var panics = map[string]string{}

func TestLibraryHasNoInitAndNoPanic(t *testing.T) {
	t.Parallel()
	for _, s := range allSources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if inProduct(s) && n.Recv == nil && n.Name.Name == "init" {
					t.Errorf("%s:%d: init runs behind everybody's back", s.name, s.line(n))
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "panic" && f.Obj == nil && inLibrary(s) && panics[s.name] == "" {
					t.Errorf("%s:%d: panic: return an error", s.name, s.line(n))
				}
			}
			return true
		})
	}
}

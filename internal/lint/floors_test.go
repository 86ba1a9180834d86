package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A place says where a package is in the house and which of ours it may import.
// Arrows go down only: what a package may import is on a lower floor, but for
// the few that stand beside it and are named here.
type place struct {
	floor   int
	imports []string
	why     string
}

const testOnly = -1 // imported by tests and by nothing else

// values are the pure packages: bytes to values and back, no file access.
var values = []string{"digest", "blob", "chunker", "keys", "index", "backupinfo", "pxar", "catalog", "export", "exclude", "reuse"}

// house has an entry for each package.
var house = map[string]place{
	"internal/beneath": {0, nil, "opens names below a directory; system calls only"},
	"internal/fsop":    {0, []string{"internal/beneath"}, "changes a disk; knows nothing of backups"},
	"flock":            {0, []string{"internal/beneath", "internal/procstat"}, "locks know no stores"},

	"digest":     {1, nil, "a chunk's name"},
	"blob":       {1, []string{"digest"}, "formats know no files"},
	"chunker":    {1, nil, "cut points need only bytes"},
	"index":      {1, []string{"digest"}, "formats know no files"},
	"keys":       {1, []string{"digest", "blob"}, "formats know no files"},
	"pxar":       {1, nil, "an archive's format needs only bytes"},
	"catalog":    {1, []string{"pxar"}, "formats know no files"},
	"exclude":    {1, nil, "patterns are about bytes"},
	"export":     {1, []string{"pxar"}, "formats know no files"},
	"reuse":      {1, []string{"index", "pxar"}, "a decision needs an index and metadata, and no store"},
	"backupinfo": {1, []string{"digest", "blob", "internal/unitname"}, "values, no access to files"},

	"archiver": {3, []string{"internal/filemeta", "exclude", "pxar"}, "walks a directory; knows no store, only what takes the tree"},

	"chunkstore": {2, []string{"digest", "blob", "keys", "flock", "internal/beneath", "internal/fsop"}, "one resource, owns .chunks and .lock"},

	"internal/filemeta": {2, []string{"pxar"}, "what a file system knows of a file, as an archive keeps it"},

	"internal/procstat": {0, nil, "processes know nothing of locks"},
	"internal/unitname": {0, nil, "names of files from any bytes"},

	"internal/pbsrun": {2, []string{"flock", "internal/beneath", "internal/fsop", "internal/procstat", "internal/unitname"}, "a server's locks know names, and no stores of ours"},

	"internal/activity": {2, []string{"internal/fsop", "internal/procstat"}, "what a process says that it does; knows no stores"},

	"storelock":          {2, []string{"internal/fsop", "internal/procstat", "internal/unitname"}, "a lock over a store of four operations, whatever that is"},
	"storelock/s3store":  {2, []string{"storelock"}, "one kind of store beside it"},
	"storelock/dirstore": {2, []string{"storelock", "internal/beneath", "internal/fsop"}, "one kind of store beside it"},

	"datastore": {3, append([]string{
		"flock", "internal/activity", "internal/beneath", "internal/fsop", "internal/pbsrun", "internal/procstat", "chunkstore", "storelock", "storelock/dirstore",
	}, values...), "composes everything below"},

	"treefind": {3, []string{"datastore", "backupinfo", "catalog", "exclude", "keys", "pxar", "internal/beneath", "internal/fsop"}, "looks through a store's snapshots, changes none"},

	"treediff": {3, []string{"datastore", "pxar"}, "compares what is in two open snapshots, changes none"},

	"mount": {3, []string{"datastore", "backupinfo", "blob", "digest", "flock", "keys", "internal/filemeta", "pxar", "storelock"}, "shows what a datastore's readers give as a file system"},

	"extractor": {3, []string{"exclude", "pxar", "internal/beneath", "internal/filemeta", "internal/fsop"}, "makes trees of archives, wherever those are from"},

	"cmd/pbs-like/command": {4, append([]string{
		"archiver", "datastore", "treefind", "treediff", "mount", "extractor", "flock", "chunkstore", "internal/fsop", "storelock", "storelock/dirstore", "storelock/s3store",
	}, values...), "flags to options, one call, results; the packages below the datastore for their errors and options only, and to write key files"},
	"cmd/pbs-like": {5, []string{"cmd/pbs-like/command"}, "main.go"},

	"internal/fsop/fsoptest":  {testOnly, []string{"internal/fsop"}, "makes changes fail"},
	"storelock/storelocktest": {testOnly, []string{"storelock"}, "a store in memory, and what each store has to pass"},
	"internal/helperproc":     {testOnly, nil, "other processes"},
	"bench":                   {testOnly, append([]string{"datastore", "archiver"}, values...), "how fast it is, against the limits of the machine"},
	"internal/goldenspec":     {testOnly, nil, "input data that golden vectors name"},
	"internal/goldenfile":     {testOnly, nil, "files that the original made"},
	"internal/testds":         {testOnly, append([]string{"datastore", "chunkstore", "flock", "internal/beneath", "internal/fsop", "internal/fsop/fsoptest"}, values...), "whole stores"},
	"internal/lint":           {testOnly, nil, "this"},
}

// modules are what others made, and which of our packages may use it.
var modules = map[string]func(path string) bool{
	"golang.org/x/sys":                  notValues,
	"golang.org/x/sync":                 func(string) bool { return true },
	"github.com/klauspost/compress":     only("blob", "internal/goldenfile"),
	"github.com/minio/minio-go/v7":      only("storelock/s3store"),
	"github.com/cespare/xxhash/v2":      only("storelock"),
	"github.com/anishathalye/porcupine": never,
	"github.com/hanwen/go-fuse/v2":      only("mount"), // the kernel's protocol for file systems in user space; BSD, without C
	"golang.org/x/term":                 isCommand,
	"github.com/urfave/cli/v2":          isCommand,
	"github.com/rs/zerolog":             isCommand,
	"github.com/dustin/go-humanize":     isCommand,
	"github.com/schollz/progressbar/v3": isCommand,
	"github.com/rogpeppe/go-internal":   never,
	"pgregory.net/rapid":                never,
	"golang.org/x/crypto":               only("keys"),
}

func notValues(path string) bool { return !slices.Contains(values, path) }
func never(string) bool          { return false } // in tests only, which this table is not about

func only(paths ...string) func(string) bool {
	return func(path string) bool { return slices.Contains(paths, path) }
}

func isTestOnly(path string) bool {
	p, ok := house[path]
	return ok && p.floor == testOnly
}

// ours gives the path below the module of an import of ours.
func ours(imported string) (path string, ok bool) {
	return strings.CutPrefix(imported, module+"/")
}

func TestEveryPackageHasItsPlace(t *testing.T) {
	t.Parallel()
	for _, p := range allPackages(t) {
		if _, ok := house[p.path()]; !ok {
			t.Errorf("%s has no entry in internal/lint/floors_test.go: on which floor is it, what may it import, why?", p.path())
		}
	}
}

// TestEveryEntryHasItsPackage finds what the table says of packages that are not there.
func TestEveryEntryHasItsPackage(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	for _, p := range allPackages(t) {
		there[p.path()] = true
	}
	for path := range house {
		if !there[path] {
			t.Errorf("%s has an entry in internal/lint/floors_test.go and is not there", path)
		}
	}
}

func TestImportsGoDown(t *testing.T) {
	t.Parallel()
	for _, p := range allPackages(t) {
		here, ok := house[p.path()]
		for _, imported := range p.Imports {
			path, isOurs := ours(imported)
			if ok && isOurs && !slices.Contains(here.imports, path) {
				t.Errorf("%s imports %s, which it may not (%s); it may import %q", p.path(), path, here.why, here.imports)
			}
		}
	}
}

func TestTheTableItselfGoesDown(t *testing.T) {
	t.Parallel()
	beside := map[string]bool{ // arrows within a floor
		"internal/fsop internal/beneath": true, "flock internal/beneath": true, "flock internal/procstat": true, "storelock/dirstore storelock": true, "storelock/s3store storelock": true,
		"blob digest": true, "index digest": true, "keys digest": true, "keys blob": true,
		"backupinfo digest": true, "backupinfo blob": true, "export pxar": true, "catalog pxar": true, "reuse pxar": true, "reuse index": true,
		"treefind datastore": true, "treediff datastore": true, "mount datastore": true,
	}
	for path, p := range house {
		for _, below := range p.imports {
			b, ok := house[below]
			if !ok {
				t.Errorf("%s may import %s, which has no entry", path, below)
			}
			if p.floor != testOnly && (b.floor == testOnly || b.floor >= p.floor && !beside[path+" "+below]) {
				t.Errorf("%s (floor %d) may import %s (floor %d)", path, p.floor, below, b.floor)
			}
		}
	}
}

func TestTestsImportNothingFromAbove(t *testing.T) {
	t.Parallel()
	for _, p := range allPackages(t) {
		here, ok := house[p.path()]
		if !ok || here.floor == testOnly {
			continue
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			path, isOurs := ours(imported)
			if isOurs && !isTestOnly(path) && house[path].floor > here.floor {
				t.Errorf("a test of %s (floor %d) imports %s (floor %d)", p.path(), here.floor, path, house[path].floor)
			}
		}
	}
}

func TestForeignModulesStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	for _, p := range allPackages(t) {
		for _, imported := range p.Imports {
			if _, isOurs := ours(imported); isOurs || !strings.Contains(imported, ".") {
				continue
			}
			allowed, known := moduleRule(imported)
			if !known {
				t.Errorf("%s imports %s, which has no entry in the table of modules", p.path(), imported)
			} else if !allowed(p.path()) {
				t.Errorf("%s may not import %s", p.path(), imported)
			}
		}
	}
}

// TestEveryModuleOfTheTableIsRequired finds rules for what nobody uses any more.
func TestEveryModuleOfTheTableIsRequired(t *testing.T) {
	t.Parallel()
	required := requiredModules(t)
	for path := range modules {
		if !required[path] {
			t.Errorf("%s has an entry in the table of modules and is not required by go.mod", path)
		}
	}
	for path := range required {
		if _, ok := modules[path]; !ok {
			t.Errorf("%s is required by go.mod and has no entry in the table of modules", path)
		}
	}
}

// requiredModules are those that go.mod names for our own use.
func requiredModules(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+|\S+\.\S+) v\S+$`).FindAllStringSubmatch(string(text), -1) {
		required[m[1]] = true
	}
	if len(required) == 0 {
		t.Fatal("go.mod requires nothing")
	}
	return required
}

// TestTheLinterKnowsOnlyWhatIsThere looks for names of ours, and of other modules,
// in the configuration of the linter.
func TestTheLinterKnowsOnlyWhatIsThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root(), ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range staleInLinter(string(text), requiredModules(t)) {
		t.Error(problem)
	}
}

func staleInLinter(config string, required map[string]bool) (problems []string) {
	for _, m := range regexp.MustCompile(`pkg: ([a-z]+\.\S+/[^\s$]+)`).FindAllStringSubmatch(config, -1) {
		if path, isOurs := ours(m[1]); isOurs {
			if _, err := os.Stat(filepath.Join(root(), path)); err != nil {
				problems = append(problems, ".golangci.yml denies "+m[1]+", which is not there")
			}
			continue
		}
		if m[1] == module || isPartOfAny(m[1], required) {
			continue
		}
		problems = append(problems, ".golangci.yml denies "+m[1]+", which go.mod does not require")
	}
	for _, m := range regexp.MustCompile(`"!?\*\*/(\S+?)/\*[^"]*"`).FindAllStringSubmatch(config, -1) {
		if _, err := os.Stat(filepath.Join(root(), m[1])); err != nil {
			problems = append(problems, ".golangci.yml has rules for "+m[1]+", which is not there")
		}
	}
	return problems
}

// isPartOfAny says whether the path is a module, or the beginning of its path.
func isPartOfAny(path string, required map[string]bool) bool {
	for m := range required {
		if m == path || strings.HasPrefix(m, path+"/") {
			return true
		}
	}
	return false
}

func moduleRule(imported string) (func(string) bool, bool) {
	for path, rule := range modules {
		if imported == path || strings.HasPrefix(imported, path+"/") {
			return rule, true
		}
	}
	return nil, false
}

func TestValuesTouchNoFiles(t *testing.T) {
	t.Parallel()
	for _, p := range allPackages(t) {
		if notValues(p.path()) {
			continue
		}
		for _, imported := range p.Imports {
			if slices.Contains([]string{"os", "os/exec", "path/filepath", "syscall", "net", "net/http", "io/ioutil"}, imported) {
				t.Errorf("%s imports %s: it turns bytes into values and has no access to files", p.path(), imported)
			}
		}
	}
}

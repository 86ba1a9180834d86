package treefind

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pbs-like/pbs-like/catalog"
	"github.com/pbs-like/pbs-like/exclude"
)

// Kinds are the kinds of entries that are looked for.
type Kinds int

// The kinds; the zero value is all of them.
const (
	AllKinds Kinds = iota
	Files          // hard links too, which are names of files
	Directories
	Symlinks
)

// Query is what to look for. Globs are those of package exclude: * ? [^a-z] and **, about bytes.
type Query struct {
	// Pattern is compared with the name of an entry, or with its whole path, which begins with a slash, if the pattern has a
	// slash itself; a slash is put before one that does not begin with it. It matches the whole of either.
	Pattern string
	// PathGlob is compared with the whole path besides; "" is any.
	PathGlob   string
	IgnoreCase bool
	Kinds      Kinds
}

// Matcher is a query that is ready for use. It is safe for concurrent use.
type Matcher struct {
	name, path, also exclude.List // each may be empty
	literal          string       // what a name must hold, in the case of the query
	whole            bool         // and be
	fold             bool
	kinds            Kinds
}

// Compile reads a query. The error says what is wrong with which pattern.
func Compile(q Query) (*Matcher, error) {
	m := &Matcher{fold: q.IgnoreCase, kinds: q.Kinds}
	var err error
	if strings.Contains(q.Pattern, "/") {
		m.path, err = m.list(slashed(q.Pattern))
	} else {
		m.name, err = m.list(q.Pattern)
	}
	if err == nil && q.PathGlob != "" {
		m.also, err = m.list(slashed(q.PathGlob))
	}
	if err != nil {
		return nil, err
	}
	if last := q.Pattern[strings.LastIndexByte(q.Pattern, '/')+1:]; m.path == nil || !strings.Contains(q.Pattern, "[") { // a class may hold a slash
		m.literal, m.whole = literalOf(m.folded(last))
	}
	return m, nil
}

// slashed puts a slash before a pattern for paths: an exclude pattern without one would match a part of the path.
func slashed(pattern string) string {
	if strings.HasPrefix(pattern, "/") {
		return pattern
	}
	return "/" + pattern
}

var (
	errEmpty = errors.New("it is empty")
	errDots  = errors.New("it has . or .. between slashes: no path does, for it begins at the root of the archive, like /etc/hosts")
	errSlash = errors.New("it ends with a slash: no path does, directories neither")
)

func (m *Matcher) list(pattern string) (exclude.List, error) {
	switch {
	case pattern == "":
		return nil, fmt.Errorf("pattern %q: %w", pattern, errEmpty)
	case strings.HasSuffix(pattern, "/"):
		return nil, fmt.Errorf("pattern %q: %w", pattern, errSlash)
	case hasDots(pattern):
		return nil, fmt.Errorf("pattern %q: %w", pattern, errDots)
	}
	text := pattern
	if m.fold {
		text = m.folded(strings.ReplaceAll(text, "[:upper:]", "[:alpha:]"))
	}
	if strings.HasPrefix(text, "!") { // means nothing here
		text = `\` + text
	}
	p, err := exclude.ParseSelection(text)
	return exclude.List{p}, err
}

// hasDots looks at no pattern with a class, which may hold a slash.
func hasDots(pattern string) bool {
	if strings.Contains(pattern, "[") {
		return false
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

func (m *Matcher) folded(text string) string {
	switch {
	case !m.fold:
		return text
	case utf8.ValidString(text):
		return strings.ToLower(text)
	}
	b := []byte(text) // letters of other alphabets can't be told in it
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// literalOf gives the longest text that everything has which a glob for names matches, and whether that is all of it.
func literalOf(glob string) (longest string, whole bool) {
	if !strings.ContainsAny(glob, `*?[\`) {
		return glob, true
	}
	run := ""
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '[': // where a class ends is not needed: what comes before it is enough
			return longer(longest, run), false
		case '*', '?':
			longest, run = longer(longest, run), ""
		case '\\':
			if i++; i < len(glob) {
				run += glob[i : i+1]
			}
		default:
			run += glob[i : i+1]
		}
	}
	return longer(longest, run), false
}

func longer(a, b string) string {
	if len(b) > len(a) {
		return b
	}
	return a
}

func (m *Matcher) wants(kind catalog.Kind) bool {
	switch m.kinds {
	case Files:
		return kind == catalog.File || kind == catalog.Hardlink
	case Directories:
		return kind == catalog.Directory
	case Symlinks:
		return kind == catalog.Symlink
	case AllKinds:
	}
	return true
}

// Matches tells whether an entry of a kind with a path is looked for. The path begins with a slash, and is not that alone.
func (m *Matcher) Matches(path string, kind catalog.Kind) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	return m.wants(kind) && m.mayMatch(name) && m.matches(name, path)
}

// mayMatch is a quick look at a name, which turns nearly everything away.
func (m *Matcher) mayMatch(name string) bool {
	name = m.folded(name)
	if m.whole {
		return name == m.literal
	}
	return strings.Contains(name, m.literal)
}

// matches tells whether an entry with this name and path, which passed mayMatch, is looked for.
func (m *Matcher) matches(name, path string) bool {
	path = m.folded(path)
	return matchesAll(m.name, m.folded(name)) && matchesAll(m.path, path) && matchesAll(m.also, path)
}

// matchesAll compares with a list of one or no pattern.
func matchesAll(list exclude.List, path string) bool {
	return len(list) == 0 || list.Match(path, true) == exclude.Include
}

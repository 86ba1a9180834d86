package backupinfo

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// The limits of namespaces.
const (
	MaxNamespaceDepth  = 7   // parts
	MaxNamespaceLength = 256 // characters of the text form
)

// namespaceDir is the directory that holds the namespaces within a namespace.
const namespaceDir = "ns"

// Namespace is a place for groups within a store: parts joined by slashes, as
// in "a/b". The zero value is the root, whose text is empty. Values made by this
// package are always valid; they compare with ==.
type Namespace struct{ text string }

// ParseNamespace reads the text form. "" is the root.
func ParseNamespace(s string) (Namespace, error) {
	if s == "" {
		return Namespace{}, nil
	}
	if len(s) > MaxNamespaceLength {
		return Namespace{}, fmt.Errorf("namespace %s: longer than %d characters", quote(s), MaxNamespaceLength)
	}
	depth := 0
	for part := range strings.SplitSeq(s, "/") {
		if err := checkID(part); err != nil {
			return Namespace{}, fmt.Errorf("namespace %s: part %s %w", quote(s), quote(part), err)
		}
		depth++
	}
	if depth > MaxNamespaceDepth {
		return Namespace{}, fmt.Errorf("namespace %s: deeper than %d", quote(s), MaxNamespaceDepth)
	}
	return Namespace{s}, nil
}

// ParseNamespaceDir reads the form on disk, "ns/a/ns/b", with one slash at the
// end or none. It is the inverse of Dir.
func ParseNamespaceDir(path string) (Namespace, error) {
	rest := strings.TrimSuffix(path, "/")
	if rest == "" && path == "" {
		return Namespace{}, nil
	}
	var parts []string
	for rest != "" || len(parts) == 0 {
		name, after, found := strings.Cut(rest, "/")
		if name != namespaceDir || !found {
			return Namespace{}, fmt.Errorf("namespace path %s: each part must follow a directory %q", quote(path), namespaceDir)
		}
		if len(parts) == MaxNamespaceDepth {
			return Namespace{}, fmt.Errorf("namespace path %s: deeper than %d", quote(path), MaxNamespaceDepth)
		}
		part, after, more := strings.Cut(after, "/")
		if more && after == "" {
			return Namespace{}, fmt.Errorf("namespace path %s: ends in two slashes", quote(path))
		}
		parts, rest = append(parts, part), after
	}
	return ParseNamespace(strings.Join(parts, "/"))
}

// String returns the text form, "" for the root.
func (n Namespace) String() string { return n.text }

// IsRoot reports whether n is the root.
func (n Namespace) IsRoot() bool { return n.text == "" }

// Dir returns the path below the store's root directory, "ns/a/ns/b", and ""
// for the root namespace.
func (n Namespace) Dir() string {
	if n.IsRoot() {
		return ""
	}
	return namespaceDir + "/" + strings.ReplaceAll(n.text, "/", "/"+namespaceDir+"/")
}

// Depth returns the number of parts, 0 for the root.
func (n Namespace) Depth() int {
	if n.IsRoot() {
		return 0
	}
	return 1 + strings.Count(n.text, "/")
}

// Name returns the last part, "" for the root.
func (n Namespace) Name() string { return n.text[strings.LastIndexByte(n.text, '/')+1:] }

// Parent returns the namespace that holds n. The root is its own parent.
func (n Namespace) Parent() Namespace {
	return Namespace{n.text[:max(strings.LastIndexByte(n.text, '/'), 0)]}
}

// Child returns the namespace of the given name within n. It fails when the name
// is no valid part, or when the child would be too deep or its text too long.
func (n Namespace) Child(name string) (Namespace, error) {
	switch {
	case strings.Contains(name, "/"):
		return Namespace{}, fmt.Errorf("namespace part %s: has a slash", quote(name))
	case name == "":
		return Namespace{}, errors.New(`namespace part "": is empty`)
	case n.IsRoot():
		return ParseNamespace(name)
	}
	return ParseNamespace(n.text + "/" + name)
}

// Contains reports whether other is n or lies within n, at any depth.
func (n Namespace) Contains(other Namespace) bool {
	if n.IsRoot() || n == other {
		return true
	}
	return len(other.text) > len(n.text) && other.text[len(n.text)] == '/' && strings.HasPrefix(other.text, n.text)
}

// Compare orders namespaces part by part, each by its bytes; a namespace comes
// before those within it.
func (n Namespace) Compare(other Namespace) int {
	a, b := n.text, other.text
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
			continue
		// A slash ends the part, and the shorter part comes first, although - and
		// . are smaller bytes.
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		}
		return cmp.Compare(a[i], b[i])
	}
	return cmp.Compare(len(a), len(b))
}

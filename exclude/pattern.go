package exclude

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict is what a list says of a path.
type Verdict int

// The verdicts; the zero value is that no pattern matches.
const (
	None Verdict = iota
	Exclude
	Include
)

// Pattern is one pattern. The zero value matches nothing.
type Pattern struct {
	include  bool
	dirs     bool // directories only
	anchored bool
	text     string // without "!" and slashes at the end
	glob     glob
}

// Selects tells that what matches is included.
func (p Pattern) Selects() bool { return p.include }

// List is patterns in order.
type List []Pattern

// Match tells what the list says of a path, which begins with a slash, and names a directory or not.
func (l List) Match(path string, dir bool) Verdict {
	for _, p := range slices.Backward(l) {
		if (dir || !p.dirs) && p.glob.match(path, p.anchored) {
			if p.include {
				return Include
			}
			return Exclude
		}
	}
	return None
}

// ParseArgument reads a pattern as --exclude takes it.
func ParseArgument(text string) (Pattern, error) { return parse(normalize(text), false, false) }

// ParseSelection reads a pattern that selects what to restore: what matches is included, and with a leading "!" it is excluded.
func ParseSelection(text string) (Pattern, error) { return parse(text, true, false) }

// ParseFile reads a file named .pxarexclude in a directory, whose path from the root has no slash at either end; the root's own is "".
// Lines that can't be read are errors, with their numbers, and the others count all the same.
func ParseFile(data []byte, dir string) (list List, bad []error) {
	for number, line := range strings.Split(string(data), "\n") {
		line = strings.Trim(line, " \t\n\f\r")
		if line == "" || line[0] == '#' {
			continue
		}
		include := false
		rest := line
		if after, ok := strings.CutPrefix(line, "!"); ok && after != "" {
			include, rest = true, after
		}
		anchored := strings.HasPrefix(rest, "/")
		if anchored && dir != "" {
			rest = "/" + dir + rest
		}
		p, err := parse(normalize(rest), include, anchored)
		if err != nil {
			bad = append(bad, fmt.Errorf("line %d: %w", number+1, err))
			continue
		}
		list = append(list, p)
	}
	return list, bad
}

func parse(text string, include, anchored bool) (Pattern, error) {
	p := Pattern{include: include, anchored: anchored}
	rest := text
	if after, ok := strings.CutPrefix(text, "!"); ok {
		p.include, rest = !include, after
	}
	p.text = strings.TrimRight(rest, "/")
	p.dirs = len(p.text) < len(rest) || rest == ""
	source := p.text
	if source == "" {
		source = "/"
	}
	var err error
	if p.glob, err = parseGlob(source); err != nil {
		return Pattern{}, fmt.Errorf("pattern %q: %w", text, err)
	}
	return p, nil
}

// Literal is a pattern that excludes just this text, as a path or behind one of its slashes.
func Literal(text string) Pattern {
	p := Pattern{text: text}
	for i := range len(text) {
		p.glob = append(p.glob, token{kind: literal, c: text[i]})
	}
	return p
}

// String is the pattern as a file or the command line has it.
func (p Pattern) String() string {
	text := p.text
	if p.include {
		text = "!" + text
	}
	if p.dirs {
		text += "/"
	}
	return text
}

// Text is the list as the original stores it with an archive: a pattern a line.
func (l List) Text() string {
	var b strings.Builder
	for _, p := range l {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}

// normalize takes "." and ".." out of the text of a pattern.
func normalize(text string) string {
	var kept []string
	for part := range strings.SplitSeq(text, "/") {
		switch part {
		case "", ".":
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		default:
			kept = append(kept, part)
		}
	}
	out := strings.Join(kept, "/")
	if strings.HasPrefix(text, "/") {
		out = "/" + out
	}
	if len(kept) > 0 && strings.HasSuffix(text, "/") {
		out += "/"
	}
	return out
}

package exclude

import (
	"slices"
	"strings"
)

// Below tells what a selection may find in a directory that it does not select itself, without looking: any name, or only
// those that are given, which may be none. The path is as in [List.Match], "" for the root.
func (l List) Below(dir string) (names []string, anything bool) {
	for _, p := range l {
		if !p.include {
			continue
		}
		found, anything := p.below(dir)
		if anything {
			return nil, true
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(names), false
}

func (p Pattern) below(dir string) (names []string, anything bool) {
	if !p.fromTop() {
		return nil, len(p.glob) > 0
	}
	places := p.glob.follow(dir + "/")
	for at, there := range places[:len(p.glob)] {
		if !there {
			continue
		}
		name, ok := p.glob.name(at)
		if !ok {
			return nil, true
		}
		names = append(names, name)
	}
	return names, false
}

// fromTop tells of patterns that begin with a slash, which is nowhere behind another one.
func (p Pattern) fromTop() bool {
	return p.anchored || len(p.glob) > 0 && p.glob[0].kind == literal && p.glob[0].c == '/'
}

// follow gives the places behind a text that begins at the top.
func (g glob) follow(text string) []bool {
	now, next := make([]bool, len(g)+1), make([]bool, len(g)+1)
	g.reach(now, 0)
	for i := range len(text) {
		clear(next)
		for at, there := range now[:len(g)] {
			if there {
				g.step(next, at, text[i])
			}
		}
		now, next = next, now
	}
	return now
}

// name is the only one that matches from a place on up to a slash or the end, if there is just one.
func (g glob) name(at int) (name string, ok bool) {
	var b strings.Builder
	for _, t := range g[at:] {
		if t.kind != literal {
			return "", false
		}
		if t.c == '/' {
			break
		}
		b.WriteByte(t.c)
	}
	return b.String(), true
}

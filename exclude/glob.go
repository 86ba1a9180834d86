package exclude

import (
	"errors"
	"strings"
)

type tokenKind int

const (
	literal    tokenKind = iota
	notSlash             // one byte but a slash
	class                // one byte of a set
	star                 // any bytes but a slash
	everything           // any bytes
	optional             // the next token may be left out
	untilSlash           // any bytes and a slash
)

type token struct {
	kind tokenKind
	c    byte
	set  *byteSet
}

type byteSet [4]uint64

func (s *byteSet) add(c byte)      { s[c/64] |= 1 << (c % 64) }
func (s *byteSet) has(c byte) bool { return s[c/64]&(1<<(c%64)) != 0 }

// glob is a pattern in pieces. It is matched by following all its places at once, so that no pattern takes long.
type glob []token

func (g glob) match(path string, anchored bool) bool {
	if path == "" || len(g) == 0 {
		return false
	}
	now, next := make([]bool, len(g)+1), make([]bool, len(g)+1)
	g.reach(now, 0)
	for i := range len(path) {
		clear(next)
		for at, there := range now[:len(g)] {
			if there {
				g.step(next, at, path[i])
			}
		}
		if path[i] == '/' && !anchored {
			g.reach(next, 0)
		}
		now, next = next, now
	}
	return now[len(g)]
}

// reach marks a place, and those that are reached from there without a byte.
func (g glob) reach(places []bool, at int) {
	places[at] = true
	for ; at < len(g); at++ {
		switch g[at].kind {
		case star, everything:
			places[at+1] = true
		case optional:
			places[at+1] = true
			g.reach(places, at+2)
			return
		default:
			return
		}
	}
}

// step marks the places after a byte.
func (g glob) step(places []bool, at int, c byte) {
	t := g[at]
	switch t.kind {
	case literal:
		if c == t.c {
			g.reach(places, at+1)
		}
	case notSlash:
		if c != '/' {
			g.reach(places, at+1)
		}
	case class:
		if t.set.has(c) {
			g.reach(places, at+1)
		}
	case star:
		if c != '/' {
			g.reach(places, at)
		}
	case everything:
		g.reach(places, at)
	case untilSlash:
		places[at] = true
		if c == '/' {
			g.reach(places, at+1)
		}
	case optional:
	}
}

var (
	errNUL       = errors.New("it has a NUL")
	errBackslash = errors.New("it ends with a backslash")
	errUnclosed  = errors.New("it has a [ without its ]")
	errClassName = errors.New("it has an unknown class of characters")
)

func parseGlob(text string) (g glob, err error) {
	if strings.Contains(text, "\x00") {
		return nil, errNUL
	}
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '*':
			i = g.stars(text, i)
		case '?':
			g = append(g, token{kind: notSlash})
			i++
		case '[':
			set := &byteSet{}
			if i, err = parseClass(text, i+1, set); err != nil {
				return nil, err
			}
			g = append(g, token{kind: class, set: set})
		case '\\':
			if i+1 == len(text) {
				return nil, errBackslash
			}
			g = append(g, token{kind: literal, c: text[i+1]})
			i += 2
		default:
			g = append(g, token{kind: literal, c: c})
			i++
		}
	}
	return g, nil
}

// stars reads stars from i on, and gives where to go on.
func (g *glob) stars(text string, i int) int {
	end := i
	for end < len(text) && text[end] == '*' {
		end++
	}
	alone := end-i > 1 && (i == 0 || text[i-1] == '/') && (end == len(text) || text[end] == '/')
	switch {
	case !alone:
		*g = append(*g, token{kind: star})
	case end == len(text):
		*g = append(*g, token{kind: everything})
	default:
		*g = append(*g, token{kind: optional}, token{kind: untilSlash})
		end++
	}
	return end
}

package treefind

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pbs-like/pbs-like/catalog"
)

func TestPatternsWithASlashArePathsAndOthersAreNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query Query
		path  string
		want  bool
	}{
		{Query{Pattern: "nginx.conf"}, "/etc/nginx/nginx.conf", true},
		{Query{Pattern: "nginx.conf"}, "/etc/nginx/nginx.conf.bak", false},
		{Query{Pattern: "nginx.conf"}, "/nginx.conf/x", false},
		{Query{Pattern: "*.conf"}, "/etc/nginx/nginx.conf", true},
		{Query{Pattern: "[^a]foo"}, "/foo", false},
		{Query{Pattern: "n*x"}, "/n/x", false},
		{Query{Pattern: "!x"}, "/!x", true},
		{Query{Pattern: "!x"}, "/y", false},
		{Query{Pattern: "#x"}, "/#x", true},
		{Query{Pattern: " x"}, "/ x", true},
		{Query{Pattern: `\*`}, "/*", true},
		{Query{Pattern: `\*`}, "/x", false},
		{Query{Pattern: "nginx/nginx.conf"}, "/etc/nginx/nginx.conf", false},
		{Query{Pattern: "**/nginx/nginx.conf"}, "/etc/nginx/nginx.conf", true},
		{Query{Pattern: "**/nginx/nginx.conf"}, "/nginx/nginx.conf", true},
		{Query{Pattern: "/etc/*"}, "/etc/hosts", true},
		{Query{Pattern: "/etc/*"}, "/etc/a/b", false},
		{Query{Pattern: "/etc/**"}, "/etc/a/b", true},
		{Query{Pattern: "etc/*"}, "/etc/hosts", true},
		{Query{Pattern: "etc/*"}, "/x/etc/hosts", false},
		{Query{Pattern: "/etc[/]x"}, "/etc/x", true},
		{Query{Pattern: "*.conf", PathGlob: "/etc/**"}, "/etc/a/b.conf", true},
		{Query{Pattern: "*.conf", PathGlob: "etc/**"}, "/usr/b.conf", false},
		{Query{Pattern: "README", IgnoreCase: true}, "/ReadMe", true},
		{Query{Pattern: "ÜBER*", IgnoreCase: true}, "/übermut", true},
		{Query{Pattern: "x\xffY", IgnoreCase: true}, "/X\xffy", true},
		{Query{Pattern: "[[:upper:]]", IgnoreCase: true}, "/a", true},
		{Query{Pattern: "/ETC/*", IgnoreCase: true}, "/etc/Hosts", true},
		{Query{Pattern: "README"}, "/ReadMe", false},
		{Query{Pattern: "x", Kinds: Directories}, "/x", false},
		{Query{Pattern: "x", Kinds: Symlinks}, "/x", false},
		{Query{Pattern: "x", Kinds: Files}, "/x", true},
	} {
		m, err := Compile(c.query)
		if err != nil {
			t.Fatal(err)
		}
		if m.Matches(c.path, catalog.File) != c.want {
			t.Errorf("%+v, %q: want %v", c.query, c.path, c.want)
		}
	}
}

func TestHardLinksAreFiles(t *testing.T) {
	t.Parallel()
	m, err := Compile(Query{Pattern: "x", Kinds: Files})
	if err != nil || !m.Matches("/x", catalog.Hardlink) || m.Matches("/x", catalog.FIFO) {
		t.Error(err)
	}
}

func TestPatternsThatCanMatchNothingAreRefused(t *testing.T) {
	t.Parallel()
	for _, q := range []Query{{}, {Pattern: "etc/"}, {Pattern: "[a"}, {Pattern: "a\\"}, {Pattern: "a\x00"}, {Pattern: "a", PathGlob: "/"}, {Pattern: "a", PathGlob: "[[:x:]]"}} {
		if _, err := Compile(q); err == nil {
			t.Errorf("%+v is taken", q)
		}
	}
}

// TestTheQuickLookTurnsNothingAwayThatMatches compares with the globs alone.
func TestTheQuickLookTurnsNothingAwayThatMatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := Query{Pattern: rapid.StringMatching(`[ab*?/\\\[\]^ABü]{1,8}`).Draw(t, "pattern"), IgnoreCase: rapid.Bool().Draw(t, "fold")}
		path := "/" + rapid.StringMatching(`[abABü*]{1,3}(/[abABü*]{1,3}){0,2}`).Draw(t, "path")
		m, err := Compile(q)
		if err != nil {
			return
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if m.matches(name, path) && !m.mayMatch(name) {
			t.Errorf("%+v matches %q, and the quick look says no", q, path)
		}
	})
}

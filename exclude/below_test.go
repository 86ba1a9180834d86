package exclude

import (
	"slices"
	"strings"
	"testing"
)

func TestASelectionKnowsWhereItFindsNothing(t *testing.T) {
	t.Parallel()
	tests := []struct{ patterns, dir, want string }{
		{"/etc/hosts", "", "etc"},
		{"/etc/hosts", "/etc", "hosts"},
		{"/etc/hosts", "/var", ""},
		{"/etc/hosts", "/et", ""},
		{"/etc/hosts", "/etc/hosts", ""},
		{"etc/hosts", "/var", "*"},
		{"**/hosts", "/var", "*"},
		{"/etc/*.conf", "/etc", "*"},
		{"/etc/*.conf", "", "etc"},
		{"/etc/*.conf", "/var", ""},
		{"/a/**/b", "/a", "*"},
		{"/a/**/b", "/a/x/y", "*"},
		{"/a/**/b", "/c", ""},
		{"/[ab]/c", "/a", "c"},
		{"/[ab]/c", "", "*"},
		{"/[ab]/c", "/c", ""},
		{"/a/b /a/c /a/b", "/a", "b c"},
		{"!/a/b", "/a", ""},
		{"/a/b *", "/a", "*"},
		{`/a\*/b`, "", "a*"},
		{"/a/", "", "a"},
	}
	for _, test := range tests {
		var list List
		for text := range strings.FieldsSeq(test.patterns) {
			p, err := ParseSelection(text)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, p)
		}
		names, anything := list.Below(test.dir)
		got := strings.Join(names, " ")
		if anything {
			got = "*"
		}
		if got != test.want {
			t.Errorf("%s below %q: %q, not %q", test.patterns, test.dir, got, test.want)
		}
	}
}

// FuzzBelowMissesNothing looks for what matches where Below says that nothing does.
func FuzzBelowMissesNothing(f *testing.F) {
	f.Add("/etc/*.conf", "/etc", "a.conf")
	f.Add("/a/**/b", "/a/x", "b")
	f.Add("/**", "", "b")
	f.Add("/a**b/[!-c]", "/ab", "b")
	f.Fuzz(func(t *testing.T, pattern, dir, name string) {
		p, err := ParseSelection(pattern)
		dir = strings.TrimRight("/"+strings.Trim(dir, "/"), "/")
		if err != nil || name == "" || strings.Contains(name, "/") || strings.Contains(dir, "//") {
			return
		}
		l := List{p}
		names, anything := l.Below(dir)
		if !anything && !slices.Contains(names, name) && l.Match(dir+"/"+name, true) == Include {
			t.Errorf("%q below %q: only %q, and %q matches", pattern, dir, names, name)
		}
	})
}

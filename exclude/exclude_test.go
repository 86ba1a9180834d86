package exclude

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func vectors[T any](t testing.TB, name string) (all []T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

type patternVector struct {
	Dir      bool `json:"is_dir"`
	Path     string
	PathHex  string `json:"path-hex"`
	Patterns []json.RawMessage
	Result   string
	Errors   []string `json:"parse-errors"`
}

// pattern reads a pattern of the vectors: a text as on the command line, but not normalized, or an object.
func (v patternVector) pattern(t *testing.T, raw json.RawMessage) (Pattern, error) {
	t.Helper()
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return parse(text, false, false)
	}
	var o struct {
		Pattern           string
		Hex               string `json:"pattern-hex"`
		Type              string
		Anchored, Literal bool
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	if o.Hex != "" {
		o.Pattern = fromHex(t, o.Hex)
	}
	if o.Literal {
		return Literal(o.Pattern), nil
	}
	return parse(o.Pattern, o.Type == "include", o.Anchored)
}

func fromHex(t testing.TB, text string) string {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestPatternsMatchLikeTheOriginals(t *testing.T) {
	t.Parallel()
	for _, v := range vectors[patternVector](t, "patterns.json") {
		name := v.Path
		if v.PathHex != "" {
			name = fromHex(t, v.PathHex)
		}
		var list List
		errs := 0
		for _, raw := range v.Patterns {
			p, err := v.pattern(t, raw)
			if err != nil {
				errs++
				continue
			}
			list = append(list, p)
		}
		got := map[Verdict]string{None: "none", Exclude: "exclude", Include: "include"}[list.Match(name, v.Dir)]
		if got != v.Result || errs != len(v.Errors) {
			t.Errorf("%s of %q, directory %v: %s and %d errors, want %s and %q", v.Patterns, name, v.Dir, got, errs, v.Result, v.Errors)
		}
	}
}

func TestPatternsAreNormalizedLikeTheOriginals(t *testing.T) {
	t.Parallel()
	for _, v := range vectors[struct{ In, Out string }](t, "pattern-normalize.json") {
		if got := normalize(v.In); got != v.Out {
			t.Errorf("%q: %q, want %q", v.In, got, v.Out)
		}
	}
}

type scenario struct {
	Name     string
	Files    map[string]string
	CLI      []string
	Lost     bool `json:"skip-lost-and-found"`
	Archived []string
	CLIFile  string `json:"pxarexclude-cli"`
}

func unhex(t testing.TB, text string) string {
	t.Helper()
	if rest, ok := strings.CutPrefix(text, "hex:"); ok {
		return fromHex(t, rest)
	}
	return text
}

// tree is what is in each directory.
func (s scenario) tree(t *testing.T) (files map[string]string, children map[string][]string) {
	t.Helper()
	files, children = map[string]string{}, map[string][]string{}
	for name, content := range s.Files {
		name = strings.TrimSuffix(unhex(t, name), "/")
		files["/"+name] = unhex(t, content)
		for at := "/" + name; at != "/"; at = path.Dir(at) {
			if dir := path.Dir(at); !slices.Contains(children[dir], at) {
				children[dir] = append(children[dir], at)
			}
		}
	}
	for _, in := range children {
		slices.Sort(in)
	}
	return files, children
}

func (s scenario) list(t *testing.T) (list List) {
	t.Helper()
	for _, text := range s.CLI {
		p, err := ParseArgument(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if s.Lost {
		p, err := ParseArgument("lost+found")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

func TestTreesAreArchivedLikeByTheOriginal(t *testing.T) {
	t.Parallel()
	for _, s := range vectors[scenario](t, "exclude-scenarios.json") {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			files, children := s.tree(t)
			list := s.list(t)
			if got := list.Text(); got != s.CLIFile {
				t.Errorf("the list as text is %q, want %q", got, s.CLIFile)
			}
			var got []string
			walk(files, children, "/", list, &got)
			if len(list) > 0 {
				got = append(got, "/.pxarexclude-cli")
			}
			var want []string
			for _, name := range s.Archived {
				want = append(want, unhex(t, name))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q\nwant %q of\n%q", got, want, slices.Sorted(maps.Keys(files)))
			}
		})
	}
}

func walk(files map[string]string, children map[string][]string, dir string, list List, got *[]string) {
	if text, ok := files[path.Join(dir, ".pxarexclude")]; ok {
		own, _ := ParseFile([]byte(text), strings.Trim(dir, "/"))
		list = append(slices.Clone(list), own...)
	}
	for _, name := range children[dir] {
		_, isDir := children[name]
		if list.Match(name, isDir) == Exclude || name == "/.pxarexclude-cli" {
			continue
		}
		*got = append(*got, name)
		walk(files, children, name, list, got)
	}
}

func TestLinesThatCannotBeReadAreNamed(t *testing.T) {
	t.Parallel()
	list, bad := ParseFile([]byte("a\n[\n# [\nb\\\nc\n"), "")
	if len(list) != 2 || len(bad) != 2 || !strings.HasPrefix(bad[0].Error(), "line 2: ") || !strings.HasPrefix(bad[1].Error(), "line 4: ") {
		t.Errorf("%v, %v", list, bad)
	}
}

func TestSelectionsInclude(t *testing.T) {
	t.Parallel()
	var list List
	for _, text := range []string{"etc/**/*.conf", "!secret.conf"} {
		p, err := ParseSelection(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	for name, want := range map[string]Verdict{"/etc/a/b.conf": Include, "/etc/a.conf": Include, "/etc/secret.conf": Exclude, "/var/x": None} {
		if got := list.Match(name, false); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestNoPatternTakesLong has those that take for ever where a matcher goes back and tries again.
func TestNoPatternTakesLong(t *testing.T) {
	t.Parallel()
	p, err := ParseArgument(strings.Repeat("*a", 500) + strings.Repeat("/**", 100) + "/b")
	if err != nil {
		t.Fatal(err)
	}
	if (List{p}).Match("/"+strings.Repeat("a", 4000), false) != None {
		t.Error("matches")
	}
}

func FuzzPattern(f *testing.F) {
	for _, v := range vectors[patternVector](f, "patterns.json") {
		for _, raw := range v.Patterns {
			var text string
			if json.Unmarshal(raw, &text) == nil {
				f.Add(text, v.Path, v.Dir)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text, name string, dir bool) {
		p, err := ParseArgument(text)
		if err != nil {
			return
		}
		again, err := ParseArgument(p.String())
		if err != nil {
			t.Fatalf("%q is written %q: %v", text, p, err)
		}
		if again.String() != p.String() || (List{p}).Match(name, dir) != (List{again}).Match(name, dir) {
			t.Fatalf("%q is written %q, and that %q", text, p, again)
		}
	})
}

package backupinfo

import (
	"slices"
	"strings"
	"testing"
)

func TestNamespacesParseAsTheOriginalParsesThem(t *testing.T) {
	t.Parallel()
	type vector struct {
		Input string  `json:"input"`
		OK    bool    `json:"ok"`
		Depth int     `json:"depth"`
		Path  *string `json:"path"`
	}
	for _, v := range vectors[struct {
		List []vector `json:"namespace"`
	}](t, "parse.json").List {
		n, err := ParseNamespace(v.Input)
		if (err == nil) != v.OK {
			t.Errorf("ParseNamespace(%q): error %v, the original accepts: %v", v.Input, err, v.OK)
			continue
		}
		if v.OK && (n.Depth() != v.Depth || n.Dir() != *v.Path || n.String() != v.Input) {
			t.Errorf("ParseNamespace(%q) = %q, depth %d, dir %q", v.Input, n, n.Depth(), n.Dir())
		}
	}
}

func TestNamespacePathsParseAsTheOriginalParsesThem(t *testing.T) {
	t.Parallel()
	type vector struct {
		Input string `json:"input"`
		From  struct {
			NS    string `json:"ns"`
			Path  string `json:"path"`
			Error string `json:"error"`
		} `json:"from-path"`
	}
	for _, v := range vectors[struct {
		List []vector `json:"namespace-path"`
	}](t, "parse.json").List {
		n, err := ParseNamespaceDir(v.Input)
		if (err == nil) != (v.From.Error == "") {
			t.Errorf("ParseNamespaceDir(%q) = %q, %v; the original: %q", v.Input, n, err, v.From.Error)
			continue
		}
		if err == nil && (n.String() != v.From.NS || n.Dir() != v.From.Path) {
			t.Errorf("ParseNamespaceDir(%q) = %q, dir %q", v.Input, n, n.Dir())
		}
	}
}

func TestNamespaceDepthEndsAtSeven(t *testing.T) {
	t.Parallel()
	deepest, err := ParseNamespace("a/b/c/d/e/f/g")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := deepest.Child("h"); err == nil {
		t.Errorf("%q has a child %q", deepest, n)
	}
	if n, err := ParseNamespace("a/b/c/d/e/f/g/h"); err == nil {
		t.Errorf("namespace %q was accepted", n)
	}
	if n, err := ParseNamespaceDir("ns/a" + strings.Repeat("/ns/a", 7)); err == nil {
		t.Errorf("namespace %q was accepted", n)
	}
}

func TestNamespaceParentAndChildAreInverse(t *testing.T) {
	t.Parallel()
	n := Namespace{}
	for _, part := range []string{"a", "b-c", "d.e"} {
		child, err := n.Child(part)
		if err != nil || child.Parent() != n || child.Name() != part {
			t.Fatalf("%q.Child(%q) = %q, %v, with parent %q and name %q", n, part, child, err, child.Parent(), child.Name())
		}
		n = child
	}
	if n.String() != "a/b-c/d.e" || n.Depth() != 3 {
		t.Errorf("got %q of depth %d", n, n.Depth())
	}
	if root := (Namespace{}); root.Parent() != root || !root.IsRoot() || root.Name() != "" {
		t.Error("the root is not its own parent")
	}
	for _, bad := range []string{"", ".", "..", "a/b", "/", "a\x00", ".a", "-a", strings.Repeat("x", 255)} {
		if child, err := n.Child(bad); err == nil {
			t.Errorf("%q has a child %q", n, child)
		}
	}
}

func TestNamespaceContainsOnlyWhatIsWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outer, inner string
		want         bool
	}{
		{"", "", true},
		{"", "a/b", true},
		{"a", "a", true},
		{"a", "a/b", true},
		{"a", "a/b/c", true},
		{"a", "", false},
		{"a", "ab", false},
		{"a", "b/a", false},
		{"a/b", "a", false},
		{"a", "a-b", false},
	} {
		if got := (Namespace{c.outer}).Contains(Namespace{c.inner}); got != c.want {
			t.Errorf("%q contains %q: %v", c.outer, c.inner, got)
		}
	}
}

func TestGroupsParseAsTheOriginalParsesThem(t *testing.T) {
	t.Parallel()
	type vector struct {
		Input string `json:"input"`
		OK    bool   `json:"ok"`
	}
	for _, v := range vectors[struct {
		List []vector `json:"group"`
	}](t, "parse.json").List {
		g, err := ParseGroup(Namespace{"a"}, v.Input)
		if (err == nil) != v.OK {
			t.Errorf("ParseGroup(%q): error %v, the original accepts: %v", v.Input, err, v.OK)
			continue
		}
		if v.OK && (g.String() != v.Input || g.Dir() != "ns/a/"+v.Input) {
			t.Errorf("ParseGroup(%q) = %q, dir %q", v.Input, g, g.Dir())
		}
	}
}

type snapshotVector struct {
	Input    string `json:"input"`
	Part     string `json:"part"`
	Snapshot struct {
		Epoch Time   `json:"epoch"`
		Group string `json:"group"`
		Text  string `json:"to-string"`
		Error string `json:"error"`
	} `json:"snapshot"`
}

// canonical reports whether the original accepts the input and would lead to the
// same directory; it accepts 31 February too, and means 2 March by it.
func (v snapshotVector) canonical() bool {
	return v.Snapshot.Error == "" && v.Snapshot.Text == v.Input
}

func TestSnapshotsParseAsTheOriginalParsesThemWhenCanonical(t *testing.T) {
	t.Parallel()
	for _, v := range vectors[struct {
		List []snapshotVector `json:"snapshot"`
	}](t, "parse.json").List {
		s, err := ParseSnapshot(Namespace{}, v.Input)
		if (err == nil) != v.canonical() {
			t.Errorf("ParseSnapshot(%q): error %v, want canonical: %v", v.Input, err, v.canonical())
			continue
		}
		if err == nil && (s.Time != v.Snapshot.Epoch || s.Group.String() != v.Snapshot.Group || s.String() != v.Input) {
			t.Errorf("ParseSnapshot(%q) = %+v", v.Input, s)
		}
	}
}

func TestObjectsAreGroupsOrSnapshots(t *testing.T) {
	t.Parallel()
	for _, v := range vectors[struct {
		List []snapshotVector `json:"snapshot"`
	}](t, "parse.json").List {
		o, err := ParseObject(Namespace{}, v.Input)
		want := v.Part == "group" || v.Part == "snapshot" && v.canonical()
		if (err == nil) != want {
			t.Errorf("ParseObject(%q): error %v, want one: %v", v.Input, err, !want)
			continue
		}
		if _, isSnapshot := o.Snapshot(); err == nil && (isSnapshot != (v.Part == "snapshot") || o.String() != v.Input) {
			t.Errorf("ParseObject(%q) = %+v, want a %s", v.Input, o, v.Part)
		}
	}
}

func TestSnapshotPathsParseAsTheOriginalParsesThem(t *testing.T) {
	t.Parallel()
	type vector struct {
		Input  string `json:"input"`
		Result struct {
			NS       string `json:"ns"`
			Print    string `json:"print"`
			Snapshot string `json:"snapshot"`
			Error    string `json:"error"`
		} `json:"parse-ns-and-snapshot"`
	}
	for _, v := range vectors[struct {
		List []vector `json:"ns-and-snapshot"`
	}](t, "parse.json").List {
		s, err := ParseSnapshotDir(v.Input)
		if (err == nil) != (v.Result.Error == "") {
			t.Errorf("ParseSnapshotDir(%q) = %q, %v; the original: %q", v.Input, s.Dir(), err, v.Result.Error)
			continue
		}
		if err == nil && (s.Group.Namespace.String() != v.Result.NS || s.Dir() != v.Result.Print || s.String() != v.Result.Snapshot) {
			t.Errorf("ParseSnapshotDir(%q) = %q", v.Input, s.Dir())
		}
	}
}

func TestHandMadeSnapshotsAreValidatedBeforeTheyBecomePaths(t *testing.T) {
	t.Parallel()
	good := Snapshot{Group{Type: VM, ID: "100"}, 1705312800}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []Snapshot{
		{},
		{Group{Type: VM}, 1},
		{Group{Type: "..", ID: "100"}, 1},
		{Group{Type: VM, ID: ".."}, 1},
		{Group{Type: VM, ID: "a/b"}, 1},
		{Group{Type: VM, ID: "a\x00"}, 1},
		{good.Group, -1},
		{good.Group, minTime - 1},
		{good.Group, maxTime + 1},
	} {
		if err := bad.Validate(); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

func TestOrdersAreThoseOfTheOriginal(t *testing.T) {
	t.Parallel()
	type list struct {
		Input  []string `json:"input"`
		Sorted []string `json:"sorted"`
	}
	v := vectors[struct {
		Groups struct {
			list
			Compare [][3]any `json:"cmp"`
		} `json:"groups"`
		Namespaces list `json:"namespaces"`
		Snapshots  list `json:"snapshots"`
	}](t, "sort.json")
	group := func(s string) (Group, error) { return ParseGroup(Namespace{}, s) }
	snapshot := func(s string) (Snapshot, error) { return ParseSnapshot(Namespace{}, s) }
	checkSorted(t, v.Groups.Input, v.Groups.Sorted, group, Group.Compare)
	checkSorted(t, v.Namespaces.Input, v.Namespaces.Sorted, ParseNamespace, Namespace.Compare)
	checkSorted(t, v.Snapshots.Input, v.Snapshots.Sorted, snapshot, Snapshot.Compare)
	for _, c := range v.Groups.Compare {
		a, errA := group(c[0].(string))
		b, errB := group(c[1].(string))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if got := a.Compare(b); got != int(c[2].(float64)) {
			t.Errorf("%s compares to %s as %d, want %v", a, b, got, c[2])
		}
	}
	if len(v.Groups.Compare) == 0 {
		t.Error("no comparisons in the vectors")
	}
}

func checkSorted[T interface{ String() string }](t *testing.T, input, want []string, parse func(string) (T, error), compare func(a, b T) int) {
	t.Helper()
	var values []T
	for _, s := range input {
		v, err := parse(s)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	slices.SortStableFunc(values, compare)
	for i, v := range values {
		if v.String() != want[i] {
			t.Errorf("at %d: %q, want %q", i, v, want[i])
		}
	}
}

func TestGroupsOrderByNamespaceFirst(t *testing.T) {
	t.Parallel()
	a, b := Group{Namespace{"a"}, VM, "9"}, Group{Namespace{"b"}, CT, "1"}
	if a.Compare(b) >= 0 || b.Compare(a) <= 0 {
		t.Error("a group of namespace a must come before one of b")
	}
}

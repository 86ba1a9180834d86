package storelock

import (
	"strings"
	"testing"
)

func TestResourcesNeverShareADirectory(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	names := []string{
		"", ".", "-", "/", "a-b", "a/b", `a\x2db`, ".a", "a.", "A", "a", "vm/100", "vm/100/", "ns/a/vm/1", "hashed", "+", "+" + long, long, long + "y", "y" + long,
		strings.Repeat("y", 254), strings.Repeat("y", 255), ResourceDir(long), "\x00", "\xff", "é", ResourceDir("a b"), "a b",
	}
	seen := map[string]string{}
	for _, name := range names {
		dir := ResourceDir(name)
		if other, twice := seen[dir]; twice {
			t.Errorf("%q and %q share %q", name, other, dir)
		}
		seen[dir] = name
		if back, ok := Resource(dir); ok != (dir[0] != '+' && name != "") || ok && back != name {
			t.Errorf("%q gives %q, which gives %q, %v", name, dir, back, ok)
		}
		if dir == "" || len(dir) > 255 || strings.ContainsAny(dir, "/\x00") || dir[0] == '.' {
			t.Errorf("%q gives %q, which is no name of a directory", name, dir)
		}
	}
	for _, dir := range []string{"", `a\x`, `a\xg0`, `\x61`, ".a", "a b", `\X2d`} {
		if name, ok := Resource(dir); ok {
			t.Errorf("%q is no name of a resource's directory, and gives %q", dir, name)
		}
	}
	for name, want := range map[string]string{"vm/100/2026-01-15T03:00:00Z": `vm-100-2026\x2d01\x2d15T03\x3a00\x3a00Z`, ".x": `\x2ex`} {
		if got := ResourceDir(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

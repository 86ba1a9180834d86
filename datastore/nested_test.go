package datastore

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzReadMounts reads whatever a kernel, or something that plays one, may list.
func FuzzReadMounts(f *testing.F) {
	f.Add("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n")
	f.Add("1 2 8:1 / /a\\040b rw - ext4 /dev/sda1 rw\n1 2 8:1\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "mountinfo")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		mounts, err := readMounts(path)
		if err != nil {
			return // a line that is longer than any path
		}
		for _, m := range mounts {
			if rest, below := relative(m.root, m.point); below && len(rest) > len(m.point) {
				t.Errorf("%q below %q: %q", m.point, m.root, rest)
			}
		}
	})
}

func TestAParentIsCutOffAPathAtASlashOnly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		parent, name, rest string
		below              bool
	}{
		{"/", "/a/b", "a/b", true},
		{"/a", "/a/b", "b", true},
		{"/a", "/a", "", true},
		{"/a", "/ab", "b", false},
		{"/a/b", "/a", "/a", false},
		{"", "/a", "a", false},
	} {
		if rest, below := relative(test.parent, test.name); below != test.below || below && rest != test.rest {
			t.Errorf("%q below %q: %q, %v", test.name, test.parent, rest, below)
		}
	}
}

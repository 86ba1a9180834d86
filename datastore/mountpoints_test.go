package datastore

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// FuzzMountMemory reads whatever may lie where a collection keeps the places of its mounts.
func FuzzMountMemory(f *testing.F) {
	f.Add([]byte(`["vm","ns/a",".chunks"]`))
	f.Add([]byte(`["../x"]`))
	f.Add([]byte(`{}`))
	f.Add(bytes.Repeat([]byte("["), 10_000))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, mountsName), text, 0o600); err != nil {
			t.Fatal(err)
		}
		root, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		names, err := readMountMemory(root)
		if err != nil {
			return
		}
		for _, name := range names {
			if !fs.ValidPath(name) || name == "." {
				t.Errorf("%q leads elsewhere", name)
			}
		}
		again, err := json.Marshal(names)
		if err != nil || len(again) <= maxMountsSize && os.WriteFile(filepath.Join(dir, mountsName), again, 0o600) != nil {
			t.Fatal(err)
		}
		if back, err := readMountMemory(root); err != nil || len(back) != len(names) {
			t.Errorf("%q: back as %q, %v", names, back, err)
		}
	})
}

// FuzzFstab reads whatever a table of file systems may hold.
func FuzzFstab(f *testing.F) {
	f.Add([]byte("# comment\nUUID=1 /srv/store/vm ext4 defaults 0 2\n/dev/sdb1 /srv/store\\040b ext4\n"))
	f.Add([]byte("/dev/sdb1 /srv/store/../../etc none\n\n /dev/sdb1 /srv/store/.hidden x\nnone none swap\n"))
	f.Add([]byte("/dev/sdb1 /srv/store"))
	f.Fuzz(func(t *testing.T, text []byte) {
		below := fstabBelow(text, "/srv/store")
		if len(below) > maxMounts {
			t.Errorf("%d mount points", len(below))
		}
		for _, name := range below {
			if !fs.ValidPath(name) {
				t.Errorf("%q is no path below the store", name)
			}
		}
	})
}

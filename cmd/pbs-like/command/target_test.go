package command

import (
	"os"
	"path/filepath"
	"testing"
)

func TestATargetIsOutsideOfTheStore(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	store := filepath.Join(base, "store")
	for _, dir := range []string{"store/vm/1", "store2"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"dir": "store/vm", "same": "store", "file": "store/vm/1/owner"} {
		if err := os.Symlink(filepath.Join(base, to), filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(store, "vm/1/owner"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{ // target: allowed
		"out": true, "store2/out": true, "missing/out": true, "store/../out": true, "storeout": true,
		"store/out": false, "store/vm/1/out": false, "store2/../store/out": false, "dir/out": false, "dir/1/out": false, "file": false,
	}
	for target, want := range tests {
		for _, root := range []string{"store", "same"} {
			err := checkOutside(filepath.Join(base, root), filepath.Join(base, target))
			if (err == nil) != want {
				t.Errorf("%s, store %s: %v", target, root, err)
			}
		}
	}
}

func TestATerminalGetsAnArchiveOnlyOnRequest(t *testing.T) {
	t.Parallel()
	_, tty := terminal(t)
	p := newProgram(Streams{In: tty, Out: tty, Err: tty})
	if err := p.checkTarget(t.TempDir(), standardOutput, false); exitCode(t.Context(), err) != exitUsage {
		t.Errorf("%v", err)
	}
	if err := p.checkTarget(t.TempDir(), standardOutput, true); err != nil {
		t.Errorf("with --overwrite: %v", err)
	}
}

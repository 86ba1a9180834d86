package flock

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReachOfEachFileSystem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		magic uint32
		name  string
		local bool
	}{
		{0xef53, "ext4", true},
		{0x58465342, "xfs", true}, // "XFSB"
		{0x9123683e, "btrfs", true},
		{0x2fc12fc1, "zfs", true},
		{0x01021994, "tmpfs", true},
		{0xca451a4e, "bcachefs", true},
		{0xf2f52010, "f2fs", true},
		{0x00c36400, "cephfs", true},
		{0x6969, "nfs", false},
		{0x517b, "cifs", false},
		{0xff534d42, "cifs", false}, // "\xffSMB"
		{0xfe534d42, "cifs", false},
		{0x65735546, "fuse", false}, // "Fues"
		{0x01021997, "9p", false},
		{0x794c7630, "overlay", false},
		{0x47504653, "gpfs", false}, // "GPFS"
		{0x0bd00bd0, "lustre", false},
		{0x12345678, "unknown (0x12345678)", false},
		{0, "unknown (0x00000000)", false},
	} {
		if got, want := fileSystem(c.magic), (FS{c.magic, c.name, c.local}); got != want {
			t.Errorf("fileSystem(%#x) = %+v, want %+v", c.magic, got, want)
		}
	}
}

func TestReachOfWhatIsMountedHere(t *testing.T) {
	t.Parallel()
	f, err := os.Open("/proc/self")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := Reach(f)
	if err != nil || got.Type != unix.PROC_SUPER_MAGIC || got.Local || !strings.HasPrefix(got.Name, "unknown") {
		t.Errorf("Reach(/proc) = %+v, %v", got, err)
	}
	f.Close()
	if _, err := Reach(f); err == nil {
		t.Error("Reach of a closed file has no error")
	}
}

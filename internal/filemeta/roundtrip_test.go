package filemeta

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/pxar"
)

// TestWhatIsReadCanBeApplied gives one file everything, and another one what was read of it.
func TestWhatIsReadCanBeApplied(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := disk(t)
	tests := map[string]func(path string){
		"plain": func(string) {},
		"owner": func(path string) { run(t, "chown", "1234:4321", path) },
		"mode":  func(path string) { run(t, "chmod", "6751", path) },
		"time":  func(path string) { run(t, "touch", "-d", "1969-12-31 23:59:59.5 UTC", path) },
		"xattrs": func(path string) {
			run(t, "setfattr", "-n", "user.b", "-v", "x", path)
			run(t, "setfattr", "-n", "trusted.a", path)
		},
		"list":    func(path string) { run(t, "setfacl", "-m", "u:5:rw,u:3:r,g:7:x,m::rwx", path) },
		"mask":    func(path string) { run(t, "setfacl", "-m", "m::r", path) },
		"flags":   func(path string) { run(t, "chattr", "+A", path) },
		"locked":  func(path string) { run(t, "chattr", "+i", path) },
		"samba":   func(path string) { run(t, "setfattr", "-n", "security.NTACL", "-v", "x", path) },
		"default": func(path string) { run(t, "setfacl", "-d", "-m", "u:5:rw,g:7:x,o::r", path) },
		"caps": func(path string) {
			run(t, "setfattr", "-n", "security.capability", "-v", "0x0100000200040000000000000000000000000000", path)
		},
	}
	for name, prepare := range tests {
		for _, kind := range []string{"file", "dir"} {
			if name == "default" && kind == "file" || name == "caps" && kind == "dir" {
				continue
			}
			t.Run(name+" "+kind, func(t *testing.T) {
				from, to := filepath.Join(dir, name+"-from-"+kind), filepath.Join(dir, name+"-to-"+kind)
				for _, path := range []string{from, to} {
					if kind == "dir" {
						makeDir(t, path)
					} else {
						write(t, path)
					}
				}
				t.Cleanup(func() { unlock(t, from, to) })
				prepare(from)
				want := read(t, open(t, from, unix.O_RDONLY))
				target := open(t, to, unix.O_RDONLY)
				noErrors(t, Apply(target, &want, ApplyOptions{}))
				got := read(t, target)
				if !reflect.DeepEqual(got, want) {
					t.Errorf("got  %+v\nwant %+v", got, want)
				}
				if pinned := read(t, open(t, from, unix.O_PATH)); !equalBesideFlags(pinned, want) {
					t.Errorf("of a pinned file: %+v\nwant %+v", pinned, want)
				}
			})
		}
	}
}

func unlock(t *testing.T, paths ...string) {
	t.Helper()
	run(t, "chattr", append([]string{"-i"}, paths...)...)
}

// equalBesideFlags is for pinned files, which have no flags.
func equalBesideFlags(a, b pxar.Metadata) bool {
	a.Flags, b.Flags, a.QuotaProject, b.QuotaProject = 0, 0, nil, nil
	return reflect.DeepEqual(a, b)
}

// TestAnInheritedListIsTakenAway restores into a directory that hands a list on.
func TestAnInheritedListIsTakenAway(t *testing.T) {
	t.Parallel()
	dir := disk(t)
	run(t, "setfacl", "-d", "-m", "u:5:rw", dir)
	fd := open(t, write(t, filepath.Join(dir, "file")), unix.O_RDWR)
	if m := read(t, fd); m.ACL.IsZero() {
		t.Fatal("nothing was inherited")
	}
	st := statOf(t, fd)
	noErrors(t, Apply(fd, &pxar.Metadata{Stat: pxar.Stat{Mode: 0o100640, UID: st.Uid, GID: st.Gid}}, ApplyOptions{}))
	if m := read(t, fd); !m.ACL.IsZero() || m.Mode != 0o100640 {
		t.Errorf("%+v", m)
	}
}

func TestOthersThanFilesGetWhatTheyCan(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := t.TempDir()
	link, fifo, victim := filepath.Join(dir, "link"), filepath.Join(dir, "fifo"), write(t, filepath.Join(dir, "victim"))
	if err := errors.Join(os.Symlink("victim", link), unix.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	before := read(t, open(t, victim, unix.O_RDONLY))
	for path, mode := range map[string]uint64{link: 0o120777, fifo: 0o010642} {
		fd := open(t, path, unix.O_PATH|unix.O_NOFOLLOW)
		want := pxar.Metadata{Stat: pxar.Stat{Mode: mode, UID: 77, GID: 88, Seconds: -5, Nanoseconds: 999999999}}
		noErrors(t, Apply(fd, &want, ApplyOptions{}))
		if got := read(t, fd); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if after := read(t, open(t, victim, unix.O_RDONLY)); !reflect.DeepEqual(before, after) {
		t.Errorf("what the link leads to changed: %+v", after)
	}
}

func TestHostileValuesAreErrorsOfTheirStep(t *testing.T) {
	t.Parallel()
	dir := disk(t)
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	huge, project := bytes.Repeat([]byte{1}, 70000), uint64(1)<<40
	tests := map[string]struct {
		m    pxar.Metadata
		want Step
	}{
		"a time that means now":        {pxar.Metadata{Stat: pxar.Stat{Nanoseconds: unix.UTIME_NOW}}, StepTime},
		"a time that means none":       {pxar.Metadata{Stat: pxar.Stat{Nanoseconds: unix.UTIME_OMIT}}, StepTime},
		"a mode of many bits":          {pxar.Metadata{Stat: pxar.Stat{Mode: 1 << 40}}, StepMode},
		"an owner that means the same": {pxar.Metadata{Stat: pxar.Stat{UID: noID}}, StepOwner},
		"an access list as attribute":  {pxar.Metadata{Xattrs: []pxar.Xattr{{Name: xattrAccess}}}, StepXattr},
		"a label":                      {pxar.Metadata{Xattrs: []pxar.Xattr{{Name: "security.selinux"}}}, StepXattr},
		"a name with NUL":              {pxar.Metadata{Xattrs: []pxar.Xattr{{Name: "user.a\x00b"}}}, StepXattr},
		"a long name":                  {pxar.Metadata{Xattrs: []pxar.Xattr{{Name: "user." + strings.Repeat("n", 300)}}}, StepXattr},
		"a large value":                {pxar.Metadata{Xattrs: []pxar.Xattr{{Name: "user.a", Value: huge}}}, StepXattr},
		"capabilities of no form":      {pxar.Metadata{FCaps: []byte("x")}, StepCapabilities},
		"a project of many bits":       {pxar.Metadata{QuotaProject: &project}, StepQuota},
		"a default list of a file":     {pxar.Metadata{ACL: pxar.ACL{Default: &pxar.ACLDefault{}}}, StepACL},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fd := open(t, write(t, filepath.Join(dir, name)), unix.O_RDWR)
			if test.m.UID != noID {
				test.m.UID = uid
			}
			test.m.GID, test.m.Seconds = gid, 1
			test.m.Mode |= unix.S_IFREG | 0o400
			errs := Apply(fd, &test.m, ApplyOptions{})
			if len(errs) != 1 || errs[0].Step != test.want {
				t.Errorf("%v", errs)
			}
			got := read(t, fd)
			if got.Mode != unix.S_IFREG|0o400 || test.want != StepTime && got.Seconds != 1 {
				t.Errorf("the other steps were not taken: %+v", got)
			}
		})
	}
}

func TestNobodyRunsAsAnotherOwner(t *testing.T) {
	t.Parallel()
	fd := open(t, write(t, filepath.Join(t.TempDir(), "file")), unix.O_RDWR)
	m := pxar.Metadata{Stat: pxar.Stat{Mode: 0o106755, UID: uint32(os.Geteuid()) + 1, GID: uint32(os.Getegid()) + 1}}
	errs := Apply(fd, &m, ApplyOptions{IgnoreOwner: true})
	if len(errs) != 1 || !errors.Is(errs[0], ErrForeign) || statOf(t, fd).Mode != 0o100755 {
		t.Errorf("%v, mode %o", errs, statOf(t, fd).Mode)
	}
}

func TestWhatIsIgnoredStays(t *testing.T) {
	t.Parallel()
	dir := disk(t)
	fd := open(t, write(t, filepath.Join(dir, "file")), unix.O_RDWR)
	before := read(t, fd)
	m := pxar.Metadata{
		Stat:   pxar.Stat{Mode: 0o100777, UID: before.UID + 1, Seconds: before.Seconds, Nanoseconds: before.Nanoseconds},
		Xattrs: []pxar.Xattr{{Name: "user.a"}}, ACL: pxar.ACL{Users: []pxar.ACLEntry{{ID: 1, Perm: 7}}},
	}
	noErrors(t, Apply(fd, &m, ApplyOptions{IgnoreOwner: true, IgnoreXattrs: true, IgnoreACLs: true, IgnoreMode: true}))
	if after := read(t, fd); !reflect.DeepEqual(before, after) {
		t.Errorf("%+v\n%+v", before, after)
	}
}

// TestMemoryFilesHaveNoAttributes follows the original, which keeps none of a tmpfs.
func TestMemoryFilesHaveNoAttributes(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/dev/shm", "filemeta") //nolint:usetesting // another place, or open to others
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := write(t, filepath.Join(dir, "file"))
	if err := unix.Setxattr(path, "user.a", []byte("x"), 0); err != nil {
		t.Skip(err)
	}
	if m := read(t, open(t, path, unix.O_RDONLY)); m.Xattrs != nil {
		t.Errorf("%+v", m)
	}
}

// TestALongValueIsReadWhole has lists and values that are larger than the first buffer.
func TestALongValueIsReadWhole(t *testing.T) {
	t.Parallel()
	dir := disk(t)
	fd := open(t, write(t, filepath.Join(dir, "file")), unix.O_RDWR)
	want := pxar.Metadata{Stat: read(t, fd).Stat}
	want.Xattrs = []pxar.Xattr{{Name: "user.long", Value: bytes.Repeat([]byte{7}, 1500)}}
	for i := range 20 {
		want.Xattrs = append(want.Xattrs, pxar.Xattr{Name: fmt.Sprintf("user.%02d%s", i, strings.Repeat("n", 50)), Value: []byte{1}})
	}
	noErrors(t, Apply(fd, &want, ApplyOptions{}))
	got := read(t, fd)
	if len(got.Xattrs) != len(want.Xattrs) {
		t.Errorf("%d attributes", len(got.Xattrs))
	}
	for _, x := range want.Xattrs {
		if value, err := getXattr(fd, x.Name); err != nil || !bytes.Equal(value, x.Value) {
			t.Errorf("%s: %d bytes, %v", x.Name, len(value), err)
		}
	}
}

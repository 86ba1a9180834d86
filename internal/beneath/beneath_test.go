package beneath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tree makes a directory with one of everything and opens it.
func tree(t *testing.T) *os.File {
	t.Helper()
	root := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(root, name) }
	must(os.MkdirAll(in("dir/sub"), 0o755))
	must(os.MkdirAll(in("outside"), 0o755))
	must(os.WriteFile(in("dir/file"), []byte("inside"), 0o644))
	must(os.WriteFile(in("dir/sub/file"), []byte("deep"), 0o644))
	must(os.WriteFile(in("outside/file"), []byte("outside"), 0o644))
	must(os.Symlink("file", in("dir/link")))
	must(os.Symlink("../sub", in("dir/sub/link")))
	must(os.Symlink("../outside", in("dir/linkdir")))
	must(os.Symlink("nowhere", in("dir/dangling")))
	must(unix.Mkfifo(in("dir/pipe"), 0o644))
	dir, err := os.Open(in("dir"))
	must(err)
	t.Cleanup(func() { dir.Close() })
	return dir
}

var nameCases = []struct {
	name string
	want error
}{
	{".", nil},
	{"file", nil},
	{"sub/file", nil},
	{"sub", nil},
	{"", ErrName},
	{"/", ErrName},
	{"/etc", ErrName},
	{"..", ErrName},
	{"../outside", ErrName},
	{"sub/../file", ErrName},
	{"./file", ErrName},
	{"sub//file", ErrName},
	{"sub/", ErrName},
	{"sub/.", ErrName},
	{"fi\x00le", ErrName},
	{"link", ErrSymlink},
	{"sub/link", ErrSymlink},
	{"linkdir", ErrSymlink},
	{"linkdir/file", ErrSymlink},
	{"dangling", ErrSymlink},
	{"none", fs.ErrNotExist},
	{"none/file", fs.ErrNotExist},
	{"file/none", unix.ENOTDIR},
}

func TestOpenReachesOnlyWhatIsBelow(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	for _, c := range nameCases {
		f, err := Open(dir, c.name, unix.O_RDONLY, 0)
		if !errors.Is(err, c.want) {
			t.Errorf("Open(%q) = %v, want %v", c.name, err, c.want)
		}
		checkPathError(t, c.name, err)
		if err == nil {
			f.Close()
		}
	}
}

func TestWalkAndKernelAgree(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	for _, c := range nameCases {
		if checkName(c.name) != nil {
			continue
		}
		for _, flag := range []int{unix.O_RDONLY, unix.O_PATH, unix.O_RDONLY | unix.O_DIRECTORY} {
			flag |= unix.O_NOFOLLOW | unix.O_CLOEXEC
			walked, err1 := openWalk(int(dir.Fd()), c.name, flag, 0)
			opened, err2 := openKernel(int(dir.Fd()), c.name, flag, 0)
			if err2 == unix.ELOOP || err2 == unix.ENOTDIR && err1 == ErrSymlink {
				err2 = ErrSymlink
			}
			if !errors.Is(err1, err2) || !errors.Is(err2, err1) {
				t.Errorf("%q with %#x: the walk says %v, the kernel %v", c.name, flag, err1, err2)
			}
			unix.Close(walked)
			unix.Close(opened)
		}
	}
}

func TestStatDescribesALinkButDoesNotFollowIt(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	for _, c := range nameCases {
		want := c.want
		if c.name == "link" || c.name == "sub/link" || c.name == "linkdir" || c.name == "dangling" {
			want = nil
		}
		st, err := Stat(dir, c.name)
		if !errors.Is(err, want) {
			t.Errorf("Stat(%q) = %v, want %v", c.name, err, want)
		}
		checkPathError(t, c.name, err)
		if c.want == ErrSymlink && err == nil && st.Mode&unix.S_IFMT != unix.S_IFLNK {
			t.Errorf("Stat(%q): mode %o, want a symbolic link", c.name, st.Mode)
		}
	}
}

func TestOpenDirRefusesWhatIsNoDirectory(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	for name, want := range map[string]error{
		".": nil, "sub": nil, "file": unix.ENOTDIR, "pipe": unix.ENOTDIR, "linkdir": ErrSymlink, "link": ErrSymlink,
		"sub/link": ErrSymlink,
	} {
		f, err := OpenDir(dir, name)
		if !errors.Is(err, want) {
			t.Errorf("OpenDir(%q) = %v, want %v", name, err, want)
		}
		f.Close()
	}
}

func TestOpenRegularNeverOpensAnythingElse(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	for name, want := range map[string]error{
		"file": nil, "sub/file": nil, "sub": ErrNotRegular, ".": ErrNotRegular, "pipe": ErrNotRegular,
		"link": ErrSymlink, "linkdir/file": ErrSymlink, "none": fs.ErrNotExist,
	} {
		f, err := OpenRegular(dir, name)
		if !errors.Is(err, want) {
			t.Errorf("OpenRegular(%q) = %v, want %v", name, err, want)
		}
		checkPathError(t, name, err)
		f.Close()
	}
	if _, err := OpenRegular(dir, "link"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a symbolic link counts as regular: %v", err)
	}
}

func TestOpenRegularLooksBeforeItOpens(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	if _, err := unix.InotifyAddWatch(watch, dir.Name()+"/pipe", unix.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRegular(dir, "pipe"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("OpenRegular = %v, want %v", err, ErrNotRegular)
	}
	if n, err := unix.Read(watch, make([]byte, 4096)); err != unix.EAGAIN {
		t.Errorf("the pipe was opened: %d bytes of events, %v", n, err)
	}
}

func TestOpenRegularWaitsForALeaseToBreak(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	leased, err := OpenRegularFD(dir, "file", unix.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(leased), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		unix.Close(leased)
		t.Skipf("this file system grants no leases: %v", err)
	}
	go func() { // what a file server does when the kernel asks for its lease
		defer unix.Close(leased)
		for {
			if kind, err := unix.FcntlInt(uintptr(leased), unix.F_GETLEASE, 0); err != nil || kind != unix.F_RDLCK {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	f, err := OpenRegularFlags(dir, "file", unix.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestOpenRegularDoesNotBlockOnAPipeThatCameLater(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	fd, err := OpenFD(dir, "pipe", unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = onlyRegular(dir, "pipe", fd); !errors.Is(err, ErrNotRegular) {
		t.Errorf("onlyRegular = %v, want %v", err, ErrNotRegular)
	}
}

func TestDescriptorsAreCloseOnExecAndNamed(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	f, err := OpenRegular(dir, "sub/file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("descriptor flags %#x, %v: not close-on-exec", flags, err)
	}
	if want := dir.Name() + "/sub/file"; f.Name() != want {
		t.Errorf("Name() = %q, want %q", f.Name(), want)
	}
}

func TestOpenCreatesWithinTheDirectory(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	for _, name := range []string{"new", "sub/new"} {
		f, err := Open(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if st, err := Stat(dir, name); err != nil || st.Mode != unix.S_IFREG|0o600 {
			t.Errorf("%q: mode %o, %v", name, st.Mode, err)
		}
	}
	if _, err := Open(dir, "linkdir/new", unix.O_RDWR|unix.O_CREAT, 0o600); !errors.Is(err, ErrSymlink) {
		t.Errorf("creation through a link: %v", err)
	}
}

func TestClosedDirectoryIsAnError(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	dir.Close()
	if _, err := Open(dir, "file", unix.O_RDONLY, 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Open = %v, want %v", err, fs.ErrClosed)
	}
	if _, err := Stat(dir, "file"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Stat = %v, want %v", err, fs.ErrClosed)
	}
}

func TestPathBelowTheRootDirectoryHasOneSlash(t *testing.T) {
	t.Parallel()
	root, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if got := join(root, "proc/self"); got != "/proc/self" {
		t.Errorf("join = %q", got)
	}
}

func FuzzNameNeverLeadsOut(f *testing.F) {
	for _, c := range nameCases {
		f.Add(c.name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkName(name) != nil {
			return
		}
		if filepath.Clean(name) != name || filepath.IsAbs(name) || !filepath.IsLocal(name) || strings.ContainsRune(name, 0) {
			t.Errorf("%q was accepted", name)
		}
	})
}

func checkPathError(t *testing.T, name string, err error) {
	t.Helper()
	var pe *fs.PathError
	if err != nil && !errors.As(err, &pe) {
		t.Errorf("%q: %T is no *fs.PathError", name, err)
	}
}

package archiver

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/exclude"
	"github.com/pbs-like/pbs-like/internal/filemeta"
	"github.com/pbs-like/pbs-like/internal/goldenfile"
	"github.com/pbs-like/pbs-like/pxar"
)

// disk gives a directory on a file system that keeps everything, for somebody who may make everything.
func disk(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make all kinds of entries")
	}
	dir := t.TempDir()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Type != unix.EXT4_SUPER_MAGIC {
		t.Skipf("temporary files are on no ext4, whose order of extended attributes the golden archives have (%v)", err)
	}
	return dir
}

// plant makes the tree that is in an archive.
func plant(t *testing.T, archive []byte, dir string) {
	t.Helper()
	r, err := pxar.NewReader(bytes.NewReader(archive), pxar.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var dirs []*pxar.Entry
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == pxar.Directory {
			dirs = append(dirs, e)
		}
		plantEntry(t, r, e, dir)
	}
	for _, e := range slices.Backward(dirs) {
		dress(t, dir+e.Path, e)
	}
}

func plantEntry(t *testing.T, r *pxar.Reader, e *pxar.Entry, dir string) {
	t.Helper()
	path := dir + e.Path
	var err error
	switch e.Kind {
	case pxar.Directory:
		if err = os.Mkdir(path, 0o700); errors.Is(err, os.ErrExist) {
			err = nil
		}
	case pxar.File:
		var data []byte
		if data, err = io.ReadAll(r); err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
	case pxar.Symlink:
		err = os.Symlink(e.Target, path)
	case pxar.Hardlink:
		err = os.Link(dir+"/"+e.Target, path)
	default:
		err = unix.Mknod(path, uint32(e.Mode), int(unix.Mkdev(uint32(e.Major), uint32(e.Minor))))
	}
	if err != nil {
		t.Fatal(err)
	}
	if e.Kind != pxar.Directory && e.Kind != pxar.Hardlink {
		dress(t, path, e)
	}
}

func dress(t *testing.T, path string, e *pxar.Entry) {
	t.Helper()
	flags := unix.O_RDONLY
	if e.Kind != pxar.Directory && e.Kind != pxar.File {
		flags = unix.O_PATH | unix.O_NOFOLLOW
	}
	fd, err := unix.Open(path, flags, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, err := range filemeta.Apply(fd, &e.Metadata, filemeta.ApplyOptions{}) {
		t.Errorf("%q: %v", path, err)
	}
}

func TestAnArchiveIsThatOfTheOriginalByteForByte(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"empty", "types", "names", "meta", "dirs", "hardlinks", "big"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := disk(t)
			want := goldenfile.Read(t, "pxar", "v1/"+name+".pxar.zst")
			plant(t, want, dir)
			for _, ahead := range []bool{false, true} {
				got, report := archive(t, dir, Options{ReadAhead: ahead})
				if !bytes.Equal(got.out.Bytes(), want) {
					t.Errorf("%d bytes, the original has %d; they differ from byte %d on", got.out.Len(), len(want), differ(got.out.Bytes(), want))
				}
				if !bytes.Equal(got.list.Bytes(), goldenfile.Read(t, "catalog", ""+name+".pcat1")) {
					t.Error("the catalog is another one")
				}
				if report.Incomplete != 0 || len(report.Warnings) != 0 {
					t.Errorf("warnings: %v", report.First)
				}
			}
		})
	}
}

func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// excludeTree is the source of the archive "exclude".
func excludeTree(t *testing.T, dir string) {
	t.Helper()
	for name := range strings.FieldsSeq("sub sub/deep cache keepdir logs target sub/target") {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{
		".pxarexclude":     "# comment\n\n  *.tmp  \n!keep.tmp\n/logs/*\n!/logs/2.log\n",
		"sub/.pxarexclude": "*.bak\n!/deep/f.bak\n/target/\n",
	}
	for name := range strings.FieldsSeq("a.tmp b.txt keep.tmp sub/c.tmp sub/d.txt sub/e.bak sub/deep/f.bak sub/deep/g.txt cache/x keepdir/y " +
		"logs/1.log logs/2.log target/t sub/target/t file-no-dir lost+found .pxarexclude-cli") {
		files[name] = name
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	setTimes(t, dir)
}

// setTimes gives everything the time and the permissions that the golden trees have.
func setTimes(t *testing.T, dir string) {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const when = 1704890096
	for _, path := range slices.Backward(all) {
		mode := uint32(0o644)
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			mode = 0o755
		}
		if err := unix.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := unix.Utimes(path, []unix.Timeval{{Sec: when}, {Sec: when}}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatIsExcludedIsWhatTheOriginalExcludes(t *testing.T) {
	t.Parallel()
	dir := disk(t)
	excludeTree(t, dir)
	opts := Options{SkipLostAndFound: true, PatternsFile: true, Exclude: patterns(t, "/cache", "!keepdir", "target/", "/file-no-dir/")}
	got, _ := archive(t, dir, opts)
	if want := goldenfile.Read(t, "pxar", "v1/exclude.pxar.zst"); !bytes.Equal(got.out.Bytes(), want) {
		t.Errorf("%d bytes, the original has %d; they differ from byte %d on: %q", got.out.Len(), len(want), differ(got.out.Bytes(), want), got.paths(t))
	}
	if !bytes.Equal(got.list.Bytes(), goldenfile.Read(t, "catalog", "exclude.pcat1")) {
		t.Error("the catalog is another one")
	}
}

func patterns(t *testing.T, texts ...string) (list exclude.List) {
	t.Helper()
	for _, text := range texts {
		p, err := exclude.ParseArgument(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

type scenario struct {
	Name     string
	Files    map[string]string
	CLI      []string
	Lost     bool `json:"skip-lost-and-found"`
	Archived []string
	Patterns *string `json:"pxarexclude-cli"`
	Prelude  *string `json:"split-prelude"`
}

func TestScenariosOfExclusion(t *testing.T) {
	t.Parallel()
	var all []scenario
	if err := json.Unmarshal(goldenfile.Read(t, "exclude", "exclude-scenarios.json"), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d scenarios", len(all))
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range s.Files {
				plantText(t, dir, bytesOf(t, name), bytesOf(t, text))
			}
			opts := Options{Exclude: patterns(t, s.CLI...), SkipLostAndFound: s.Lost, PatternsFile: true}
			got, _ := archive(t, dir, opts)
			for i := range s.Archived {
				s.Archived[i] = bytesOf(t, s.Archived[i])
			}
			if paths := got.paths(t); !slices.Equal(paths, s.Archived) {
				t.Errorf("archived %q\nand not %q", paths, s.Archived)
			}
			if s.Patterns != nil {
				if text := string(got.content(t, cliPatternsFile)); text != *s.Patterns {
					t.Errorf("%s is %q and not %q", cliPatternsFile, text, *s.Patterns)
				}
			}
			comparePrelude(t, dir, opts, s.Prelude)
		})
	}
}

// bytesOf reads what JSON has no text for.
func bytesOf(t *testing.T, text string) string {
	t.Helper()
	digits, ok := strings.CutPrefix(text, "hex:")
	if !ok {
		return text
	}
	data, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// plantText makes a file, or with a slash at the end of its name a directory.
func plantText(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if strings.HasSuffix(name, "/") {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func comparePrelude(t *testing.T, dir string, opts Options, want *string) {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := New(f, opts)
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Prelude()
	if err != nil || want == nil && got != nil || want != nil && string(got) != *want {
		t.Errorf("prelude %q, %v", got, err)
	}
}

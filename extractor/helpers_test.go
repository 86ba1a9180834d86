package extractor

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/exclude"
	"github.com/pbs-like/pbs-like/internal/filemeta"
	"github.com/pbs-like/pbs-like/pxar"
)

func openArchive(t testing.TB, archive, payload []byte) *pxar.Archive {
	t.Helper()
	a, err := tryOpen(archive, payload)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func tryOpen(archive, payload []byte) (*pxar.Archive, error) {
	var opts pxar.OpenOptions
	if payload != nil {
		opts = pxar.OpenOptions{Payload: bytes.NewReader(payload), PayloadSize: int64(len(payload))}
	}
	return pxar.Open(bytes.NewReader(archive), int64(len(archive)), opts)
}

// built is an archive made by add.
func built(t testing.TB, root pxar.Metadata, add func(w *pxar.Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	root.Mode = cmp.Or(root.Mode, unix.S_IFDIR|0o755)
	own(&root)
	w, err := pxar.NewWriter(&out, &root, pxar.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	add(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// own gives an entry to who runs the test, so that it can be restored by anybody.
func own(m *pxar.Metadata) { m.UID, m.GID = uint32(os.Geteuid()), uint32(os.Getegid()) }

// put adds an entry of a kind, with plain metadata.
func put(t testing.TB, w *pxar.Writer, kind pxar.Kind, name, text string) (position uint64) {
	t.Helper()
	e := &pxar.Entry{Kind: kind}
	e.Seconds, e.Nanoseconds = 1_600_000_000, 5
	own(&e.Metadata)
	var content io.Reader
	switch kind {
	case pxar.Directory:
		e.Mode = unix.S_IFDIR | 0o755
	case pxar.File:
		e.Mode, e.Size, content = unix.S_IFREG|0o644, uint64(len(text)), strings.NewReader(text)
	case pxar.Symlink:
		e.Mode, e.Target = unix.S_IFLNK|0o777, text
	case pxar.FIFO:
		e.Mode = unix.S_IFIFO | 0o644
	case pxar.Socket:
		e.Mode = unix.S_IFSOCK | 0o644
	default:
		t.Fatal(kind)
	}
	position, err := w.Add(name, e, content)
	if err != nil {
		t.Fatal(err)
	}
	return position
}

func leave(t testing.TB, w *pxar.Writer) {
	t.Helper()
	if err := w.Leave(); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, w *pxar.Writer, name, target string, first uint64) {
	t.Helper()
	if err := w.Link(name, target, first); err != nil {
		t.Fatal(err)
	}
}

// report keeps what an extraction tells.
type report struct {
	mu       sync.Mutex
	problems []Problem
}

func (r *report) events() Events {
	return Events{Problem: func(p Problem) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.problems = append(r.problems, p)
	}}
}

func (r *report) String() string {
	var lines []string
	for _, p := range r.problems {
		lines = append(lines, p.Error())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func extract(t testing.TB, a *pxar.Archive, target string, opts Options) (Stats, *report) {
	t.Helper()
	r := &report{}
	opts.Events = r.events()
	opts.NoSync = opts.NoSync || !opts.Continue // others keep the disk busy
	stats, err := Extract(t.Context(), a, target, opts)
	if err != nil {
		t.Fatalf("%v\n%s", err, r)
	}
	return stats, r
}

// whole extracts, and nothing may be missing.
func whole(t testing.TB, a *pxar.Archive, target string, opts Options) Stats {
	t.Helper()
	stats, r := extract(t, a, target, opts)
	if len(r.problems) > 0 {
		t.Fatalf("%s", r)
	}
	return stats
}

func patterns(t testing.TB, texts ...string) (list exclude.List) {
	t.Helper()
	for _, text := range texts {
		p, err := exclude.ParseSelection(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// names lists what is below a directory, sorted.
func names(t testing.TB, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if rest, err := filepath.Rel(dir, path); err == nil && rest != "." {
			all = append(all, rest)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func readFile(t testing.TB, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can")
	}
}

// disk gives a directory that is not there yet, on a file system that keeps everything.
func disk(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if system, err := filemeta.FileSystemOf(int(f.Fd())); err != nil || system != unix.EXT4_SUPER_MAGIC {
		t.Skipf("temporary files are on a file system of kind %#x, not ext4 (%v)", system, err)
	}
	target := filepath.Join(dir, "target")
	t.Cleanup(func() { _ = exec.Command("chattr", "-R", "-i", "-a", target).Run() })
	return target
}

// archived makes an archive of a directory: what the original would make of it, if its names are plain.
func archived(t testing.TB, dir string) []byte {
	t.Helper()
	var out bytes.Buffer
	b := backup{t: t, links: map[uint64]first{}}
	root := b.metadata(dir)
	var err error
	if b.w, err = pxar.NewWriter(&out, &root, pxar.WriterOptions{}); err != nil {
		t.Fatal(err)
	}
	b.directory(dir, "")
	if err := b.w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type first struct {
	path     string
	position uint64
}

type backup struct {
	t     testing.TB
	w     *pxar.Writer
	links map[uint64]first
}

func (b *backup) metadata(path string) pxar.Metadata {
	b.t.Helper()
	flags := unix.O_RDONLY
	if info, err := os.Lstat(path); err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		flags = unix.O_PATH
	}
	fd, err := unix.Open(path, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		b.t.Fatal(path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		b.t.Fatal(err)
	}
	m, err := filemeta.Read(fd, &st, filemeta.ReadOptions{})
	if err != nil {
		b.t.Fatal(path, err)
	}
	if m.Mode&unix.S_IFMT != unix.S_IFLNK {
		m.Flags &^= 0x10_0000 // NODUMP is not restored
	}
	return m
}

func (b *backup) directory(dir, below string) {
	b.t.Helper()
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		b.t.Fatal(err)
	}
	for _, entry := range entries {
		full := dir + "/" + entry.Name()
		e := &pxar.Entry{Metadata: b.metadata(full)}
		var st unix.Stat_t
		if err := unix.Lstat(full, &st); err != nil {
			b.t.Fatal(err)
		}
		if b.isLink(entry.Name(), &st) {
			continue
		}
		content := b.describe(e, full, &st)
		position, err := b.w.Add(entry.Name(), e, content)
		if err != nil {
			b.t.Fatal(err)
		}
		rest := path.Join(below, entry.Name())
		if e.Kind == pxar.File && st.Nlink > 1 {
			b.links[st.Ino] = first{rest, position}
		}
		if e.Kind == pxar.Directory {
			b.directory(full, rest)
			leave(b.t, b.w)
		}
	}
}

func (b *backup) isLink(name string, st *unix.Stat_t) bool {
	there, ok := b.links[st.Ino]
	if ok {
		link(b.t, b.w, name, there.path, there.position)
	}
	return ok
}

func (b *backup) describe(e *pxar.Entry, full string, st *unix.Stat_t) io.Reader {
	b.t.Helper()
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		e.Kind = pxar.Directory
	case unix.S_IFREG:
		data, err := os.ReadFile(full)
		if err != nil {
			b.t.Fatal(err)
		}
		e.Kind, e.Size = pxar.File, uint64(len(data))
		return bytes.NewReader(data)
	case unix.S_IFLNK:
		target, err := os.Readlink(full)
		if err != nil {
			b.t.Fatal(err)
		}
		e.Kind, e.Target = pxar.Symlink, target
	case unix.S_IFIFO:
		e.Kind = pxar.FIFO
	case unix.S_IFSOCK:
		e.Kind = pxar.Socket
	default:
		e.Kind, e.Major, e.Minor = pxar.Device, uint64(unix.Major(st.Rdev)), uint64(unix.Minor(st.Rdev))
	}
	return nil
}

// state describes everything below a directory, to see whether anything changes.
func state(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %o %d:%d %d %d %v %v\n", path, st.Mode, st.Uid, st.Gid, st.Nlink, st.Size, st.Mtim, st.Ctim)
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "  %x\n", sha256.Sum256(data))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

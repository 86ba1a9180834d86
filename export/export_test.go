package export_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/export"
	"github.com/pbs-like/pbs-like/internal/goldenfile"
	"github.com/pbs-like/pbs-like/pxar"
)

func open(t testing.TB, archive, payload []byte) *pxar.Archive {
	t.Helper()
	opts := pxar.OpenOptions{}
	if payload != nil {
		opts.Payload, opts.PayloadSize = bytes.NewReader(payload), int64(len(payload))
	}
	a, err := pxar.Open(bytes.NewReader(archive), int64(len(archive)), opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func lookup(t testing.TB, a *pxar.Archive, path string) *pxar.Entry {
	t.Helper()
	e, err := a.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// whole are archives that a pxar export gives back byte for byte.
func whole() []string {
	return strings.Fields("empty types names meta dirs hardlinks exclude flags")
}

func TestPxarOfAWholeArchiveIsTheArchive(t *testing.T) {
	t.Parallel()
	for _, name := range whole() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := goldenfile.Read(t, "pxar", "v1/"+name+".pxar.zst")
			a := open(t, want, nil)
			var out bytes.Buffer
			if _, err := export.Pxar(&out, a, lookup(t, a, "/"), export.Options{}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out.Bytes(), want) {
				t.Errorf("%d bytes that differ from the %d", out.Len(), len(want))
			}
		})
	}
}

func TestPxarOfASplitArchiveIsTheOneOfVersion1(t *testing.T) {
	t.Parallel()
	a := open(t, goldenfile.Read(t, "pxar", "split/other/types.mpxar.zst"), goldenfile.Read(t, "pxar", "split/other/types.ppxar.zst"))
	var out bytes.Buffer
	if _, err := export.Pxar(&out, a, lookup(t, a, "/"), export.Options{}); err != nil {
		t.Fatal(err)
	}
	if want := goldenfile.Read(t, "pxar", "v1/types.pxar.zst"); !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%d bytes that differ from the %d", out.Len(), len(want))
	}
}

func TestPxarOfADirectoryBeginsWithIt(t *testing.T) {
	t.Parallel()
	a := open(t, goldenfile.Read(t, "pxar", "v1/hardlinks.pxar.zst"), nil)
	for _, dir := range []string{"/a", "/b", "/b/c"} {
		var out bytes.Buffer
		if _, err := export.Pxar(&out, a, lookup(t, a, dir), export.Options{}); err != nil {
			t.Fatal(err)
		}
		part := open(t, out.Bytes(), nil)
		got, want := contents(t, part, "/", "/"), contents(t, a, dir, dir)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", dir, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	var out bytes.Buffer
	if _, err := export.Pxar(&out, a, lookup(t, a, "/inside"), export.Options{}); !errors.Is(err, pxar.ErrNotDirectory) {
		t.Errorf("a file: %v", err)
	}
}

// contents lists a tree with what its files hold, whatever name they have it by.
func contents(t *testing.T, a *pxar.Archive, top, cut string) (lines []string) {
	t.Helper()
	r, err := a.Walk(lookup(t, a, top))
	for err == nil {
		var e *pxar.Entry
		if e, err = r.Next(); err != nil {
			break
		}
		var file *pxar.Entry
		if file, err = a.Resolve(e); err != nil {
			break
		}
		line := fmt.Sprintf("%s %v %o %d", strings.TrimPrefix(cmp.Or(strings.TrimPrefix(e.Path, strings.TrimSuffix(cut, "/")), "/"), "/"), file.Kind, file.Mode, file.Seconds)
		if file.Kind == pxar.File {
			content, contentErr := a.Content(file)
			if contentErr != nil {
				t.Fatal(contentErr)
			}
			data, _ := io.ReadAll(content)
			line += fmt.Sprintf(" %q", data)
		}
		lines = append(lines, line)
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return lines
}

func tarOf(t *testing.T, a *pxar.Archive, top string, opts export.Options) (map[string]*tar.Header, map[string]string, export.Stats) {
	t.Helper()
	var out bytes.Buffer
	stats, err := export.Tar(&out, a, lookup(t, a, top), opts)
	if err != nil {
		t.Fatal(err)
	}
	headers, data := map[string]*tar.Header{}, map[string]string{}
	for r := tar.NewReader(&out); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return headers, data, stats
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		headers[h.Name], data[h.Name] = h, string(text)
	}
}

func TestTarHasEveryEntryOfEveryGoldenArchive(t *testing.T) {
	t.Parallel()
	for _, name := range append(whole(), "big") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, goldenfile.Read(t, "pxar", "v1/"+name+".pxar.zst"), nil)
			headers, data, stats := tarOf(t, a, "/", export.Options{})
			r, err := a.Walk(lookup(t, a, "/"))
			for err == nil {
				var e *pxar.Entry
				if e, err = r.Next(); err == nil {
					compareTar(t, a, e, headers, data)
				}
			}
			if !errors.Is(err, io.EOF) || stats.Entries != len(headers) {
				t.Errorf("%v; %+v, %d headers", err, stats, len(headers))
			}
		})
	}
}

func compareTar(t *testing.T, a *pxar.Archive, e *pxar.Entry, headers map[string]*tar.Header, data map[string]string) {
	t.Helper()
	name := strings.TrimPrefix(e.Path, "/")
	if e.Kind == pxar.Directory {
		name += "/"
	}
	if e.Path == "/" {
		name = "./"
	}
	h := headers[name]
	if e.Kind == pxar.Socket {
		if h != nil {
			t.Errorf("a socket: %+v", h)
		}
		return
	}
	if h == nil {
		t.Errorf("no %q", name)
		return
	}
	file, err := a.Resolve(e)
	if err != nil {
		t.Fatal(err)
	}
	if uint64(h.Mode) != file.Mode&0o7777 || uint32(h.Uid) != file.UID || !h.ModTime.Equal(file.ModTime()) {
		t.Errorf("%q: %+v, want %+v", name, h, file)
	}
	if e.Kind == pxar.Hardlink && (h.Typeflag != tar.TypeLink || h.Linkname != e.Target) {
		t.Errorf("%q: a link to %q, want %q", name, h.Linkname, e.Target)
	}
	if e.Kind == pxar.File {
		content, err := a.Content(e)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := io.ReadAll(content); err != nil || data[name] != string(want) {
			t.Errorf("%q: %d bytes, want %d", name, len(data[name]), len(want))
		}
	}
}

func TestTarHasWhatTarProgramsKnowOfAttributes(t *testing.T) {
	t.Parallel()
	a := open(t, goldenfile.Read(t, "pxar", "v1/types.pxar.zst"), nil)
	headers, _, _ := tarOf(t, a, "/", export.Options{})
	records := headers["acl-dir/"].PAXRecords
	if got, want := records["SCHILY.acl.access"], "user::rwx\nuser:1000:rwx\ngroup::r-x\ngroup:2000:--x\nmask::rwx\nother::r-x\n"; got != want {
		t.Errorf("access list %q, want %q", got, want)
	}
	want := "user::rwx\nuser:1000:rwx\nuser:1001:r-x\ngroup::r-x\ngroup:2000:--x\nmask::rwx\nother::---\n"
	if got := records["SCHILY.acl.default"]; got != want {
		t.Errorf("default list %q, want %q", got, want)
	}
	records = headers["caps-xattr-acl"].PAXRecords
	if records["SCHILY.xattr.user.a"] != "1" || len(records["SCHILY.xattr.security.capability"]) != 20 {
		t.Errorf("%q", records)
	}
}

func TestALinkOutOfTheExportBecomesAFile(t *testing.T) {
	t.Parallel()
	a := open(t, goldenfile.Read(t, "pxar", "v1/hardlinks.pxar.zst"), nil)
	headers, data, _ := tarOf(t, a, "/b/c", export.Options{})
	h := headers["b/c/third"]
	if h == nil || h.Typeflag != tar.TypeReg || len(data["b/c/third"]) != 17 {
		t.Errorf("%+v %q", h, data)
	}
}

// malformed reads an archive that is wrong in one way.
func malformed(t testing.TB, name string) []byte {
	t.Helper()
	data, ok := goldenfile.MalformedTrees(t)[name+".pxar"]
	if !ok {
		t.Fatal(name)
	}
	return data
}

func TestNoHardLinkLeadsOutOfAnArchiveOrToAnotherFile(t *testing.T) {
	t.Parallel()
	for name := range strings.FieldsSeq("hardlink-path-abs hardlink-path-empty hardlink-wrong-path hardlink-path-of-other hardlink-later-target hardlink-no-nul") {
		a := open(t, malformed(t, name), nil)
		headers, _, _ := tarOf(t, a, "/", export.Options{})
		if h := headers["h"]; h == nil || h.Typeflag != tar.TypeReg {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

func TestWhatTarCannotHoldIsLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"name-nul-mid": "NUL", "symlink-nul-mid": "NUL", "hardlink-offset-beyond": "hard link",
		"device-huge": "left out", "hardlink-to-hardlink": "hard link",
	} {
		a := open(t, malformed(t, name), nil)
		var said []string
		_, _, stats := tarOf(t, a, "/", export.Options{LeftOut: func(path string, why error) { said = append(said, path+": "+why.Error()) }})
		if stats.LeftOut != len(said) || stats.LeftOut == 0 || !strings.Contains(strings.Join(said, " "), want) {
			t.Errorf("%s: %+v, %q", name, stats, said)
		}
	}
}

// broken fails where a range begins.
type broken struct {
	*bytes.Reader
	from, to int64
}

var errBroken = errors.New("broken")

func (b broken) ReadAt(p []byte, at int64) (int, error) {
	if at < b.to && at+int64(len(p)) > b.from {
		n := max(0, b.from-at)
		_, _ = b.Reader.ReadAt(p[:n], at)
		return int(n), errBroken
	}
	return b.Reader.ReadAt(p, at)
}

func TestDamagedContentEndsTheExportOrIsPassedOver(t *testing.T) {
	t.Parallel()
	payload := goldenfile.Read(t, "pxar", "split/other/types.ppxar.zst")
	archive := goldenfile.Read(t, "pxar", "split/other/types.mpxar.zst")
	source := broken{bytes.NewReader(payload), 60, 80}
	a, err := pxar.Open(bytes.NewReader(archive), int64(len(archive)), pxar.OpenOptions{Payload: source, PayloadSize: int64(len(payload))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := export.Tar(io.Discard, a, lookup(t, a, "/"), export.Options{}); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
	var named []string
	over := func(path string, _ error) bool { named = append(named, path); return true }
	good, _, whole := tarOf(t, open(t, archive, payload), "/", export.Options{})
	headers, _, stats := tarOf(t, a, "/", export.Options{PassOver: over})
	if stats.Damaged == 0 || len(named) != stats.Damaged || len(headers)-len(good) != whole.LeftOut-stats.LeftOut {
		t.Errorf("%+v, %q; %d entries of %d", stats, named, len(headers), len(good))
	}
}

func TestZipHasFilesDirectoriesAndLinks(t *testing.T) {
	t.Parallel()
	a := open(t, goldenfile.Read(t, "pxar", "v1/hardlinks.pxar.zst"), nil)
	var out bytes.Buffer
	stats, err := export.Zip(&out, a, lookup(t, a, "/"), export.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq("inside b/c/third zz-root") {
		f, err := r.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(f); err != nil || len(data) != 17 {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if stats.LeftOut == 0 { // a FIFO
		t.Errorf("%+v", stats)
	}
}

// TestNoMalformedArchiveExportsMoreThanItIs is about hostile ones: they end, and give little.
func TestNoMalformedArchiveExportsMoreThanItIs(t *testing.T) {
	t.Parallel()
	for name, data := range goldenfile.MalformedTrees(t) {
		a, err := pxar.Open(bytes.NewReader(data), int64(len(data)), pxar.OpenOptions{})
		if err != nil {
			continue
		}
		top, err := a.Root()
		if err != nil {
			continue
		}
		over := func(string, error) bool { return true }
		for _, write := range []func(io.Writer, *pxar.Archive, *pxar.Entry, export.Options) (export.Stats, error){export.Tar, export.Zip, export.Pxar} {
			stats, _ := write(io.Discard, a, top, export.Options{PassOver: over})
			if stats.Bytes > uint64(10*len(data)) {
				t.Errorf("%s: %+v of %d bytes", name, stats, len(data))
			}
		}
	}
}

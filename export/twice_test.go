package export_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/export"
	"github.com/pbs-like/pbs-like/pxar"
)

// TestAnEntryThatComesTwiceIsLeftOut has a symbolic link, and a directory of the same name with a file in it.
func TestAnEntryThatComesTwiceIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]string{"at once": {"link", "directory", "z"}, "later": {"link", "z", "directory"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []string
			a := open(t, doubled(t, order), nil)
			headers, _, stats := tarOf(t, a, "/", export.Options{LeftOut: func(path string, err error) { told = append(told, path+" "+err.Error()) }})
			if stats.LeftOut != 2 || headers["twice"] == nil || headers["z"] == nil || headers["twice/"] != nil || headers["twice/file"] != nil {
				t.Errorf("%v, %+v", headers, stats)
			}
			if text := strings.Join(told, "\n"); !strings.Contains(text, "/twice ") || !strings.Contains(text, "the archive has it twice") {
				t.Error(text)
			}
		})
	}
}

func doubled(t *testing.T, order []string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := pxar.NewWriter(&out, &pxar.Metadata{Stat: pxar.Stat{Mode: unix.S_IFDIR | 0o755}}, pxar.WriterOptions{})
	add := func(name string, e pxar.Entry, content io.Reader) {
		if err == nil {
			_, err = w.Add(name, &e, content)
		}
	}
	for _, what := range order {
		switch what {
		case "link":
			add("twice", pxar.Entry{Kind: pxar.Symlink, Target: "/outside", Metadata: pxar.Metadata{Stat: pxar.Stat{Mode: unix.S_IFLNK | 0o777}}}, nil)
		case "directory":
			add("twice", pxar.Entry{Kind: pxar.Directory, Metadata: pxar.Metadata{Stat: pxar.Stat{Mode: unix.S_IFDIR | 0o755}}}, nil)
			add("file", pxar.Entry{Kind: pxar.File, Metadata: pxar.Metadata{Stat: pxar.Stat{Mode: unix.S_IFREG | 0o644}}}, strings.NewReader(""))
			if err == nil {
				err = w.Leave()
			}
		default:
			add(what, pxar.Entry{Kind: pxar.File, Metadata: pxar.Metadata{Stat: pxar.Stat{Mode: unix.S_IFREG | 0o644}}}, strings.NewReader(""))
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

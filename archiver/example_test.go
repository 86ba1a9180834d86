package archiver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pbs-like/pbs-like/archiver"
	"github.com/pbs-like/pbs-like/exclude"
	"github.com/pbs-like/pbs-like/pxar"
)

// printer is a sink that says what it is given. A datastore's TreeWriter stores it.
type printer struct{ depth int }

func (p *printer) print(name string) { fmt.Printf("%*s%s\n", 2*p.depth, "", name) }

func (p *printer) Begin(*pxar.Metadata) error { return nil }

func (p *printer) Add(name string, e *pxar.Entry) error {
	p.print(name)
	if e.Kind == pxar.Directory {
		p.depth++
	}
	return nil
}

func (p *printer) AddFile(name string, _ *pxar.Metadata, size uint64, content io.ReadCloser, _ bool) error {
	var data bytes.Buffer
	_, err := io.CopyN(&data, content, int64(size))
	p.print(fmt.Sprintf("%s: %s", name, data.String()))
	return errors.Join(err, content.Close())
}

func (p *printer) Link(name, target string) error {
	p.print(name + " = " + target)
	return nil
}

func (p *printer) Leave() error {
	p.depth--
	return nil
}

func Example() {
	top, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(top)
	_ = os.Mkdir(filepath.Join(top, "etc"), 0o755)
	_ = os.WriteFile(filepath.Join(top, "etc", "hostname"), []byte("laptop"), 0o644)
	_ = os.WriteFile(filepath.Join(top, "etc", "old.tmp"), []byte("x"), 0o644)
	_ = os.Link(filepath.Join(top, "etc", "hostname"), filepath.Join(top, "name"))

	dir, err := os.Open(top)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dir.Close()
	pattern, _ := exclude.ParseArgument("*.tmp")
	a, err := archiver.New(dir, archiver.Options{Exclude: exclude.List{pattern}})
	if err == nil {
		err = a.Run(context.Background(), &printer{})
	}
	report := a.Report()
	fmt.Println(err, report.Files, report.Excluded, report.Incomplete)
	// Output:
	// etc
	//   hostname: laptop
	// name = etc/hostname
	// <nil> 1 1 0
}

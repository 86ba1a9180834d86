package pxar_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pbs-like/pbs-like/pxar"
)

func Example() {
	var archive bytes.Buffer
	root := &pxar.Metadata{Stat: pxar.Stat{Mode: 0o040755}}
	w, err := pxar.NewWriter(&archive, root, pxar.WriterOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := "host-1\n"
	file := &pxar.Entry{Kind: pxar.File, Size: uint64(len(text))}
	file.Mode = 0o100644
	if _, err := w.Add("hostname", file, strings.NewReader(text)); err != nil {
		fmt.Println(err)
		return
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}

	a, err := pxar.Open(bytes.NewReader(archive.Bytes()), int64(archive.Len()), pxar.OpenOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := a.Lookup("/hostname")
	if err != nil {
		fmt.Println(err)
		return
	}
	content, err := a.Content(e)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = io.Copy(os.Stdout, content)
	// Output: host-1
}

package command

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func openFIFO(t *testing.T) (s *source, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := parseSource("a.didx:" + path)
	if err == nil {
		err = s.open(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeSources([]*source{s}) })
	return s, path
}

func TestAFIFOWithoutAWriterIsWaitedFor(t *testing.T) {
	t.Parallel()
	s, path := openFIFO(t)
	r, err := newFlowReader(t.Context(), s.file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(path, []byte("late"), 0) }()
	got, err := io.ReadAll(r)
	if err != nil || string(got) != "late" {
		t.Errorf("%q, %v", got, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func TestAWaitForDataEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s, _ := openFIFO(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := newFlowReader(ctx, s.file)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := r.Read(make([]byte, 1))
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestSourcesAreChecked(t *testing.T) {
	t.Parallel()
	for _, specs := range [][]string{
		{"disk.img"},
		{"disk.img:"},
		{":/path"},
		{"disk.qcow2:/path"},
		{"../disk.img:/path"},
		{"disk.img:/a", "disk.img:/b"},
		{"disk.img:/a", "disk.img.fidx:/b"},
		{"index.json:/a"},
		{"a.img:-", "b.img:-"},
	} {
		_, err := parseSources(specs)
		if _, ok := errors.AsType[*usageError](err); !ok {
			t.Errorf("%q: %v", specs, err)
		}
	}
}

func TestWhatCannotBeBackedUpIsNamed(t *testing.T) {
	t.Parallel()
	for _, path := range []string{t.TempDir(), "/dev/null", filepath.Join(t.TempDir(), "missing")} {
		s, err := parseSource("a.img:" + path)
		if err == nil {
			err = s.open(nil)
		}
		closeSources([]*source{s})
		if err == nil {
			t.Errorf("%q was accepted", path)
		}
	}
}

package archiver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pbs-like/pbs-like/internal/helperproc"
)

func TestMain(m *testing.M) {
	helperproc.Main(m, map[string]helperproc.Role{"walk": roleWalk})
}

// roleWalk walks a directory as somebody else, and says what is left out.
func roleWalk(ctx context.Context, args []string, io *helperproc.IO) error {
	dir, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer dir.Close()
	a, err := New(dir, Options{ReadAhead: true})
	if err != nil {
		return err
	}
	if err := a.Run(ctx, &archiveSink{}); err != nil {
		return err
	}
	r := a.Report()
	text := fmt.Sprintf("%d files, %d directories;", r.Files, r.Directories)
	for _, w := range r.First {
		text += fmt.Sprintf(" %s (%t)", w.Path, w.Kind == Denied && errors.Is(w.Err, os.ErrPermission))
	}
	io.Say(text)
	return nil
}

func TestWhatMayNotBeReadIsLeftOutWithWhatIsInIt(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root becomes somebody else")
	}
	dir := t.TempDir()
	for _, name := range []string{"closed/file", "open/closed", "open/file", "unlisted/file"} {
		plantText(t, dir, name, name)
	}
	for name, mode := range map[string]os.FileMode{"closed": 0, "open/closed": 0, "unlisted": 0o711} {
		must(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	must(t, os.Chmod(dir, 0o755))
	for up := filepath.Dir(dir); strings.HasPrefix(up, os.TempDir()) && up != os.TempDir(); up = filepath.Dir(up) {
		must(t, os.Chmod(up, 0o755))
	}
	nobody := helperproc.Options{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	p := helperproc.StartWith(t, nobody, "walk", dir)
	p.Expect("1 files, 1 directories; /closed (true) /open/closed (true) /unlisted (true)")
	must(t, p.Wait())
}

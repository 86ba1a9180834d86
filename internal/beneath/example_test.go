package beneath_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pbs-like/pbs-like/internal/beneath"
)

func ExampleOpenRegular() {
	root, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(root)
	_ = os.WriteFile(filepath.Join(root, "owner"), []byte("root@pam\n"), 0o644)
	_ = os.Symlink("/etc/passwd", filepath.Join(root, "notes"))

	dir, _ := os.Open(root)
	defer dir.Close()
	f, err := beneath.OpenRegular(dir, "owner")
	fmt.Println(err)
	f.Close()
	_, err = beneath.OpenRegular(dir, "notes")
	fmt.Println(errors.Is(err, beneath.ErrSymlink))
	// Output:
	// <nil>
	// true
}

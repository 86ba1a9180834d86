package fsoptest_test

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
)

func Example() {
	path, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(path)
	dir, _ := os.Open(path)
	defer dir.Close()

	script := fsoptest.FailAt(1, unix.ENOSPC) // change 0 makes the temporary file
	err := script.Disk().WriteFile(dir, "owner", []byte("root@pam\n"), 0o644)
	left, _ := os.ReadDir(path)
	fmt.Println(err != nil, len(left), "left behind")
	// Output: true 0 left behind
}

package fsop_test

import (
	"fmt"
	"os"

	"github.com/pbs-like/pbs-like/internal/fsop"
)

func Example() {
	path, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(path)
	dir, _ := os.Open(path)
	defer dir.Close()

	var disk *fsop.Disk // the real thing
	err := disk.WriteFile(dir, "owner", []byte("root@pam\n"), 0o644)
	data, _ := os.ReadFile(path + "/owner")
	fmt.Printf("%v %q\n", err, data)
	// Output: <nil> "root@pam\n"
}

func ExampleDisk_CreateTemp() {
	path, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(path)
	dir, _ := os.Open(path)
	defer dir.Close()

	save := func(disk *fsop.Disk) error {
		f, err := disk.CreateTemp(dir, fsop.TempPrefix("disk.img.fidx"), 0o644)
		if err != nil {
			return err
		}
		defer f.Discard() // does nothing after Commit
		if _, err := f.Write([]byte("…")); err != nil {
			return err
		}
		return f.Commit("disk.img.fidx", fsop.CommitOptions{NoReplace: true, Sync: true})
	}
	fmt.Println(save(nil))
	// Output: <nil>
}

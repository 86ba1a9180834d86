package main

import (
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// deep DIR makes directories one in the other until the path has 70,000 characters. No
// shell can do that.
func cmdDeep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: deep DIR")
	}
	ts.Check(os.Mkdir(ts.MkAbs(args[0]), 0o755))
	dir, err := os.OpenRoot(ts.MkAbs(args[0]))
	ts.Check(err)
	name := strings.Repeat("0", 249)
	for range 70_000 / (len(name) + 1) {
		ts.Check(dir.Mkdir(name, 0o755))
		below, err := dir.OpenRoot(name)
		ts.Check(err)
		ts.Check(dir.Close())
		dir = below
	}
	ts.Check(dir.Close())
}

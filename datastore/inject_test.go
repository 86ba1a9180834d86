package datastore_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/helperproc"
)

// underStrace makes every call of that kind fail in a started process that has to
// do with the path. Reads have no seam of ours for that, and the kernel's answer is
// what counts. Where strace(1) can't be had, or may not trace, the test is skipped.
func underStrace(t *testing.T, root, calls, path string, errno unix.Errno) helperproc.Options {
	t.Helper()
	// strace knows a descriptor by its whole path, and a name as it is given.
	whole, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	under := []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + calls, "-e", "inject=" + calls + ":error=" + unix.ErrnoName(errno)}
	for _, name := range []string{filepath.Join(whole, path), path, strings.TrimPrefix(path, ".chunks/"), filepath.Base(path)} {
		if name != "." {
			under = append(under, "-P", name)
		}
	}
	return helperproc.Options{Under: under}
}

func needStrace(t *testing.T) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), "strace", "-f", "-qq", "-o", "/dev/null", "true").Run(); err != nil {
		t.Skip("strace: ", err)
	}
}

// readErrnos are what reading may answer on disks and shares that are not well.
var readErrnos = append(slices.Clone(errnos), unix.ETIMEDOUT, unix.EMFILE)

func someErrnos(list []unix.Errno) []unix.Errno {
	if testing.Short() {
		return list[len(list)-3 : len(list)-1]
	}
	return list
}

// TestACollectionThatCannotReadDeletesNothing lets each kind of reading fail, at each kind of place.
func TestACollectionThatCannotReadDeletesNothing(t *testing.T) {
	t.Parallel()
	needStrace(t)
	const open, list, read, stat = "openat,openat2", "getdents64", "pread64,read", "newfstatat,fstat"
	garbage := numberedDigest(1).String()
	for _, at := range []struct{ what, calls, path string }{
		{"the group", open, "vm/100"},
		{"the group's names", list, "vm/100"},
		{"the snapshot", open, "vm/100/" + first.String()},
		{"the snapshot's names", list, "vm/100/" + first.String()},
		{"the index", open, "vm/100/" + first.String() + "/disk.img.fidx"},
		{"the index's entries", read, "vm/100/" + first.String() + "/disk.img.fidx"},
		{"the chunk directory", open, ".chunks/" + garbage[:4]},
		{"the chunk directory's names", list, ".chunks/" + garbage[:4]},
		{"the chunk's times", stat, ".chunks/" + garbage[:4] + "/" + garbage},
		{"all chunk directories' names", list, ".chunks"},
		{"the root's names", list, "."},
	} {
		for _, errno := range someErrnos(readErrnos) {
			store := scenario{before: 1}.store(t)
			putChunkFile(t, store, garbage, []byte("x"))
			before := chunkFiles(t, store)
			line := helperproc.StartWith(t, underStrace(t, store.Dir, at.calls, at.path, errno), "operate", store.Dir, "record", "collect", "", "0", "").Line()
			if after := chunkFiles(t, store); line == "done" || !slices.Equal(before, after) {
				t.Errorf("%s, %s: %q, %q", at.what, unix.ErrnoName(errno), line, after)
			}
		}
	}
}

// TestAVerificationThatCannotReadRenamesNothing lets the reading of a good and of a damaged chunk fail.
func TestAVerificationThatCannotReadRenamesNothing(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for _, calls := range []string{"openat,openat2", "read,pread64", "fstat", "newfstatat"} {
		for _, errno := range someErrnos(readErrnos) {
			for _, damaged := range []bool{false, true} {
				store := scenario{before: 1}.store(t)
				store.Damaged = damaged
				name := chunkFiles(t, store)[0]
				file := filepath.Join(store.Dir, ".chunks", name[:4], name)
				if damaged {
					if err := os.WriteFile(file, []byte("wrong, though nobody can tell"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				before := chunkFiles(t, store)
				line := helperproc.StartWith(t, underStrace(t, store.Dir, calls, ".chunks/"+name[:4]+"/"+name, errno), "operate", store.Dir, "record", "verify", "", "0", "").Line()
				if after := chunkFiles(t, store); !slices.Equal(before, after) {
					t.Errorf("%s, %s: %q, %q", calls, unix.ErrnoName(errno), line, after)
				}
				// The other snapshot has chunks that can be read.
				recorded := 0
				for _, snapshot := range store.Finished() {
					if state := readManifest(t, store, snapshot).VerifyState(); state != nil {
						recorded++
						if state.State != backupinfo.VerifyOK {
							t.Errorf("%s, %s: %s is %s", calls, unix.ErrnoName(errno), snapshot, state.State)
						}
					}
				}
				if recorded != len(store.Finished())-1 || strings.Count(line, "not-verified") != 1 {
					t.Errorf("%s, %s, damaged %v: %d recorded, %s", calls, unix.ErrnoName(errno), damaged, recorded, line)
				}
			}
		}
	}
}

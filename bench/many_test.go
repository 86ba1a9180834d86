package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
)

// fillGroup makes a group of finished snapshots, each with a manifest of its own.
func fillGroup(b *testing.B, ds *datastore.Datastore, g backupinfo.Group, snapshots int) {
	b.Helper()
	dir := filepath.Join(ds.Path(), g.Dir())
	must(b, os.MkdirAll(dir, 0o755))
	must(b, os.WriteFile(filepath.Join(dir, "owner"), []byte("root@pam\n"), 0o644))
	encoder := blob.NewEncoder()
	defer encoder.Close()
	for i := range snapshots {
		snapshot := backupinfo.Snapshot{Group: g, Time: backupinfo.Time(1600000000 + 6*3600*i)}
		manifest, err := backupinfo.NewManifest(snapshot)
		must(b, err)
		must(b, manifest.AddFile(backupinfo.File{Name: "drive-scsi0.img.fidx", Size: uint64(i)}))
		text, err := manifest.Marshal()
		must(b, err)
		stored, err := encoder.Encode(nil, text)
		must(b, err)
		path := filepath.Join(ds.Path(), snapshot.Dir())
		must(b, os.Mkdir(path, 0o755))
		must(b, os.WriteFile(filepath.Join(path, "index.json.blob"), stored, 0o644))
		must(b, os.WriteFile(filepath.Join(path, "drive-scsi0.img.fidx"), make([]byte, 4096), 0o644))
	}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// command takes the time of another program.
func command(b *testing.B, name string, args ...string) time.Duration {
	b.Helper()
	start := time.Now()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		b.Fatalf("%s: %v: %s", name, err, out)
	}
	return time.Since(start)
}

// BenchmarkSnapshots lists all snapshots with their manifests, against find(1) and reading each manifest once.
func BenchmarkSnapshots(b *testing.B) {
	const groups, each = 20, 1000
	ds := store(b)
	for i := range groups {
		fillGroup(b, ds, group(b, fmt.Sprint("vm/", 1000+i)), each)
	}
	find := func() time.Duration {
		start := time.Now()
		out, err := exec.Command("find", filepath.Join(ds.Path(), "vm"), "-name", "index.json.blob").Output()
		must(b, err)
		for path := range strings.Lines(string(out)) {
			_, err := os.ReadFile(strings.TrimSuffix(path, "\n"))
			must(b, err)
		}
		return time.Since(start)
	}
	compare(b, "xfind", find, func() time.Duration {
		start, count := time.Now(), 0
		for g, err := range ds.Groups(b.Context(), backupinfo.Namespace{}) {
			must(b, err)
			for _, err := range ds.Snapshots(b.Context(), g.Group) {
				must(b, err)
				count++
			}
		}
		if count != groups*each {
			b.Fatal(count)
		}
		return time.Since(start)
	})
}

// BenchmarkRemoveGroup removes a group of 1,000 snapshots, against rm -rf of the same.
func BenchmarkRemoveGroup(b *testing.B) {
	ds := store(b)
	g := group(b, "vm/100")
	remove := func() time.Duration {
		fillGroup(b, ds, g, 1000)
		return command(b, "rm", "-rf", filepath.Join(ds.Path(), g.Dir()))
	}
	compare(b, "xrm", remove, func() time.Duration {
		fillGroup(b, ds, g, 1000)
		start := time.Now()
		_, err := ds.RemoveGroup(b.Context(), g, datastore.RemoveGroupOptions{})
		must(b, err)
		return time.Since(start)
	})
}

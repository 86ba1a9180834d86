package datastore

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
)

const (
	// mountsName is where a collection remembers what was mounted below the root: a list of paths, as JSON.
	mountsName = ".pbs-like-mounts"
	// maxMountsSize and maxMounts bound what is read of it and written to it.
	maxMountsSize = 256 << 10
	maxMounts     = 1000
	maxFstabSize  = 1 << 20
	defaultFstab  = "/etc/fstab"
)

// mountPoints are where file systems belong, relative to the store's root.
type mountPoints struct {
	remembered []string // by the last collection
	listed     []string // in the table of file systems; "." is the root itself
}

// readMountPoints finds out where file systems belong. What was remembered and can't
// be read might be anything, and is an error.
func (d *Datastore) readMountPoints(root *os.File) (m mountPoints, err error) {
	if m.remembered, err = readMountMemory(root); err != nil {
		return m, fmt.Errorf("%q, where a collection remembers what belongs mounted, can't be read; remove it if all is mounted: %w", mountsName, err)
	}
	m.listed, err = d.readFstab(root)
	return m, err
}

func readMountMemory(root *os.File) (names []string, err error) {
	text, err := readBounded(root, mountsName, maxMountsSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	if err != nil {
		return nil, err
	}
	if len(names) > maxMounts {
		return nil, fmt.Errorf("%d mount points: %w", len(names), ErrCorrupt)
	}
	for _, name := range names {
		if !fs.ValidPath(name) || name == "." {
			return nil, fmt.Errorf("%q is no path in a datastore: %w", name, ErrCorrupt)
		}
	}
	return names, nil
}

// readFstab finds what belongs mounted at the root and below it, see fstab(5).
func (d *Datastore) readFstab(root *os.File) ([]string, error) {
	name := d.opts.Fstab
	if name == "" {
		name = defaultFstab
	}
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFstabSize))
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(root.Name())
	if err != nil {
		return nil, err
	}
	return fstabBelow(text, real, root.Name()), nil
}

// fstabBelow are the mount points in a table that are at a directory, or below it.
// Each of its names counts, because the table may have any of them.
func fstabBelow(text []byte, names ...string) (below []string) {
	unescape := mountEscapes()
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") || !strings.HasPrefix(fields[1], "/") {
			continue
		}
		point := path.Clean(unescape.Replace(fields[1]))
		for _, name := range names {
			if rest, ok := relative(name, point); ok {
				below = addMountPoint(below, rest)
			}
		}
	}
	return below
}

// mountEscapes undoes how spaces and the like are written in tables of mounts: as three octal digits.
func mountEscapes() *strings.Replacer {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
}

// addMountPoint adds a path to a list, if a collection cares about what is there.
func addMountPoint(list []string, name string) []string {
	name = path.Clean(name)
	top, _, _ := strings.Cut(name, "/")
	if isForeign(top) || slices.Contains(list, name) || len(list) >= maxMounts {
		return list
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") && name != "." && name != chunkDirName {
			return list
		}
	}
	return append(list, name)
}

// allMounted tells what belongs mounted and is not, but for what is to be forgotten.
func (d *Datastore) allMounted(root *os.File, m mountPoints, forget []string) error {
	missing := &UnmountedError{Store: d.path}
	for _, name := range slices.Concat(m.listed, m.remembered) {
		if slices.Contains(forget, name) || slices.Contains(missing.Paths, name) {
			continue
		}
		mounted, err := isMountPoint(root, name)
		if err != nil {
			return err
		}
		if !mounted {
			missing.Paths = append(missing.Paths, name)
		}
	}
	if len(missing.Paths) == 0 {
		return nil
	}
	return missing
}

// isMountPoint looks at the directory that an operation would see, by its name below
// the root. One that is gone, or is something else, is none.
func isMountPoint(root *os.File, name string) (bool, error) {
	dir, err := beneath.OpenDir(root, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, beneath.ErrSymlink) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer dir.Close()
	above, err := openAbove(root, name)
	if err != nil {
		return false, err
	}
	defer above.Close()
	same, err := fsop.SameMount(dir, above)
	return !same, err
}

func openAbove(root *os.File, name string) (*os.File, error) {
	if name != "." {
		return beneath.OpenDir(root, path.Dir(name))
	}
	real, err := filepath.EvalSymlinks(root.Name())
	if err != nil {
		return nil, err
	}
	return openDirectory(path.Dir(real))
}

// checkMounts refuses a collection that can't see all of the store.
func (c *collection) checkMounts(context.Context) (err error) {
	if c.mounts, err = c.readMountPoints(c.root); err != nil {
		return err
	}
	return c.allMounted(c.root, c.mounts, c.opts.ForgetMounts)
}

// rememberMounts writes down what is mounted below the root, and what was. On a full
// disk it can't, and the collection goes on: then the next one does.
func (c *collection) rememberMounts() {
	names, err := c.mountedNow()
	if err == nil && !slices.Equal(names, c.mounts.remembered) {
		err = c.writeMounts(names)
	}
	if err != nil {
		c.Datastore.opts.Events.notice(mountsName, "which file systems belong below this store could not be remembered", err)
	}
}

func (c *collection) mountedNow() ([]string, error) {
	names := slices.DeleteFunc(slices.Clone(c.mounts.remembered), func(name string) bool { return slices.Contains(c.opts.ForgetMounts, name) })
	real, err := filepath.EvalSymlinks(c.root.Name())
	if err != nil {
		return nil, err
	}
	mounts, err := readMounts("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for _, m := range mounts {
		rest, below := relative(real, m.point)
		if !below || rest == "" {
			continue
		}
		// A file can be mounted as well, and another mount can hide this one.
		if mounted, err := isMountPoint(c.root, rest); err != nil {
			return nil, err
		} else if mounted {
			names = addMountPoint(names, rest)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (c *collection) writeMounts(names []string) error {
	text, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return c.disk.WriteFile(c.root, mountsName, append(text, '\n'), fileMode)
}

// readMounts reads a table of what is mounted, see proc_pid_mountinfo(5).
func readMounts(name string) ([]mount, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unescape := mountEscapes()
	var mounts []mount
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 5 {
			mounts = append(mounts, mount{device: fields[2], root: unescape.Replace(fields[3]), point: unescape.Replace(fields[4])})
		}
	}
	return mounts, lines.Err()
}

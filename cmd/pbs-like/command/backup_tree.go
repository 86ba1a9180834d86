package command

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/archiver"
	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/exclude"
)

// The flags about directories.
const (
	flagExclude       = "exclude"
	flagDetection     = "change-detection-mode"
	flagAllSystems    = "all-file-systems"
	flagIncludeDevice = "include-dev"
	flagSkipLost      = "skip-lost-and-found"
	flagEntriesMax    = "entries-max"
)

func directoryFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{
			Name: flagExclude,
			Usage: "leave out what matches a `PATTERN`, in all directories of the backup; may be given several times, and the last one that " +
				"matches decides; with a leading ! it takes in again",
		},
		&cli.StringFlag{
			Name: flagDetection, Value: datastore.ChangeDetectionLegacy.String(),
			Usage: "how changed files of a directory are found, and how it is stored, as `MODE`: legacy reads all, into one archive and a " +
				"catalog; data reads all, and keeps contents apart from the rest; metadata does that, and does not read files whose size, times " +
				"and other metadata are those of the base",
		},
		&cli.BoolFlag{
			Name: flagAllSystems, DisableDefaultText: true,
			Usage: "enter everything that is mounted in a directory, but for what the kernel makes up, such as /proc",
		},
		&cli.StringSliceFlag{Name: flagIncludeDevice, Usage: "enter also the file system that the `PATH` is on; may be given several times"},
		&cli.BoolFlag{Name: flagSkipLost, DisableDefaultText: true, Usage: "leave out what is named lost+found"},
		&cli.IntFlag{
			Name: flagEntriesMax, Value: archiver.DefaultEntriesMax,
			Usage: "give up if a directory, with those above it, has more than `N` entries: more need more memory",
		},
	}
}

// treeOrder is how directories are to be backed up.
type treeOrder struct {
	detection datastore.ChangeDetection
	options   archiver.Options
	tell      func(archive string, w archiver.Warning)
}

func readTreeOrder(c *cli.Context) (order treeOrder, err error) {
	if order.detection, err = parseDetection(c.String(flagDetection)); err != nil {
		return order, err
	}
	order.options = archiver.Options{
		SkipLostAndFound: c.Bool(flagSkipLost),
		AllFileSystems:   c.Bool(flagAllSystems),
		EntriesMax:       c.Int(flagEntriesMax),
		PatternsFile:     order.detection == datastore.ChangeDetectionLegacy,
	}
	if order.options.EntriesMax < 1 {
		return order, usageErrorf("--%s %d: has to be at least 1", flagEntriesMax, order.options.EntriesMax)
	}
	for _, text := range c.StringSlice(flagExclude) {
		if text == "" {
			return order, usageErrorf("--%s is empty, and would leave out nothing", flagExclude)
		}
		p, err := exclude.ParseArgument(text)
		if err != nil {
			return order, asUsage(fmt.Errorf("--%s: %w", flagExclude, err))
		}
		order.options.Exclude = append(order.options.Exclude, p)
	}
	order.options.Devices, err = includedDevices(c)
	return order, err
}

func parseDetection(text string) (datastore.ChangeDetection, error) {
	modes := []datastore.ChangeDetection{datastore.ChangeDetectionLegacy, datastore.ChangeDetectionData, datastore.ChangeDetectionMetadata}
	for _, mode := range modes {
		if text == mode.String() {
			return mode, nil
		}
	}
	return 0, usageErrorf("--%s %q: must be one of %v, %v, %v", flagDetection, text, modes[0], modes[1], modes[2])
}

func includedDevices(c *cli.Context) (devices []uint64, err error) {
	paths := c.StringSlice(flagIncludeDevice)
	if len(paths) > 0 && c.Bool(flagAllSystems) {
		return nil, usageErrorf("--%s takes in all that --%s could add", flagAllSystems, flagIncludeDevice)
	}
	for _, path := range paths {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			return nil, asUsage(fmt.Errorf("--%s: %w", flagIncludeDevice, &os.PathError{Op: "stat", Path: path, Err: err}))
		}
		devices = append(devices, uint64(st.Dev))
	}
	return devices, nil
}

// checkTreeFlags refuses flags that would do nothing, for whoever gave them counts on what they say.
func checkTreeFlags(c *cli.Context, sources []*source) error {
	if slices.ContainsFunc(sources, func(s *source) bool { return s.dir }) {
		return nil
	}
	for _, flag := range directoryFlags() {
		if name := flag.Names()[0]; c.IsSet(name) {
			return usageErrorf("--%s is about directories, and none is to be backed up", name)
		}
	}
	return nil
}

// treeResult is what became of a directory.
type treeResult struct {
	name   string
	stats  datastore.TreeStats
	report archiver.Report
}

// storeTree writes the archives of a directory.
func (s *source) storeTree(ctx context.Context, w *datastore.SnapshotWriter, ds *datastore.Datastore, order treeOrder) (result treeResult, err error) {
	before := treeInBase(ctx, ds, w, s.name)
	order.options.ReadAhead = order.detection != datastore.ChangeDetectionMetadata || !before.split
	order.options.Warning = func(w archiver.Warning) { order.tell(s.name.Display(), w) }
	if order.options.KeepOut, err = storeItself(ds, s); err != nil {
		return result, err
	}
	a, err := archiver.New(s.file, order.options)
	if err != nil {
		return result, err
	}
	opts := datastore.TreeOptions{ChangeDetection: order.detection, Expected: before.size}
	if !order.options.PatternsFile {
		if opts.Prelude, err = a.Prelude(); err != nil {
			return result, err
		}
	}
	t, err := w.BeginTree(ctx, s.name, opts)
	if err != nil {
		return result, err
	}
	defer func() { _ = t.Close() }() // gives nothing that is not told already
	if err := a.Run(ctx, t); err != nil {
		return result, err
	}
	stats, err := t.Finish()
	return treeResult{name: s.name.Display(), stats: stats, report: a.Report()}, err
}

// storeItself keeps a store that is inside of the directory out of itself: it would grow with each backup.
func storeItself(ds *datastore.Datastore, s *source) ([]archiver.Inode, error) {
	var store, source unix.Stat_t
	if err := unix.Stat(ds.Path(), &store); err != nil {
		return nil, &os.PathError{Op: "stat", Path: ds.Path(), Err: err}
	}
	if err := unix.Fstat(int(s.file.Fd()), &source); err != nil {
		return nil, &os.PathError{Op: "fstat", Path: s.path, Err: err}
	}
	if store.Dev == source.Dev && store.Ino == source.Ino {
		return nil, usageErrorf("%q is the datastore itself, and can't be backed up into it", s.path)
	}
	return []archiver.Inode{{Device: uint64(store.Dev), Number: store.Ino}}, nil
}

// treeBefore is the same directory in the base.
type treeBefore struct {
	size  uint64 // of the contents; 0 is unknown
	split bool
}

func treeInBase(ctx context.Context, ds *datastore.Datastore, w *datastore.SnapshotWriter, name backupinfo.ArchiveName) (before treeBefore) {
	base, ok := w.Base()
	if !ok {
		return before
	}
	info, err := ds.Snapshot(ctx, base)
	if err != nil {
		return before // it is for the progress only
	}
	stem := strings.TrimSuffix(name.Display(), ".pxar")
	for _, file := range info.Files {
		switch shown := displayName(file.Name); {
		case file.Size == nil:
		case shown == stem+".ppxar":
			return treeBefore{*file.Size, true}
		case shown == stem+".pxar":
			before.size = *file.Size
		}
	}
	return before
}

// tellTree shows what the walk of a directory has to say.
func (p *program) tellTree(archive string, w archiver.Warning) {
	switch w.Kind {
	case archiver.MountPoint:
		p.log.Info().Msg(archive + ": " + w.String())
	case archiver.KeptOut:
		p.log.Info().Msg(fmt.Sprintf("%s: %q: the datastore itself, not entered", archive, w.Path))
	default:
		p.log.Warn().Msg(archive + ": " + w.String())
	}
}

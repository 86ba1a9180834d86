package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/keys"
	"github.com/pbs-like/pbs-like/mount"
)

func (p *program) mountCommand() *cli.Command {
	const args = "MOUNTPOINT [SNAPSHOT|GROUP] [ARCHIVE]"
	return &cli.Command{
		Name:      "mount",
		Usage:     "show the store, a snapshot or an archive as a read-only file system",
		ArgsUsage: args,
		Description: "Mounts on the empty directory MOUNTPOINT, and stays in the foreground until it is unmounted: with\n" +
			"\"umount\" or \"fusermount3 -u\", or by a signal, such as Ctrl-C. Its locks end with it, kill -9 included; what that\n" +
			"leaves at the mount point the next mount takes away. The tree is that of the store, with archives under their\n" +
			"own names: images and streams are files, blobs are decoded, .pxar archives (and .mpxar with .ppxar) are directories.\n" +
			"Of a GROUP it takes the newest finished snapshot. With an ARCHIVE there is only that: a .pxar archive is then\n" +
			"the root itself. All data is verified on the way; what is damaged can't be read, and is named on standard error.\n\n" +
			"A snapshot is locked, as by a restore, while something in it is open and for --idle longer. A mount that nobody\n" +
			"uses has nothing open in the store. Everything but what is in .pxar archives belongs to the user who mounts,\n" +
			"and nobody else may look in without --allow-other. A user who is not root needs fusermount3 (package fuse3).",
		Flags: append([]cli.Flag{
			namespaceFlag("the `NAMESPACE` of the snapshot, or the one to show"),
			&cli.BoolFlag{
				Name: "allow-other", DisableDefaultText: true,
				Usage: "let other users in; modes and owners in .pxar archives then count. For who is not root, /etc/fuse.conf has to allow it",
			},
			&cli.BoolFlag{Name: "raw", DisableDefaultText: true, Usage: "show .pxar archives as files, as they are"},
			&cli.DurationFlag{Name: "idle", DefaultText: "5s", Usage: "keep a snapshot locked for `DURATION` after its last use"},
			&cli.IntFlag{Name: "cache", Value: 64, Usage: "remember up to so many `MIB` of data that was read"},
			lockWaitFlag(),
		}, keyFlags()...),
		Action: withArgs(args, p.mount),
	}
}

func (p *program) mount(c *cli.Context) error {
	if c.Duration("idle") < 0 || c.Int("cache") < 1 {
		return usageErrorf("--idle must not be negative, and --cache must be 1 or more")
	}
	opts := mount.Options{
		Raw: c.Bool("raw"), AllowOther: c.Bool("allow-other"), Idle: c.Duration("idle"), Cache: int64(c.Int("cache")) << 20, Events: p.mountEvents(),
	}
	var err error
	if opts.Namespace, err = namespaceOf(c); err != nil {
		return err
	}
	var object *backupinfo.Object
	if c.Args().Len() > 1 {
		o, err := objectArg(c, 1)
		if err != nil {
			return err
		}
		object = &o
	}
	if c.Args().Len() > 2 {
		if opts.Archive, err = backupinfo.ParseArchiveName(c.Args().Get(2)); err != nil {
			return asUsage(err)
		}
	}
	p.noticed = &sync.Map{} // a snapshot is opened time and again
	ds, err := p.open(c)
	if err != nil {
		return err
	}
	if opts.Snapshot, opts.Key, err = p.mountSource(c, ds, object); err != nil {
		return err
	}
	allowMemory(opts.Cache)
	return p.serveMount(c.Context, ds, c.Args().First(), opts)
}

// mountSource is the snapshot, nil for all, and the key.
func (p *program) mountSource(c *cli.Context, ds *datastore.Datastore, object *backupinfo.Object) (*backupinfo.Snapshot, *keys.Key, error) {
	if object == nil {
		key, err := p.keyOf(c)
		return nil, key, err
	}
	snapshot, err := p.snapshotOf(c.Context, ds, *object)
	if err != nil {
		return nil, nil, err
	}
	key, err := p.keyToRead(c, ds, snapshot)
	return &snapshot, key, err
}

// allowMemory adds what is remembered, and what is on its way, to the program's aim: else the runtime would look for
// garbage all the time.
func allowMemory(cache int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(debug.SetMemoryLimit(-1) + 2*cache + 64<<20)
	}
}

func (p *program) mountEvents() mount.Events {
	return mount.Events{
		Problem: func(path string, err error) { p.log.Warn().Msg(fmt.Sprintf("%q: %v", path, err)) },
		Hidden: func(path string, count int, first error) {
			p.log.Warn().Msg(fmt.Sprintf("%q: %s not shown: %v", path, plural(count, "entry"), first))
		},
		Cleared: func(point string) {
			p.log.Info().Msg(fmt.Sprintf("took away what a mount that was killed has left on %q", point))
		},
	}
}

func (p *program) serveMount(ctx context.Context, ds *datastore.Datastore, point string, opts mount.Options) error {
	m, err := mount.New(ctx, point, ds, opts)
	if errors.Is(err, mount.ErrPoint) {
		return asUsage(err)
	}
	if err != nil {
		return err
	}
	p.log.Info().Msg(fmt.Sprintf("mounted on %q; umount or Ctrl-C ends it", m.Point()))
	if m.Wait(ctx) == nil {
		return nil
	}
	err = m.Unmount()
	if !errors.Is(err, mount.ErrBusy) {
		return err
	}
	if err := m.Detach(); err != nil {
		return err
	}
	p.log.Warn().Msg(fmt.Sprintf("%q was in use: it is taken away, and what is open in it lasts until it is closed; another signal ends that too", m.Point()))
	<-m.Done()
	return nil
}

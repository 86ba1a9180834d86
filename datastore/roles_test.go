package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/goldenspec"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
	"github.com/pbs-like/pbs-like/keys"
)

// roles are what a helper process can be told to do.
var roles = map[string]helperproc.Role{
	"operate": operate, "contend": contend, "remove with limit": removeWithLimit, "hold record": holdRecord,
	"history step": historyStep, "list with limit": listWithLimit, "collect as": collectAs, "collect with limit": collectWithLimit,
	"stand in": standIn, "operate with umask": operateWithUmask,
	"check as":             checkAs,
	"repair as":            repairAs,
	"operate with limit":   operateWithLimit,
	"collect or back up":   collectOrBackUp,
	"namespace with limit": namespaceWithLimit,
	"list locks":           listLocks, "hold": holdObject,
}

// operation is one thing that a process does to a store.
type operation struct {
	name   string // see operations
	object string // a group or a snapshot, with "@" and its namespace if that is not the root; or a namespace
	time   backupinfo.Time
	data   string // specification of the content that is backed up; or a namespace to move to
	server datastore.ServerPlace
	hasty  bool // whoever has a lock that is in the way won't let go, so there is no point in waiting
	host   host
}

// host is what a process takes itself for. Its zero value is the machine that it runs on.
type host struct {
	id     string
	memory string        // where it remembers what it saw of store locks
	wait   time.Duration // for locks
}

func (h host) options(opts datastore.Options) datastore.Options {
	opts.HostID, opts.LeaseOnly, opts.LockMemory, opts.LockWait = h.id, h.id != "", h.memory, h.wait
	return opts
}

// start runs the operation in a process of its own. The script says what happens
// to its changes, see fsoptest; "record" lets them through.
func (o operation) start(t testing.TB, store *testds.Store, script string) *helperproc.Proc {
	t.Helper()
	return helperproc.Start(t, "operate", o.arguments(store, script)...)
}

func (o operation) arguments(store *testds.Store, script string) []string {
	return []string{
		store.Dir, script, o.name, o.object, fmt.Sprint(int64(o.time)), o.data, o.server.Etc, o.server.Run, o.server.User,
		strconv.FormatBool(o.hasty), o.host.id, o.host.memory, o.host.wait.String(),
	}
}

func operate(ctx context.Context, args []string, pipe *helperproc.IO) error {
	spec, ofLocks := strings.CutPrefix(args[1], "locks ")
	spec, lockless := strings.CutPrefix(spec, "no locks ")
	script, err := fsoptest.Parse(spec, pipe.Say, pipe.Next)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(args[4], 10, 64)
	if err != nil {
		return err
	}
	o := operation{name: args[2], object: args[3], time: backupinfo.Time(seconds), data: args[5]}
	if len(args) > 6 {
		o.server = datastore.ServerPlace{Etc: args[6], Run: args[7], User: args[8]}
		o.hasty = args[9] == "true"
	}
	if len(args) > 10 && args[10] != "" {
		o.host.id, o.host.memory = args[10], args[11]
		if o.host.wait, err = time.ParseDuration(args[12]); err == nil {
			err = deafenLocks()
		}
		if err != nil {
			return err
		}
	}
	if lockless {
		if err := answerLocks(unix.ENOLCK); err != nil {
			return err
		}
	}
	disk := script.Disk()
	switch {
	case ofLocks:
		disk = ofStoreLocks(disk)
	case o.host.id != "":
		disk = pastStoreLocks(disk)
	}
	if err := o.run(ctx, args[0], disk, pipe); err != nil {
		pipe.Say(fmt.Sprintf("error: %q", err.Error()))
		return nil
	}
	pipe.Say("done")
	return nil
}

// pastStoreLocks is a disk whose hooks see nothing of store locks: what stops before its first
// change then has them.
func pastStoreLocks(disk *fsop.Disk) *fsop.Disk {
	return seeing(disk, func(c fsop.Change) bool { return !isOfStoreLocks(c) })
}

// ofStoreLocks is a disk whose hooks see nothing but store locks.
func ofStoreLocks(disk *fsop.Disk) *fsop.Disk { return seeing(disk, isOfStoreLocks) }

func isOfStoreLocks(c fsop.Change) bool { return strings.Contains(c.Path, "/.pbs-like-locks") }

func seeing(disk *fsop.Disk, what func(fsop.Change) bool) *fsop.Disk {
	before, after := disk.Before, disk.After
	return &fsop.Disk{
		Before: func(c fsop.Change) error {
			if before == nil || !what(c) {
				return nil
			}
			return before(c)
		},
		After: func(c fsop.Change, err error) error {
			if after == nil || !what(c) {
				return err
			}
			return after(c, err)
		},
	}
}

// run does the operation. One that is "held" says "ready" in the middle and goes on when it gets a line.
func (o operation) run(ctx context.Context, dir string, disk *fsop.Disk, pipe *helperproc.IO) error {
	if o.name == "repair" {
		return repairAllAs(ctx, dir, o.host.options(datastore.Options{OnlyHost: true, Disk: sparing(disk)}))
	}
	if o.name == "adopt" {
		return adoptAll(ctx, dir, disk)
	}
	store, err := datastore.Open(dir, o.host.options(datastore.Options{OnlyHost: true, Disk: disk, Server: o.server}))
	if err != nil {
		return err
	}
	if o.hasty {
		store.SetPatience(time.Millisecond)
	}
	return o.on(ctx, store, pipe)
}

// on does the operation on a store that is open.
func (o operation) on(ctx context.Context, store *datastore.Datastore, pipe *helperproc.IO) (err error) {
	switch {
	case o.name == "collect":
		cutoff := datastore.NoCutoff
		if o.host.id != "" || o.data == "shared" {
			cutoff = 0
		}
		_, err = store.Collect(ctx, datastore.CollectOptions{Cutoff: cutoff})
		return err
	case o.name == "verify" && o.object == "":
		return verifyAll(ctx, store, datastore.VerifyOptions{Depth: -1})
	}
	if strings.Contains(o.name, "namespace") {
		return o.onNamespace(ctx, store)
	}
	name, ns, _ := strings.Cut(o.object, "@")
	object, err := backupinfo.ParseObject(namespace(ns), name)
	if err != nil {
		return err
	}
	snapshot, _ := object.Snapshot()
	switch o.name {
	case "backup", "held backup", "encrypted backup", "tree backup":
		return o.backUp(ctx, store, object.Group, pipe)
	case "restore", "held restore":
		return o.restore(ctx, store, snapshot, pipe)
	case "verify":
		return verifyAll(ctx, store, datastore.VerifyOptions{Snapshots: []backupinfo.Snapshot{snapshot}})
	case "remove-snapshot":
		_, err = store.RemoveSnapshot(ctx, snapshot, datastore.RemoveOptions{})
	case "move-group", "merge-group":
		_, err = store.MoveGroup(ctx, object.Group, namespace(o.data), datastore.MoveOptions{Merge: o.name == "merge-group"})
	case "remove-group":
		_, err = store.RemoveGroup(ctx, object.Group, datastore.RemoveGroupOptions{})
	case "prune":
		_, err = store.Prune(ctx, object.Group, datastore.PruneOptions{Keep: backupinfo.KeepOptions{Last: 1}})
	case "protect":
		_, err = store.Protect(ctx, snapshot, datastore.ProtectOptions{Reason: o.data})
	case "unprotect":
		_, err = store.Unprotect(ctx, snapshot, datastore.UnprotectOptions{})
	case "notes":
		err = store.SetNotes(ctx, object, o.data)
	case "change-owner":
		err = store.ChangeOwner(ctx, object.Group, backupinfo.AuthID(o.data), datastore.ChangeOwnerOptions{})
	default:
		err = fmt.Errorf("no operation %q", o.name)
	}
	return err
}

// namespace is one that is known to be valid.
func namespace(text string) backupinfo.Namespace {
	ns, err := backupinfo.ParseNamespace(text)
	if err != nil {
		panic(err) // a constant of a test
	}
	return ns
}

func (o operation) onNamespace(ctx context.Context, store *datastore.Datastore) (err error) {
	ns := namespace(o.object)
	switch o.name {
	case "create-namespace":
		err = store.CreateNamespace(ctx, ns, datastore.CreateNamespaceOptions{Parents: true})
	case "remove-namespace":
		_, err = store.RemoveNamespace(ctx, ns, datastore.RemoveNamespaceOptions{DeleteGroups: true})
	case "remove-empty-namespace":
		_, err = store.RemoveNamespace(ctx, ns, datastore.RemoveNamespaceOptions{})
	case "move-namespace":
		_, err = store.MoveNamespace(ctx, ns, namespace(o.data), datastore.MoveNamespaceOptions{})
	}
	return err
}

// verifyAll makes an error of whatever is finished, and not good or not recorded.
func verifyAll(ctx context.Context, store *datastore.Datastore, opts datastore.VerifyOptions) error {
	var failed error
	opts.Each = func(v datastore.SnapshotVerdict) {
		if v.Verdict != datastore.VerdictOK && v.Verdict != datastore.VerdictUnfinished {
			failed = errors.Join(failed, fmt.Errorf("%s: %s: %w", v.Snapshot, v.Verdict, v.Err))
		}
		failed = errors.Join(failed, v.Unrecorded)
	}
	_, err := store.Verify(ctx, opts)
	return errors.Join(err, failed)
}

func (o operation) hold(pipe *helperproc.IO) error {
	if o.name[:4] != "held" {
		return nil
	}
	pipe.Ready()
	_, err := pipe.Next()
	return err
}

func (o operation) backUp(ctx context.Context, store *datastore.Datastore, group backupinfo.Group, pipe *helperproc.IO) error {
	opts := datastore.BackupOptions{Time: o.time}
	if o.name == "encrypted backup" {
		key, err := keys.New([keys.Size]byte{1})
		if err != nil {
			return err
		}
		opts.Key, opts.KeyCopy = key, []byte("a copy")
	}
	w, err := store.Backup(ctx, group, opts)
	if err != nil {
		return err
	}
	defer w.Close()
	data, err := goldenspec.Expand(o.data)
	if err != nil {
		return err
	}
	fill := testds.Fill
	if o.name == "tree backup" {
		fill = fillWithTrees
	}
	if err := fill(ctx, w, data); err != nil {
		return err
	}
	if err := o.hold(pipe); err != nil {
		return err
	}
	_, err = w.Commit(ctx)
	return err
}

// fillWithTrees adds a tree of each kind. Of that in metadata mode one file is new with each snapshot.
func fillWithTrees(ctx context.Context, w *datastore.SnapshotWriter, data []byte) error {
	for name, mode := range map[string]datastore.ChangeDetection{"old.pxar": datastore.ChangeDetectionLegacy, "root.pxar": datastore.ChangeDetectionMetadata} {
		tree := treeOf(data, 4, 1)
		tree["dir-1/now"] = memFile{data: []byte("new"), changed: int64(w.Snapshot().Time)}
		if _, err := addTree(ctx, w, name, tree, datastore.TreeOptions{ChangeDetection: mode, ChunkSize: 4 << 10}, &fileContents{}); err != nil {
			return err
		}
	}
	return nil
}

func (o operation) restore(ctx context.Context, store *datastore.Datastore, snapshot backupinfo.Snapshot, pipe *helperproc.IO) error {
	reader, err := store.OpenSnapshot(ctx, snapshot, datastore.ReadOptions{})
	if err != nil {
		return err
	}
	defer reader.Close()
	if err := o.hold(pipe); err != nil {
		return err
	}
	name, err := backupinfo.ParseArchiveName(testds.ImageName)
	if err != nil {
		return err
	}
	archive, err := reader.OpenArchive(ctx, name)
	if err != nil {
		return err
	}
	defer archive.Close()
	_, err = archive.CopyTo(ctx, io.Discard, datastore.RestoreOptions{})
	return err
}

package datastore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/helperproc"
)

// step is one thing that happens in the life of a store. It can be written down as
// text, for a process that is killed in the middle of it, and for a plain test.
type step struct {
	Do        string          // see run
	NS, Group string          // such as "a/b" and "vm/1"
	Time      backupinfo.Time // of the snapshot; 0 means the group
	Data      string          // the contents of a new snapshot, one digit each
	Keep      backupinfo.KeepOptions
	Text      string // notes, a reason, an owner, a namespace to move to
	Until     backupinfo.Time
	Flag      bool   // commit, keep what is protected, only what has expired, at once
	Disk      string // what happens to the disk, as package fsoptest writes it; empty is nothing
}

func (s step) String() string {
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// contents is how many different ones snapshots have, each one chunk.
const contents = 7

func storedContent(digit byte) []byte {
	return bytes.Repeat([]byte{'a' + digit, digit, 'x'}, 700+100*int(digit-'0'))
}

func contentDigest(digit byte) digest.Digest { return digest.Of(storedContent(digit)) }

func (s step) group() backupinfo.Group {
	ns, err := backupinfo.ParseNamespace(s.NS)
	if err != nil {
		panic(err) // a mistake of this test
	}
	group, err := backupinfo.ParseGroup(ns, s.Group)
	if err != nil {
		panic(err) // a mistake of this test
	}
	return group
}

func (s step) snapshot() backupinfo.Snapshot {
	return backupinfo.Snapshot{Group: s.group(), Time: s.Time}
}

func (s step) object() backupinfo.Object {
	return backupinfo.Object{Group: s.group(), Time: s.Time, IsSnapshot: s.Time != 0}
}

// run does it.
func (s step) run(ctx context.Context, dir string, disk *fsop.Disk) error {
	store, err := datastore.Open(dir, datastore.Options{OnlyHost: true, Disk: disk})
	if err != nil {
		return err
	}
	switch s.Do {
	case "backup":
		return s.backUp(ctx, store)
	case "remove-snapshot":
		_, err = store.RemoveSnapshot(ctx, s.snapshot(), datastore.RemoveOptions{})
	case "remove-group":
		_, err = store.RemoveGroup(ctx, s.group(), datastore.RemoveGroupOptions{KeepProtected: s.Flag})
	case "prune":
		_, err = store.Prune(ctx, s.group(), datastore.PruneOptions{Keep: s.Keep})
	case "protect":
		_, err = store.Protect(ctx, s.snapshot(), datastore.ProtectOptions{Until: s.Until, Reason: s.Text})
	case "unprotect":
		_, err = store.Unprotect(ctx, s.snapshot(), datastore.UnprotectOptions{OnlyExpired: s.Flag})
	case "notes":
		err = store.SetNotes(ctx, s.object(), s.Text)
	case "change-owner":
		err = store.ChangeOwner(ctx, s.group(), backupinfo.AuthID(s.Text), datastore.ChangeOwnerOptions{})
	case "verify":
		_, err = store.Verify(ctx, datastore.VerifyOptions{Depth: -1})
	case "collect":
		_, err = store.Collect(ctx, s.collectOptions())
	case "move-group", "merge-group":
		_, err = store.MoveGroup(ctx, s.group(), namespace(s.Text), datastore.MoveOptions{Merge: s.Do == "merge-group"})
	case "move-namespace":
		_, err = store.MoveNamespace(ctx, namespace(s.NS), namespace(s.Text), datastore.MoveNamespaceOptions{})
	case "create-namespace":
		err = store.CreateNamespace(ctx, namespace(s.NS), datastore.CreateNamespaceOptions{Parents: s.Flag})
	case "remove-namespace":
		_, err = store.RemoveNamespace(ctx, namespace(s.NS), datastore.RemoveNamespaceOptions{DeleteGroups: s.Flag})
	case "damage":
		err = s.damage(dir)
	default:
		err = fmt.Errorf("no step %q", s.Do)
	}
	return err
}

func (s step) collectOptions() datastore.CollectOptions {
	if s.Flag {
		return nothing
	}
	return datastore.CollectOptions{Now: later(time.Hour)}
}

func (s step) backUp(ctx context.Context, store *datastore.Datastore) error {
	w, err := store.Backup(ctx, s.group(), datastore.BackupOptions{Time: s.Time, Owner: backupinfo.AuthID(s.Text)})
	if err != nil {
		return err
	}
	for _, digit := range []byte(s.Data) {
		content := storedContent(digit)
		name := mustArchive("disk" + string(digit) + ".img")
		if _, err := w.AddImage(ctx, name, bytes.NewReader(content), int64(len(content))); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	if s.Flag {
		_, err = w.Commit(ctx)
	}
	return errors.Join(err, w.Close())
}

// damage spoils the chunk of one content, in a way that the text names.
func (s step) damage(dir string) error {
	name := contentDigest(s.Data[0]).String()
	file := filepath.Join(dir, ".chunks", name[:4], name)
	switch s.Text {
	case "flip":
		return flip(file)
	case "cut":
		return os.Truncate(file, 20)
	case "empty":
		return os.Truncate(file, 0)
	}
	return os.Remove(file)
}

// historyStep runs one step in a process of its own.
func historyStep(ctx context.Context, args []string, pipe *helperproc.IO) error {
	var s step
	if err := json.NewDecoder(strings.NewReader(args[1])).Decode(&s); err != nil {
		return err
	}
	script, err := fsoptest.Parse(s.Disk, nil, nil)
	if err == nil {
		err = s.run(ctx, args[0], script.Disk())
	}
	pipe.Say(fmt.Sprint("ended: ", err))
	return nil
}

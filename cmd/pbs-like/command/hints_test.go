package command

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/blob"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/storelock"
)

func TestRefusalsNameTheFlagThatHelps(t *testing.T) {
	t.Parallel()
	tests := []struct {
		words  string
		err    error
		waited bool
		want   string // empty: no hint
	}{
		{"restore vm/1 a.img out", datastore.ErrExists, false, "--overwrite"},
		{"restore vm/1 a.pxar b/out", &fs.PathError{Op: "mkdir", Path: "b/out", Err: fs.ErrNotExist}, false, "directory above it"},
		{"restore vm/1 a.pxar out", &fs.PathError{Op: "open", Path: "k.json", Err: fs.ErrNotExist}, false, ""},
		{"mount mnt vm/1", blob.ErrNeedKey, false, "--keyfile"},
		{"backup a.img:b", datastore.ErrExists, false, ""},
		{"backup a.img:b", datastore.ErrNotOwner, false, "--owner"},
		{"backup a.img:b", &datastore.NotFoundError{Kind: "namespace", Name: "a"}, false, "namespace create"},
		{"backup a.img:b", &datastore.NotFoundError{Kind: "snapshot", Name: "a"}, false, ""},
		{"list", &datastore.NotFoundError{Kind: "namespace", Name: "a"}, false, ""},
		{"remove-group vm/1", flock.ErrLocked, false, "--lock-wait"},
		{"remove-group vm/1", flock.ErrLocked, true, ""},
		{"snapshot forget vm/1", fmt.Errorf("x%w", errPresumablyInUse), false, "--force"},
		{"backup a.img:b", datastore.ErrSharedStore, false, "--i-am-the-only-host"},
		{"with-lock true", &storelock.LockedError{Holders: []storelock.Info{{Err: storelock.ErrTooLarge}}}, false, "locking break --force"},
		{"with-lock true", &storelock.LockedError{Holders: []storelock.Info{{}}}, false, ""},
	}
	for _, test := range tests {
		p := newProgram(Streams{Out: io.Discard, Err: io.Discard})
		app := p.app()
		p.line, _ = newWords(app.Commands, app.Flags).sort(strings.Fields(test.words))
		p.settings.waited = test.waited
		hint, found := strings.CutPrefix(p.hinted(test.err), test.err.Error())
		if !found || !strings.Contains(hint, test.want) || test.want == "" && hint != "" {
			t.Errorf("%s: %v: hint %q, want %q", test.words, test.err, hint, test.want)
		}
	}
}

func TestWhatIsNotThereYetIsNotThere(t *testing.T) {
	t.Parallel()
	for command := range commandsToCome() {
		if _, err := sorted(t, strings.Fields(command)...); err == nil || !strings.Contains(err.Error(), "no command") {
			t.Errorf("command %q exists, and its line in commandsToCome is not deleted: %v", command, err)
		}
	}
	for flag := range flagsToCome() {
		if _, err := sorted(t, "list", "--"+flag); err == nil || !strings.Contains(err.Error(), "no flag") {
			t.Errorf("flag --%s exists, and its line in flagsToCome is not deleted: %v", flag, err)
		}
	}
}

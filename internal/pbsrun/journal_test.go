package pbsrun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/flock"
)

func TestMovesAreAppendedToTheJournal(t *testing.T) {
	t.Parallel()
	store, run := testStore(t)
	name := filepath.Join(run, "locks/STORE/move-journal")
	if err := store.AppendMoveJournal(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := store.AppendMoveJournal(t.Context(), []string{"/a/x.fidx", "/a/y.didx"}); err != nil {
		t.Fatal(err)
	}
	checkMade(t, name, unix.S_IFREG|0o660)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("/half of a li"); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if err := store.AppendMoveJournal(t.Context(), []string{"/b"}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "/a/x.fidx\n/a/y.didx\n/half of a li\n/b\n" {
		t.Errorf("%v: %q", err, text)
	}
	for _, bad := range []string{"relative", "/a\n/b", ""} {
		if err := store.AppendMoveJournal(t.Context(), []string{"/fine", bad}); err == nil {
			t.Errorf("%q is in the journal", bad)
		}
	}
}

func TestManyAppendAtOnce(t *testing.T) {
	t.Parallel()
	store, run := testStore(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 5 {
				line := fmt.Sprintf("/%d/%d/%s", i, j, strings.Repeat("x", 5000))
				if err := store.AppendMoveJournal(t.Context(), []string{line}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(filepath.Join(run, "locks/STORE/move-journal"))
	if lines := strings.Count(string(text), "\n"); err != nil || lines != 40 {
		t.Errorf("%v: %d lines", err, lines)
	}
}

func TestAJournalThatIsNoFileIsRefused(t *testing.T) {
	t.Parallel()
	store, _ := testStore(t)
	mustLock(t, store, LockName("move-journal", "vm/1"), flock.Shared)
	if err := store.AppendMoveJournal(t.Context(), []string{"/a"}); !errors.Is(err, unix.EISDIR) {
		t.Error(err)
	}
}

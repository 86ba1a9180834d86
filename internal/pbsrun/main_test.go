package pbsrun

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/helperproc"
)

func TestMain(m *testing.M) {
	helperproc.Main(m, map[string]helperproc.Role{
		"server lock": roleServerLock, "operate": roleOperate, "few inodes": roleFewInodes, "lock and remove": roleLockAndRemove,
	})
}

// testOwner is whom the tests' server runs as: somebody else than root where that can be.
func testOwner(t testing.TB) (uid, gid uint32) {
	t.Helper()
	if os.Geteuid() == 0 {
		return 34, 34
	}
	return uint32(os.Geteuid()), uint32(os.Getegid())
}

// testStore is a datastore "STORE" of a server whose run directory is not there yet.
func testStore(t testing.TB) (store *Store, run string) {
	t.Helper()
	uid, _ := testOwner(t)
	run = filepath.Join(t.TempDir(), "proxmox-backup")
	return storeAt(run, uid), run
}

func storeAt(run string, uid uint32) *Store {
	return &Store{
		Datastore: Datastore{Name: "STORE"},
		server:    New(Options{Etc: "/nonexistent", Run: run, User: strconv.FormatUint(uint64(uid), 10)}),
	}
}

// roleServerLock holds a lock as the server does it: of a file, made if it is not
// there, with a look at the inode afterwards.
func roleServerLock(_ context.Context, args []string, c *helperproc.IO) error {
	fd, err := unix.Open(args[0], unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o660)
	if err != nil {
		return err
	}
	how := unix.LOCK_EX
	if args[1] == "shared" {
		how = unix.LOCK_SH
	}
	if err := unix.Flock(fd, how|unix.LOCK_NB); err != nil {
		c.Say(err.Error())
		return nil
	}
	var own, now unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &own), unix.Stat(args[0], &now)); err != nil || own.Ino != now.Ino {
		c.Say("could not acquire lock")
		return nil //nolint:nilerr // it is said
	}
	c.Ready()
	_, err = c.Next()
	return err
}

// roleOperate is one operation of a process of ours until the input ends.
func roleOperate(ctx context.Context, args []string, c *helperproc.IO) error {
	uid, err := strconv.ParseUint(args[1], 10, 32)
	if err != nil {
		return err
	}
	entry, err := storeAt(args[0], uint32(uid)).Enter(ctx, Writing)
	if err != nil {
		return err
	}
	c.Ready()
	_, _ = c.Next() // the end of the input
	return entry.Close()
}

package flock

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkDirectoryLock compares taking and releasing a directory lock with the
// system calls that can't be done without. The first number is to stay below 1.3
// times the second.
func BenchmarkDirectoryLock(b *testing.B) {
	dir := newDir(b)
	parent, err := os.Open(dir + "/..")
	if err != nil {
		b.Fatal(err)
	}
	defer parent.Close()

	b.Run("guard", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g, err := TryExclusive(Ref{Name: dir})
			if err != nil {
				b.Fatal(err)
			}
			g.Close()
		}
	})
	b.Run("guard below a directory", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g, err := TryExclusive(Ref{Dir: parent, Name: "100"})
			if err != nil {
				b.Fatal(err)
			}
			g.Close()
		}
	})
	b.Run("system calls", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				b.Fatal(err)
			}
			var own, now unix.Stat_t
			for _, err := range []error{
				unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB), unix.Fstat(fd, &own), unix.Stat(dir, &now), unix.Close(fd),
			} {
				if err != nil {
					b.Fatal(err)
				}
			}
			if own.Ino != now.Ino || own.Dev != now.Dev {
				b.Fatal("changed")
			}
		}
	})
	b.Run("busy", func(b *testing.B) {
		must(b, TryExclusive, Ref{Name: dir})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := TryShared(Ref{Name: dir}); err == nil {
				b.Fatal("not busy")
			}
		}
	})
}

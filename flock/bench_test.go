package flock

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkDirectoryLock takes and releases the lock of a directory. The guards
// are compared with the system calls that can't be done without: open, flock,
// fstat, stat, close. "x-bare" is how many times those it takes, and is to stay
// below 1.3. The two take turns, so that other work on the machine hits both, and
// the fastest turn of each counts.
func BenchmarkDirectoryLock(b *testing.B) {
	dir := newDir(b)
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		b.Fatal(err)
	}
	defer parent.Close()
	path, below := Ref{Name: dir}, Ref{Dir: parent, Name: "100"}

	b.Run("exclusive, path", func(b *testing.B) {
		against(b, func() error { return bare(unix.AT_FDCWD, dir, 0) }, func() error {
			g, err := TryExclusive(path)
			if err != nil {
				return err
			}
			return g.Close()
		})
	})
	b.Run("shared, below a directory", func(b *testing.B) {
		against(b, func() error { return bare(int(parent.Fd()), "100", unix.AT_SYMLINK_NOFOLLOW) }, func() error {
			g, err := TryShared(below)
			if err != nil {
				return err
			}
			return g.Close()
		})
	})
}

func bare(dirfd int, name string, flags int) error {
	fd, err := unix.Openat(dirfd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	var own, now unix.Stat_t
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	if err := unix.Fstat(fd, &own); err != nil {
		return err
	}
	if err := unix.Fstatat(dirfd, name, &now, flags); err != nil {
		return err
	}
	if own.Ino != now.Ino || own.Dev != now.Dev {
		return ErrChanged
	}
	return unix.Close(fd)
}

func against(b *testing.B, bare, ours func() error) {
	b.Helper()
	const turn = 50
	fastest := func(old time.Duration, do func() error) time.Duration {
		start := time.Now()
		for range turn {
			if err := do(); err != nil {
				b.Fatal(err)
			}
		}
		return min(old, time.Since(start))
	}
	bareTime, ourTime := time.Hour, time.Hour
	n := 0
	for b.Loop() {
		if n++; n%turn == 0 { // else the time of the other would count as ours
			b.StopTimer()
			bareTime = fastest(bareTime, bare)
			ourTime = fastest(ourTime, ours)
			b.StartTimer()
		}
		if err := ours(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(ourTime)/float64(bareTime), "x-bare")
	b.ReportMetric(float64(bareTime.Nanoseconds())/turn, "bare-ns/op")
}

// BenchmarkBusy is what a refusal costs that names the holder: of a flock, which
// /proc/locks leads to, and of a record lock, for which all processes are read.
func BenchmarkBusy(b *testing.B) {
	for _, kind := range []string{"exclusive", "record exclusive"} {
		b.Run(kind, func(b *testing.B) {
			ref := Ref{Name: newFile(b)}
			must(b, take[kind], ref)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := take[kind](ref); err == nil {
					b.Fatal("not busy")
				}
			}
		})
	}
}

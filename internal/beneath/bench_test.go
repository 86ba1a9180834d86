package beneath

import (
	"testing"

	"golang.org/x/sys/unix"
)

func BenchmarkOpen(b *testing.B) {
	b.Chdir(b.TempDir())
	if err := unix.Mkdir("sub", 0o755); err != nil {
		b.Fatal(err)
	}
	fd, err := unix.Open(".", unix.O_RDONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(fd)
	for name, open := range map[string]func(int, string, int, uint32) (int, error){"kernel": openKernel, "walk": openWalk} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				got, err := open(fd, "sub", unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
				if err != nil {
					b.Fatal(err)
				}
				unix.Close(got)
			}
		})
	}
}

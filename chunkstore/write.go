package chunkstore

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/internal/fsop"
)

// tempSuffix and six characters follow the name of a chunk in that of the file in
// which one writer, and no other, prepares it.
const tempSuffix = ".tmp_"

func (in *insertion) write(dir *os.File, opts fsop.CommitOptions) error {
	f, err := in.disk.CreateTemp(dir, in.name.file()+tempSuffix, chunkMode)
	if err != nil {
		return err
	}
	if err := in.fill(f, in.stored); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit(in.name.file(), opts)
}

const (
	// directAlign suits every block size, and so every disk.
	directAlign = 4096
	// directMin is the smallest size for which writing past the page cache was
	// measured (ext4, with the sync in the end): half the time, a quarter of the
	// processor's. Below it nothing is known, and there is less to win.
	directMin = 512 << 10
)

// directPays reports whether writing past the page cache is to be tried on a file
// system. On ext4 it was measured; XFS is made for it, which is an assumption.
// Others refuse it, turn it into synchronous writes over a network, or lose
// compression and checksums by it.
func directPays(dir *os.File) bool {
	var st unix.Statfs_t
	err := withFD(dir, func(fd int) error {
		return again(func() error { return unix.Fstatfs(fd, &st) })
	})
	return err == nil && (st.Type == unix.EXT4_SUPER_MAGIC || st.Type == unix.XFS_SUPER_MAGIC)
}

// fill writes the content of a chunk: whole blocks past the page cache if that is
// possible, and the rest through it.
func (s *Store) fill(f *fsop.File, stored []byte) error {
	if !s.direct.Load() || len(stored) < directMin || !aligned(stored) {
		_, err := f.WriteAt(stored, 0)
		return err
	}
	blocks := len(stored) &^ (directAlign - 1)
	err := writeDirect(f, stored[:blocks])
	if errors.Is(err, unix.EINVAL) {
		// The disk wants a larger alignment, or the file is in a mode that knows
		// no such writes (encrypted, journaled).
		s.direct.Store(false)
		return s.fill(f, stored)
	}
	if err != nil || blocks == len(stored) {
		return err
	}
	_, err = f.WriteAt(stored[blocks:], int64(blocks))
	return err
}

func aligned(b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%directAlign == 0
}

func writeDirect(f *fsop.File, b []byte) error {
	if err := setDirect(f.File(), true); err != nil {
		return err
	}
	_, err := f.WriteAt(b, 0)
	return errors.Join(err, setDirect(f.File(), false))
}

// setDirect changes the mode of an open file. A file that was opened with O_DIRECT
// could not take the last bytes, which are no whole block.
func setDirect(f *os.File, on bool) error {
	return withFD(f, func(fd int) error {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			return err
		}
		flags &^= unix.O_DIRECT
		if on {
			flags |= unix.O_DIRECT
		}
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags)
		return err
	})
}

func withFD(f *os.File, call func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := conn.Control(func(fd uintptr) { result = call(int(fd)) }); err != nil {
		return err
	}
	return result
}

package filemeta

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/pxar"
)

// ApplyOptions are what is applied: the zero value is everything.
type ApplyOptions struct {
	// FileSystem is what the file is on; zero asks for it where that matters.
	FileSystem FileSystem
	// IgnoreOwner leaves out the owner and the group.
	IgnoreOwner bool
	// IgnoreXattrs leaves out extended attributes and capabilities.
	IgnoreXattrs bool
	// IgnoreACLs leaves out access lists.
	IgnoreACLs bool
	// IgnoreMode leaves out the permissions, so that the caller's stay, and the access lists with them.
	IgnoreMode bool
	// IgnoreFlags leaves out the flags, which [ApplyFlags] sets when the file has its name: some keep it from getting one.
	IgnoreFlags bool
}

// Apply gives metadata to what the descriptor is of. That is a regular file or a directory, opened for reading or writing, or
// anything else, opened with O_PATH; symbolic links get an owner and a time only. Each step that
// did not succeed is an error, and the others are taken all the same.
func Apply(fd int, m *pxar.Metadata, opts ApplyOptions) []*Error {
	a := application{fd: fd, m: m, opts: opts}
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return []*Error{{Step: StepOwner, Err: err}}
	}
	a.kind = st.Mode & unix.S_IFMT
	a.owner(&st)
	if a.kind == unix.S_IFREG || a.kind == unix.S_IFDIR {
		a.xattrs()
		a.quota()
	}
	if a.kind != unix.S_IFLNK {
		a.lists()
		a.mode()
	}
	a.time()
	if a.kind == unix.S_IFREG || a.kind == unix.S_IFDIR {
		a.flags()
	}
	return a.failed
}

// ApplyFlags is the last step of [Apply], for a regular file or a directory.
func ApplyFlags(fd int, m *pxar.Metadata, system FileSystem) []*Error {
	a := application{fd: fd, m: m, opts: ApplyOptions{FileSystem: system}}
	a.flags()
	return a.failed
}

// Loosen takes the flags away that keep a file from getting another name.
func Loosen(fd int) error {
	value, err := getFlags(fd, unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	return again(func() error {
		return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(value&^(flagAppend|flagImmutable)))
	})
}

// ApplyEarly sets those flags of an empty file that say how its content is kept, such as compression. [Apply] sets them again, and
// says so if that fails.
func ApplyEarly(fd int, m *pxar.Metadata) {
	if m.Flags != 0 {
		_ = addFlags(fd, unix.FS_IOC_GETFLAGS, unix.FS_IOC_SETFLAGS, chattrBits[:], m.Flags, early)
	}
}

type application struct {
	fd     int
	m      *pxar.Metadata
	opts   ApplyOptions
	kind   uint32
	failed []*Error

	uid, gid uint32 // what the file has now
}

func (a *application) fail(step Step, detail string, err error) {
	if err != nil {
		a.failed = append(a.failed, &Error{step, detail, err})
	}
}

func (a *application) owner(st *unix.Stat_t) {
	a.uid, a.gid = st.Uid, st.Gid
	if a.opts.IgnoreOwner || a.uid == a.m.UID && a.gid == a.m.GID {
		return
	}
	if a.m.UID == noID || a.m.GID == noID { // which would mean that it stays as it is
		a.fail(StepOwner, fmt.Sprintf("%d:%d", a.m.UID, a.m.GID), ErrValue)
		return
	}
	err := a.chown(a.m.UID, a.m.GID)
	if err == unix.EPERM && a.gid != a.m.GID && a.chown(noID, a.m.GID) == nil { // one of one's own groups, at least
		a.gid = a.m.GID
		if a.uid == a.m.UID {
			return
		}
	}
	if err != nil {
		a.fail(StepOwner, fmt.Sprintf("%d:%d", a.m.UID, a.m.GID), err)
		return
	}
	a.uid, a.gid = a.m.UID, a.m.GID
}

func (a *application) chown(uid, gid uint32) error {
	return again(func() error { return unix.Fchownat(a.fd, "", int(int32(uid)), int(int32(gid)), unix.AT_EMPTY_PATH) })
}

func (a *application) xattrs() {
	if a.opts.IgnoreXattrs {
		return
	}
	for _, x := range a.m.Xattrs {
		var err error
		if isStored(x.Name) && len(x.Name) <= maxXattrName && !strings.Contains(x.Name, "\x00") {
			err = setXattr(a.fd, x.Name, x.Value)
		} else {
			err = ErrValue // what the archive should not have, and what might be an access list by another way
		}
		a.fail(StepXattr, fmt.Sprintf("%q", x.Name), err)
	}
	if a.m.FCaps != nil {
		a.fail(StepCapabilities, "", setXattr(a.fd, xattrFCaps, a.m.FCaps))
	}
}

// lists sets the access lists, and takes away those that a new file got from the default list of its directory.
func (a *application) lists() {
	if a.opts.IgnoreACLs || a.opts.IgnoreMode {
		return
	}
	if len(a.m.ACL.Users)+len(a.m.ACL.Groups) > 0 || a.m.ACL.GroupObj != nil {
		a.fail(StepACL, "", setXattr(a.fd, xattrAccess, accessOf(a.m).value()))
	} else {
		a.fail(StepACL, "", removeXattr(a.fd, xattrAccess))
	}
	switch {
	case a.m.ACL.Default != nil && a.kind == unix.S_IFDIR:
		a.fail(StepACL, "default", setXattr(a.fd, xattrDefault, defaultOf(&a.m.ACL).value()))
	case a.kind == unix.S_IFDIR:
		a.fail(StepACL, "default", removeXattr(a.fd, xattrDefault))
	case a.m.ACL.Default != nil:
		a.fail(StepACL, "default", unix.ENOTDIR)
	}
}

func (a *application) quota() {
	if a.m.QuotaProject != nil {
		a.fail(StepQuota, fmt.Sprintf("project %d", *a.m.QuotaProject), setProject(a.fd, *a.m.QuotaProject))
	}
}

const (
	permissionsMask = 0o7777
	setUID          = 0o4000
	setGID          = 0o2000
)

func (a *application) mode() {
	if a.opts.IgnoreMode {
		return
	}
	mode := uint32(a.m.Mode & permissionsMask)
	if a.m.Mode&^(unix.S_IFMT|permissionsMask) != 0 {
		a.fail(StepMode, fmt.Sprintf("%#o", a.m.Mode), ErrValue)
	}
	if foreign := a.foreign(mode); foreign != 0 {
		a.fail(StepMode, fmt.Sprintf("%#o", foreign), ErrForeign)
		mode &^= foreign
	}
	a.fail(StepMode, "", byDescriptor(a.fd,
		func(fd int) error { return unix.Fchmod(fd, mode) },
		func(path string) error { return unix.Chmod(path, mode) }))
}

// foreign are the bits that would give a program the rights of somebody whom the archive does not name.
func (a *application) foreign(mode uint32) (bits uint32) {
	if a.kind == unix.S_IFDIR { // there they say something else
		return 0
	}
	if a.uid != a.m.UID {
		bits = setUID
	}
	if a.gid != a.m.GID {
		bits |= setGID
	}
	return mode & bits
}

func (a *application) time() {
	if a.m.Nanoseconds >= 1e9 { // some of these values are commands
		a.fail(StepTime, fmt.Sprintf("%d ns", a.m.Nanoseconds), ErrValue)
		return
	}
	modified, err := unix.TimeToTimespec(a.m.ModTime())
	if err != nil { // 32 bits for the seconds
		a.fail(StepTime, "", err)
		return
	}
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, modified}
	err = again(func() error { return unix.UtimesNanoAt(a.fd, "", times, unix.AT_EMPTY_PATH) })
	if err == unix.EINVAL || err == unix.ENOENT { // before Linux 5.8
		err = again(func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, procPath(a.fd), times, 0) })
	}
	a.fail(StepTime, "", err)
}

func (a *application) flags() {
	if a.m.Flags == 0 || a.opts.IgnoreFlags {
		return
	}
	err := addFlags(a.fd, unix.FS_IOC_GETFLAGS, unix.FS_IOC_SETFLAGS, chattrBits[:], a.m.Flags, early, last)
	a.fail(StepFlags, "", unlessUnsupported(err))
	system, err := a.opts.FileSystem.known(a.fd)
	if err == nil && system.hasFATAttributes() {
		err = addFlags(a.fd, fatGet, fatSet, fatBits[:], a.m.Flags, last)
	}
	a.fail(StepFlags, "of FAT", unlessUnsupported(err))
}

// unlessUnsupported passes over flags that a file system does not have, as the original does: they say how to keep a file, not what it is.
func unlessUnsupported(err error) error {
	if errors.Is(err, errUnsupported) {
		return nil
	}
	return err
}

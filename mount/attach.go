package mount

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	device = "/dev/fuse"
	helper = "fusermount3"
	// maxRead is the largest read that the kernel sends.
	maxRead = 1 << 20
)

// attach mounts, with the system call where that is allowed, and else with the help of fusermount3. The
// descriptor is the kernel's end of the file system.
func attach(point, source string, opts Options) (fd int, err error) {
	fd, err = attachDirect(point, source, opts)
	if err == nil || !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) {
		return fd, noFUSE(err)
	}
	if _, err := os.Stat(device); err != nil {
		return -1, noFUSE(err)
	}
	return attachHelped(point, source, opts)
}

func noFUSE(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("%w (is the kernel module fuse loaded, and %s there?): %w", ErrNoFUSE, device, err)
	}
	return err
}

func attachDirect(point, source string, opts Options) (fd int, err error) {
	fd, err = unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: device, Err: err}
	}
	data := []string{
		fmt.Sprintf("fd=%d", fd), fmt.Sprintf("rootmode=%o", unix.S_IFDIR), fmt.Sprintf("user_id=%d", os.Geteuid()),
		fmt.Sprintf("group_id=%d", os.Getegid()), fmt.Sprintf("max_read=%d", maxRead),
	}
	flags := uintptr(unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV)
	if err := unix.Mount(source, point, fsType, flags, strings.Join(append(data, sharing(opts)...), ",")); err != nil {
		return -1, errors.Join(&fs.PathError{Op: "mount", Path: point, Err: err}, unix.Close(fd))
	}
	return fd, nil
}

// sharing lets others in, with the kernel's checks. Without it there is only the user who could read the store anyhow:
// what an archive denied to other users is not denied to that one.
func sharing(opts Options) []string {
	if opts.AllowOther {
		return []string{"allow_other", "default_permissions"}
	}
	return nil
}

// attachHelped has the set-user-ID program mount, which sends the descriptor over a socket.
func attachHelped(point, source string, opts Options) (fd int, err error) {
	program, err := exec.LookPath(helper)
	if err != nil {
		return -1, fmt.Errorf("%w by this user without %s (package fuse3): %w", ErrNoFUSE, helper, err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "socket")
	defer ours.Close()
	escaped := strings.NewReplacer(`\`, `\\`, `,`, `\,`).Replace(source)
	options := append([]string{
		"ro", "nosuid", "nodev", "subtype=" + subtype, "fsname=" + escaped, fmt.Sprintf("max_read=%d", maxRead),
	}, sharing(opts)...)
	var said bytes.Buffer
	cmd := exec.Command(program, "-o", strings.Join(options, ","), "--", point)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Env = append(os.Environ(), "_FUSE_COMMFD=3")
	err = cmd.Run()
	theirs.Close()
	if err != nil {
		return -1, fmt.Errorf("%s (%w)", strings.TrimSpace(said.String()), err)
	}
	return receive(int(ours.Fd()))
}

// receive takes a descriptor from a socket.
func receive(socket int) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("recvmsg", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return -1, fmt.Errorf("%s sent no descriptor: %w", helper, errors.Join(err, unix.EPROTO))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, fmt.Errorf("%s sent no descriptor: %w", helper, errors.Join(err, unix.EPROTO))
	}
	return fds[0], nil
}

// unmount takes a mount away that nobody uses.
func unmount(point string) error {
	err := unix.Unmount(point, unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EPERM) {
		err = unmountHelped(point, "-u")
	}
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("%q is %w", point, ErrBusy)
	}
	if err != nil {
		return &fs.PathError{Op: "unmount", Path: point, Err: err}
	}
	return nil
}

// detach takes a mount out of the tree at once. Who has something open in it keeps that.
func detach(point string) error {
	err := unix.Unmount(point, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH)
	if errors.Is(err, unix.EPERM) {
		err = unmountHelped(point, "-uz")
	}
	if err != nil {
		return &fs.PathError{Op: "detach", Path: point, Err: err}
	}
	return nil
}

func unmountHelped(point, how string) error {
	program, err := exec.LookPath(helper)
	if err != nil {
		return err
	}
	cmd := exec.Command(program, how, "--", point)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	said, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(said))
	switch {
	case err == nil:
		return nil
	case strings.HasSuffix(text, unix.EBUSY.Error()), strings.HasSuffix(strings.ToLower(text), "device or resource busy"):
		return unix.EBUSY
	}
	return fmt.Errorf("%s (%w)", text, err)
}

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/keys"
)

const (
	flagKeyfile   = "keyfile"
	flagKeyFD     = "keyfd"
	flagCryptMode = "crypt-mode"
	flagMaster    = "master-pubkey-file"
	flagMasterFD  = "master-pubkey-fd"
)

func keyFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagKeyfile, Usage: "the `FILE` of the encryption key, see \"key create\"", TakesFile: true},
		&cli.IntFlag{Name: flagKeyFD, DefaultText: "none", Value: -1, Usage: "read the key file from an open file `DESCRIPTOR`, such as 3"},
	}
}

// keyFileOf reads the key file that was asked for; nil when none was.
func keyFileOf(c *cli.Context) (*keys.File, error) {
	text, err := fileOrFD(c, flagKeyfile, flagKeyFD, keys.MaxFileSize)
	if err != nil || text == nil {
		return nil, err
	}
	return parseKeyFile(text, "--"+flagKeyfile)
}

// parseKeyFile reads a key file. Its errors never show what is in it.
func parseKeyFile(text []byte, name string) (*keys.File, error) {
	file, err := keys.ParseFile(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return file, nil
}

// keyOf gives the key that was asked for, ready for use; nil when none was.
func (p *program) keyOf(c *cli.Context) (*keys.Key, error) {
	file, err := keyFileOf(c)
	if err != nil || file == nil {
		return nil, err
	}
	return p.unlock(c.Context, file)
}

// keyToRead gives the key for reading a snapshot. Without one asked for, the key in
// the place where proxmox-backup-client keeps its own serves, if the snapshot was made with it.
func (p *program) keyToRead(c *cli.Context, ds *datastore.Datastore, snapshot backupinfo.Snapshot) (*keys.Key, error) {
	if key, err := p.keyOf(c); key != nil || err != nil {
		return key, err
	}
	file, path, err := defaultKeyFile()
	if err != nil || file == nil {
		return nil, nil //nolint:nilerr // it was not asked for: without it, what is encrypted is refused
	}
	info, err := ds.Snapshot(c.Context, snapshot)
	own, named := file.Fingerprint()
	if err != nil || !named || info.Fingerprint != backupinfo.Fingerprint(own).String() {
		return nil, nil //nolint:nilerr // opening the snapshot says what is wrong with it
	}
	p.log.Info().Msg(fmt.Sprintf("using the default key %q", path))
	return p.unlock(c.Context, file)
}

// defaultKeyDir is where proxmox-backup-client keeps keys that are used unasked.
func defaultKeyDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "proxmox-backup"), nil
}

// defaultKeyFile reads the default key; nil where there is none.
func defaultKeyFile() (*keys.File, string, error) {
	text, path, err := defaultFile("encryption-key.json", keys.MaxFileSize)
	if err != nil || text == nil {
		return nil, path, err
	}
	file, err := parseKeyFile(text, fmt.Sprintf("default key %q", path))
	return file, path, err
}

func defaultFile(name string, limit int) (text []byte, path string, err error) {
	dir, err := defaultKeyDir()
	if err != nil {
		return nil, "", nil //nolint:nilerr // nobody's configuration holds no keys
	}
	path = filepath.Join(dir, name)
	text, err = readSmall(path, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, nil
	}
	return text, path, err
}

// unlock asks for the passphrase where the key file needs one.
func (p *program) unlock(ctx context.Context, file *keys.File) (*keys.Key, error) {
	if !file.NeedsPassphrase() {
		return file.Unlock(nil)
	}
	passphrase, err := p.passphrase(ctx, envPassphrase, passphrasePrompt(file))
	if err != nil {
		return nil, err
	}
	return unlockWith(file, passphrase)
}

// unlockWith adds the hint that is kept with the key.
func unlockWith(file *keys.File, passphrase []byte) (*keys.Key, error) {
	key, err := file.Unlock(passphrase)
	if errors.Is(err, keys.ErrWrongPassphrase) && file.Hint() != "" {
		return nil, fmt.Errorf("%s: %w (hint: %q)", file, err, file.Hint())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}

func passphrasePrompt(file *keys.File) string {
	if file.Hint() != "" {
		return fmt.Sprintf("Passphrase of the %s, hint %q: ", file, file.Hint())
	}
	return fmt.Sprintf("Passphrase of the %s: ", file)
}

// fileOrFD reads what one of two flags names; nil when neither was given.
func fileOrFD(c *cli.Context, file, fd string, limit int) ([]byte, error) {
	switch {
	case c.IsSet(file) && c.IsSet(fd):
		return nil, usageErrorf("--%s and --%s exclude each other", file, fd)
	case c.IsSet(file):
		return readSmall(c.String(file), limit)
	case c.IsSet(fd):
		text, err := readFD(c.Context, c.Int(fd), limit)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", fd, err)
		}
		return text, nil
	}
	return nil, nil
}

// readSmall reads a file that should be small, and never gives nil without an error.
func readSmall(path string, limit int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, limit)
}

// readAtMost gives one byte more of what is too long, which whoever parses it then refuses.
func readAtMost(r io.Reader, limit int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if text == nil && err == nil {
		text = []byte{}
	}
	return text, err
}

// readFD reads from a descriptor that the parent process has handed over.
func readFD(ctx context.Context, fd, limit int) ([]byte, error) {
	// Whatever this process opened itself is closed on exec: a number that merely
	// happens to be in use here is told by that.
	flags, err := unix.FcntlInt(uintptr(max(fd, 0)), unix.F_GETFD, 0)
	if err != nil || fd < 0 || flags&unix.FD_CLOEXEC != 0 {
		return nil, usageErrorf("file descriptor %d is not open", fd)
	}
	f := os.NewFile(uintptr(fd), fmt.Sprintf("file descriptor %d", fd))
	defer f.Close()
	flow, err := newFlowReader(ctx, f)
	if err != nil {
		return nil, err
	}
	defer flow.Close() //nolint:errcheck // it only ends the watch over the context
	return readAtMost(flow, limit)
}

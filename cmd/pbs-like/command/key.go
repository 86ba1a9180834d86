package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/keys"
)

const (
	flagKDF  = "kdf"
	flagHint = "hint"

	keyFileMode = 0o600
)

func (p *program) keyCommand() *cli.Command {
	const args = "[FILE]"
	return &cli.Command{
		Name:  "key",
		Usage: "make and show the key files of encrypted backups",
		Subcommands: []*cli.Command{
			{
				Name:      "create",
				Usage:     "make a new key",
				ArgsUsage: args,
				Description: "Makes a random key in the new file FILE, which only its owner may read. Without the key nobody can\n" +
					"restore what it encrypts: keep a copy elsewhere, and the passphrase too. The passphrase is asked for,\n" +
					"or taken from " + envNewPassphrase + ", " + envPassphrase + ", or where these with the\n" +
					"ending _FILE, _FD or _CMD say. " + defaultKeyText,
				Flags:  kdfFlags(),
				Action: withArgs(args, p.createKey),
			}, {
				Name:        "show",
				Usage:       "show a key's fingerprint and how its file is protected",
				ArgsUsage:   args,
				Description: "Shows nothing secret, and needs no passphrase. " + defaultKeyText,
				Flags:       []cli.Flag{formatFlag()},
				Action:      withArgs(args, p.showKey),
			}, {
				Name:      "change-passphrase",
				Usage:     "protect a key by another passphrase, or by none",
				ArgsUsage: args,
				Description: "Replaces the file at once and whole. The key stays what it is, and so do all backups; so do copies of\n" +
					"the old file, with their passphrase. The old passphrase is asked for, or taken from\n" +
					envPassphrase + ", the new one from " + envNewPassphrase + ", or where\n" +
					"these with the ending _FILE, _FD or _CMD say. " + defaultKeyText,
				Flags:  kdfFlags(),
				Action: withArgs(args, p.changePassphrase),
			},
		},
	}
}

const defaultKeyText = "Without FILE it is the default key.\n\n" +
	"The default key is the one that proxmox-backup-client uses unasked: proxmox-backup/encryption-key.json in\n" +
	"the user's configuration directory, which is $XDG_CONFIG_HOME or ~/.config."

func kdfFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: flagKDF, Value: string(keys.Scrypt),
			Usage: "how the passphrase protects the key, `KDF`: scrypt, pbkdf2, or none for no passphrase at all",
		},
		&cli.StringFlag{Name: flagHint, Usage: "`TEXT` that helps you, and anybody else, to remember the passphrase"},
	}
}

func kdfOptions(c *cli.Context) (keys.FileOptions, error) {
	kdf, err := keys.ParseKDF(c.String(flagKDF))
	if err == nil && kdf == keys.None && c.String(flagHint) != "" {
		err = fmt.Errorf("--%s without a passphrase", flagHint)
	}
	return keys.FileOptions{KDF: kdf, Hint: c.String(flagHint)}, asUsage(err)
}

func (p *program) createKey(c *cli.Context) error {
	opts, err := kdfOptions(c)
	if err != nil {
		return err
	}
	path, err := keyPath(c, true)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%q: %w; a key that is lost takes all its backups along, so it is never replaced", path, fs.ErrExist)
	}
	key, err := keys.Generate()
	if err != nil {
		return err
	}
	passphrase, err := p.passphraseToSet(c, opts)
	if err != nil {
		return err
	}
	file, err := keys.NewFile(key, passphrase, opts)
	if err != nil {
		return err
	}
	if err := writeKey(&fsop.Disk{}, file, path, fsop.CommitOptions{NoReplace: true, Sync: true, SyncDir: true}); err != nil {
		return err
	}
	return p.summary(fmt.Sprintf("new key %s in %q", backupinfo.Fingerprint(key.Fingerprint()).Short(), path))
}

// passphraseToSet is the passphrase of a key file that is being made.
func (p *program) passphraseToSet(c *cli.Context, opts keys.FileOptions) ([]byte, error) {
	if opts.KDF == keys.None {
		return nil, nil
	}
	env := envNewPassphrase
	if c.Command.Name == "create" && !hasPassphraseEnv(env) && hasPassphraseEnv(envPassphrase) {
		env = envPassphrase
	}
	return p.newPassphrase(c.Context, env, "New passphrase: ")
}

func hasPassphraseEnv(env string) bool {
	for _, end := range []string{"", endFD, endFile, endCommand} {
		if _, set := os.LookupEnv(env + end); set {
			return true
		}
	}
	return false
}

func (p *program) changePassphrase(c *cli.Context) error {
	opts, err := kdfOptions(c)
	if err != nil {
		return err
	}
	path, err := keyPath(c, false)
	if err != nil {
		return err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil { // the file is replaced, not the link to it
		return err
	}
	old, err := readKey(path)
	if err != nil {
		return err
	}
	var before []byte
	if old.NeedsPassphrase() {
		if before, err = p.passphrase(c.Context, envPassphrase, passphrasePrompt(old)); err != nil {
			return err
		}
		if _, err := unlockWith(old, before); err != nil { // before the new one is typed
			return err
		}
	}
	after, err := p.passphraseToSet(c, opts)
	if err != nil {
		return err
	}
	changed, err := old.ChangePassphrase(before, after, opts)
	if err != nil {
		return err
	}
	if err := writeKey(&fsop.Disk{Owner: ownerOf(path)}, changed, path, fsop.CommitOptions{Sync: true, SyncDir: true}); err != nil {
		return err
	}
	return p.summary(fmt.Sprintf("%s in %q", changed, path))
}

// keyPath is the file that was named, or that of the default key, whose directory is made if need be.
func keyPath(c *cli.Context, create bool) (string, error) {
	if c.NArg() > 0 {
		if c.Args().First() == "" {
			return "", usageErrorf("the name of the key file is empty")
		}
		return c.Args().First(), nil
	}
	dir, err := defaultKeyDir()
	if err != nil {
		return "", usageErrorf("no key file is named, and there is no place for a default one: %w", err)
	}
	if create {
		err = os.MkdirAll(dir, 0o700)
	}
	return filepath.Join(dir, "encryption-key.json"), err
}

func readKey(path string) (*keys.File, error) {
	text, err := readSmall(path, keys.MaxFileSize)
	if err != nil {
		return nil, err
	}
	return parseKeyFile(text, fmt.Sprintf("%q", path))
}

// ownerOf is whose a file stays that root replaces, nil where that is not to be decided.
func ownerOf(path string) *fsop.Owner {
	var st unix.Stat_t
	if os.Geteuid() != 0 || unix.Stat(path, &st) != nil {
		return nil
	}
	return &fsop.Owner{UID: int(st.Uid), GID: int(st.Gid)}
}

// writeKey writes a key file that is there whole or not at all, and that only its owner can read.
func writeKey(disk *fsop.Disk, key *keys.File, path string, opts fsop.CommitOptions) error {
	text, err := key.Marshal()
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	file, err := disk.CreateTemp(dir, "."+filepath.Base(path)+".tmp_", keyFileMode)
	if err != nil {
		return err
	}
	if _, err := file.Write(text); err != nil {
		return errors.Join(err, file.Discard())
	}
	return file.Commit(filepath.Base(path), opts)
}

// keyJSON has the keys of the original.
type keyJSON struct {
	Created     int64    `json:"created"`
	Fingerprint string   `json:"fingerprint,omitempty"`
	Hint        string   `json:"hint,omitempty"`
	KDF         keys.KDF `json:"kdf"`
	Modified    int64    `json:"modified"`
	Path        string   `json:"path"`
}

func (p *program) showKey(c *cli.Context) error {
	format, err := outputFormatOf(c)
	if err != nil {
		return err
	}
	path, err := keyPath(c, false)
	if err != nil {
		return err
	}
	file, err := readKey(path)
	if err != nil {
		return err
	}
	fingerprint := ""
	if own, named := file.Fingerprint(); named {
		fingerprint = backupinfo.Fingerprint(own).String()
	}
	if format != formatText {
		return writeJSON(p.out, keyJSON{
			file.Created().Unix(), fingerprint, file.Hint(), file.KDF(), file.Modified().Unix(), path,
		}, format == formatJSONPretty)
	}
	for _, line := range [][2]string{
		{"file", path},
		{"kdf", string(file.KDF())},
		{"created", file.Created().Format(time.RFC3339)},
		{"modified", file.Modified().Format(time.RFC3339)},
		{"fingerprint", fingerprint},
		{"hint", file.Hint()},
	} {
		if line[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(p.out, "%-12s %s\n", line[0]+":", printable(line[1])); err != nil {
			return err
		}
	}
	return nil
}

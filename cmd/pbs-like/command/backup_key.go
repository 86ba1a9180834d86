package command

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/keys"
)

func cryptFlags() []cli.Flag {
	return append(keyFlags(),
		&cli.StringFlag{
			Name: flagCryptMode, DefaultText: "encrypt with a key, else none",
			Usage: "`MODE`: encrypt; sign-only, which leaves the data readable and makes changes show; or none",
		},
		&cli.StringFlag{
			Name: flagMaster, TakesFile: true,
			Usage: "the `FILE` of a public master key (RSA, PEM), for whose owner a copy of the key is kept with the backup",
		},
		&cli.IntFlag{Name: flagMasterFD, DefaultText: "none", Value: -1, Usage: "read the public master key from an open file `DESCRIPTOR`"},
	)
}

// protect sets how a backup is encrypted or signed. Like the original it uses the
// default key where there is one and nothing else was said, for those who set that
// up count on it; what it can't use of that is an error, and never a plain backup.
func (p *program) protectBackup(c *cli.Context, opts *datastore.BackupOptions) (err error) {
	if text := c.String(flagCryptMode); c.IsSet(flagCryptMode) {
		if opts.CryptMode, err = backupinfo.ParseCryptMode(text); err != nil {
			return asUsage(fmt.Errorf("--%s: %w", flagCryptMode, err))
		}
	}
	wantsMaster := c.IsSet(flagMaster) || c.IsSet(flagMasterFD)
	if opts.CryptMode == backupinfo.CryptNone {
		if wantsMaster {
			return usageErrorf("--%s none leaves nothing for a master key to open", flagCryptMode)
		}
		return nil
	}
	file, err := p.keyFileForBackup(c)
	switch {
	case err != nil:
		return err
	case file == nil && opts.CryptMode != "":
		return usageErrorf("--%s %s needs a key: --%s FILE", flagCryptMode, opts.CryptMode, flagKeyfile)
	case file == nil && wantsMaster:
		return usageErrorf("a master key is for a backup with a key: --%s FILE", flagKeyfile)
	case file == nil:
		return nil
	}
	return p.useKey(c, file, opts)
}

func (p *program) keyFileForBackup(c *cli.Context) (*keys.File, error) {
	if file, err := keyFileOf(c); file != nil || err != nil {
		return file, err
	}
	file, path, err := defaultKeyFile()
	if err != nil {
		return nil, fmt.Errorf("the default key can't be used; name another one, or say --%s none: %w", flagCryptMode, err)
	}
	if file != nil {
		p.log.Info().Msg(fmt.Sprintf("using the default key %q", path))
	}
	return file, nil
}

func (p *program) useKey(c *cli.Context, file *keys.File, opts *datastore.BackupOptions) error {
	master, err := p.masterKey(c)
	if err != nil {
		return err
	}
	if opts.Key, err = p.unlock(c.Context, file); err != nil || master == nil {
		return err
	}
	public, err := keys.ParseMasterPublicKey(master)
	if err != nil {
		return err
	}
	// Whoever opens the copy has no passphrase for it. The time of making stays that of the key.
	open, err := keys.NewFile(opts.Key, nil, keys.FileOptions{KDF: keys.None, Now: file.Created()})
	if err != nil {
		return err
	}
	opts.KeyCopy, err = open.EncryptForMaster(public)
	return err
}

// masterKey is the text of the public master key, nil where there is none.
func (p *program) masterKey(c *cli.Context) ([]byte, error) {
	const largest = 64 << 10
	text, err := fileOrFD(c, flagMaster, flagMasterFD, largest)
	if text != nil || err != nil {
		return text, err
	}
	text, path, err := defaultFile("master-public.pem", largest)
	if err == nil && text != nil {
		p.log.Info().Msg(fmt.Sprintf("using the default master key %q", path))
	}
	return text, err
}

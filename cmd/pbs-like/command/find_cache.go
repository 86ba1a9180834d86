package command

import (
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/keys"
	"github.com/pbs-like/pbs-like/treefind"
)

const (
	flagNoCache        = "no-cache"
	flagCacheDir       = "cache-dir"
	flagCacheEncrypted = "cache-encrypted"
)

func cacheFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: flagNoCache, DisableDefaultText: true, Usage: "neither use the cache of names nor add to it"},
		&cli.StringFlag{
			Name: flagCacheDir, EnvVars: []string{"PBS_LIKE_CACHE_DIR"}, TakesFile: true, DefaultText: "XDG_CACHE_HOME/pbs-like, else ~/.cache/pbs-like",
			Usage: "the `DIRECTORY` of the cache, outside of the store; at most 1 GiB is kept there",
		},
		&cli.BoolFlag{
			Name: flagCacheEncrypted, DisableDefaultText: true,
			Usage: "also keep the names of encrypted trees in the cache, in plain; they are used only with the key all the same",
		},
	}
}

// nameCache is the cache of names, or nil if there is to be none.
func (p *program) nameCache(c *cli.Context, store string) (*treefind.Cache, error) {
	if c.Bool(flagNoCache) {
		return nil, nil
	}
	dir := c.String(flagCacheDir)
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil || !filepath.IsAbs(base) {
			p.log.Info().Msg("names are not kept for the next search: no home directory is known; --" + flagCacheDir + " names a directory")
			return nil, nil //nolint:nilerr // it is slower without, and that is all
		}
		dir = filepath.Join(base, programName)
	}
	dir, err := filepath.Abs(filepath.Join(dir, "names"))
	if err != nil {
		return nil, err
	}
	if err := checkDirOutside(store, realDir(filepath.Join(existing(dir), "file")), dir); err != nil {
		return nil, err
	}
	return treefind.NewCache(dir, treefind.CacheOptions{Notice: func(err error) {
		p.log.Warn().Msg("names are not kept for the next search: " + err.Error())
	}}), nil
}

// existing is the path, or the nearest directory above it that is there.
func existing(path string) string {
	for path != filepath.Dir(path) {
		if _, err := os.Stat(path); err == nil {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}

// keyring has the key that was asked for, or else the default one, for many snapshots: the passphrase is asked for once.
type keyring struct {
	p *program
	c *cli.Context

	read bool
	file *keys.File
	open *keys.Key
}

// key gives the key with a fingerprint, or nil.
func (k *keyring) key(fingerprint string) (*keys.Key, error) {
	if !k.read {
		if err := k.find(); err != nil {
			return nil, err
		}
		k.read = true
	}
	if k.open == nil && k.file != nil {
		own, named := k.file.Fingerprint()
		if named && backupinfo.Fingerprint(own).String() != fingerprint {
			return nil, nil
		}
		var err error
		if k.open, err = k.p.unlock(k.c.Context, k.file); err != nil {
			return nil, err
		}
	}
	if k.open == nil || backupinfo.Fingerprint(k.open.Fingerprint()).String() != fingerprint {
		return nil, nil
	}
	return k.open, nil
}

// find reads the key file. The default one counts only where it can be read.
func (k *keyring) find() (err error) {
	if k.file, err = keyFileOf(k.c); k.file != nil || err != nil {
		return err
	}
	k.file, _, _ = defaultKeyFile()
	return nil
}

package command

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/pbs-like/pbs-like/storelock"
	"github.com/pbs-like/pbs-like/storelock/dirstore"
	"github.com/pbs-like/pbs-like/storelock/s3store"
)

// lockMemory is where it is remembered what was seen of store locks; empty where
// the user has no such place.
func lockMemory() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, programName)
}

// openLockStore opens what --lock-store names. close is to be called in the end.
func (p *program) openLockStore() (backend storelock.Backend, closer func() error, err error) {
	place := p.settings.lockStore
	if strings.Contains(place, "://") {
		store, err := s3store.Open(place, s3store.Options{Endpoint: os.Getenv("AWS_ENDPOINT_URL"), Region: os.Getenv("AWS_REGION")})
		return store, func() error { return nil }, err
	}
	store, err := dirstore.Open(place, dirstore.Options{})
	if err != nil {
		return nil, nil, err
	}
	return store, store.Close, nil
}

// lockStoreOptions are those of all locks of a store of one's own. An object store
// is given more time until a listing shows what was stored.
func (p *program) lockStoreOptions(backend storelock.Backend) storelock.Options {
	opts := storelock.Options{HostID: p.settings.hostID}
	if _, remote := backend.(*s3store.Store); remote {
		opts.RecheckDelay = remoteDelay
	}
	if memory := lockMemory(); memory != "" {
		_ = os.MkdirAll(memory, 0o700) // outside of any store; without it nothing is remembered
		opts.StateFile = filepath.Join(memory, "lock-store.json")
	}
	return opts
}

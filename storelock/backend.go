package storelock

import (
	"context"
	"errors"
	"strings"
)

// MaxObject is how many bytes an object may have. A lock has about 500; what is
// longer is none, and is not read.
const MaxObject = 64 << 10

// The prefixes below which a lock has its objects.
const (
	locksPrefix = "locks" // as the original: who holds, or is about to
	queuePrefix = "queue" // ours: who waits; the original does not look there
	probePrefix = "probe" // ours: what a self-test writes and removes again
)

var (
	// ErrNotFound is wrapped by a Backend's error for an object that is not there.
	ErrNotFound = errors.New("no such object")

	// ErrTooLarge is wrapped by a Backend's error for an object of more than MaxObject bytes.
	ErrTooLarge = errors.New("object too large")

	// ErrNotStored is wrapped by a Backend's error of Store if it is certain
	// that nothing was written, and that nothing will appear later. Without it
	// the object may be there, or may yet arrive.
	ErrNotStored = errors.New("nothing was stored")
)

// A Backend is where the objects of one lock are kept. It is used by several
// goroutines at once. Names are a prefix and a key, such as
// "locks/023f6718cabcce8c"; both are lower-case letters and digits when they
// come from this package, but a key that List found may be any name in the store.
//
// What a lock needs of it, and [SelfTest] looks at: an object is there as a whole
// or not at all; a listing that begins after Store has returned has the new
// name, and one that begins after Delete has returned has the old one no more,
// each at the latest after Options.RecheckDelay.
type Backend interface {
	// List returns the keys below a prefix, in no particular order. A prefix
	// that nobody has written to is empty, and no error.
	List(ctx context.Context, prefix string) ([]string, error)

	// Load returns an object's bytes. Errors: ErrNotFound, ErrTooLarge, anything else.
	Load(ctx context.Context, name string) ([]byte, error)

	// Store makes or replaces an object. After an error it may be there or not,
	// see ErrNotStored.
	Store(ctx context.Context, name string, data []byte) error

	// Delete removes an object, whatever it is. Errors: ErrNotFound, anything else.
	Delete(ctx context.Context, name string) error

	// String names the store for messages, such as "/srv/store/.locks".
	String() string
}

func lockName(key string) string { return locksPrefix + "/" + key }

func ticketName(key string) string { return queuePrefix + "/" + key }

func keyOf(name string) string {
	_, key, _ := strings.Cut(name, "/")
	return key
}

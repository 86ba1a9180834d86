package datastore

import (
	"io/fs"
	"strings"
)

// hiddenPlace is where in a store a hidden name of ours may be.
type hiddenPlace int

const (
	hiddenInRoot hiddenPlace = iota
	hiddenInSnapshot
	hiddenAnywhere
)

// hiddenName is a name that pbs-like gives, and no server does. A server passes over all hidden names.
type hiddenName struct {
	name   string
	prefix bool // any name that begins like this
	place  hiddenPlace
	kind   fs.FileMode // fs.ModeDir, or 0 for a file
}

// hiddenNames are all of them. Whatever leaves a new one in a store adds it here:
// else a check calls it a stranger.
func hiddenNames() []hiddenName {
	return []hiddenName{
		{name: leftoverDir, place: hiddenInRoot, kind: fs.ModeDir},
		{name: leftoverPrefix, prefix: true, place: hiddenAnywhere, kind: fs.ModeDir},
		{name: writerMark, place: hiddenInSnapshot},
		{name: mountsName, place: hiddenInRoot},
		{name: schemeName, place: hiddenInRoot},
		{name: storeLockDir, place: hiddenInRoot, kind: fs.ModeDir},
	}
}

// hiddenAt finds out whether a name is one of ours in that place.
func hiddenAt(place hiddenPlace, name string) (hiddenName, bool) {
	for _, h := range hiddenNames() {
		same := name == h.name || h.prefix && strings.HasPrefix(name, h.name)
		if same && (h.place == place || h.place == hiddenAnywhere) {
			return h, true
		}
	}
	return hiddenName{}, false
}

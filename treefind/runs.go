package treefind

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/catalog"
)

// Match is a path that was found in a group.
type Match struct {
	Group backupinfo.Group
	// Archive is what "ls" and the like take, such as "root.pxar"; that of the pair root.mpxar and root.ppxar, too.
	Archive string
	// Path is that in the archive. It may hold any bytes.
	Path string
	// Versions are in the order of the snapshots that they were first seen in.
	Versions []Version
}

// Version is a path as it was in one or several snapshots in a row, in which it did not change its kind, size or time. A snapshot
// that could not be searched does not end the row, and is not counted.
type Version struct {
	First, Last backupinfo.Time
	Snapshots   int
	Kind        catalog.Kind
	// Size in bytes and ModTime in seconds since 1970 are of a [catalog.File] only.
	Size    uint64
	ModTime int64

	last int // step in which it was seen
}

// MaxMatches is how much memory, in bytes, the matches of one group may take.
const MaxMatches = 256 << 20

// ErrTooMany means that more was found than can be kept. Nothing is shown of the group then.
var ErrTooMany = errors.New("too many matches")

// versionCost is what one takes in memory, and pathCost what a path takes besides its text, as far as it matters.
const (
	versionCost = 80
	pathCost    = 160
)

// timeline collects what is found in the snapshots of a group, oldest first.
type timeline struct {
	group    backupinfo.Group
	archives map[string]*archiveLine
	room     int
}

// archiveLine is about one tree.
type archiveLine struct {
	steps []step // for each snapshot that was looked into
	paths map[string][]Version
	since int // a version that was last seen in this step or later goes on in the present one
}

type step struct {
	time  backupinfo.Time
	whole bool // all names were read: what was not found is not there
}

func newTimeline(group backupinfo.Group) *timeline {
	return &timeline{group: group, archives: map[string]*archiveLine{}, room: MaxMatches}
}

// begin begins a step of a tree.
func (t *timeline) begin(archive string, time backupinfo.Time) {
	line := t.archives[archive]
	if line == nil {
		line = &archiveLine{paths: map[string][]Version{}}
		t.archives[archive] = line
	}
	line.since = len(line.steps) - 1
	for line.since >= 0 && !line.steps[line.since].whole {
		line.since--
	}
	line.steps = append(line.steps, step{time, true})
}

// spoil says of the present step that names may be missing.
func (t *timeline) spoil(archive string) {
	steps := t.archives[archive].steps
	steps[len(steps)-1].whole = false
}

// lookBehind is how many versions of a path are compared. A path has several in one snapshot only in a hostile tree.
const lookBehind = 8

// add takes in what was found in the present step.
func (t *timeline) add(archive string, i item) error {
	line := t.archives[archive]
	path := pathInArchive(i.path)
	versions := line.paths[path]
	now := len(line.steps) - 1
	for back := range min(len(versions), lookBehind) {
		v := &versions[len(versions)-1-back]
		if v.Kind != i.kind || v.Size != i.size || v.ModTime != i.modTime || v.last < line.since {
			continue
		}
		if v.last < now {
			v.last, v.Last = now, line.steps[now].time
			v.Snapshots++
		}
		return nil
	}
	if len(versions) == 0 {
		t.room -= len(path) + pathCost
	}
	if t.room -= versionCost; t.room < 0 {
		return fmt.Errorf("group %q: %w: they would take more than %d bytes of memory", t.group.Dir(), ErrTooMany, MaxMatches)
	}
	time := line.steps[now].time
	line.paths[path] = append(versions, Version{
		First: time, Last: time, Snapshots: 1, Kind: i.kind, Size: i.size, ModTime: i.modTime, last: now,
	})
	return nil
}

// each gives everything, sorted, until yield gives false.
func (t *timeline) each(yield func(Match) bool) {
	for _, archive := range slices.Sorted(maps.Keys(t.archives)) {
		paths := t.archives[archive].paths
		for _, path := range slices.SortedFunc(maps.Keys(paths), cmp.Compare[string]) {
			if !yield(Match{Group: t.group, Archive: archive, Path: path, Versions: paths[path]}) {
				return
			}
		}
	}
}

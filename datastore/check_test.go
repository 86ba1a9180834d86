package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/helperproc"
	"github.com/pbs-like/pbs-like/internal/testds"
)

const (
	sound    = "vm/100/2026-01-02T03:04:05Z" // the first snapshot of damageStore
	aDigest  = "abcd000000000000000000000000000000000000000000000000000000000000"
	badIndex = sound + "/disk.img.fidx"
)

// damage is one thing that can be wrong with a store.
type damage struct {
	kind   datastore.FindingKind
	path   string // where it is found
	plant  func(t *testing.T, dir string)
	chunks bool // only found with a look at each chunk
	kept   bool // a repair of this one can do nothing, though of others of its kind it can
	as     bool // needs root, to give something away or to look into what nobody else may
}

func planted(name, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		put(t, path, text)
	}
}

func chmod(name string, mode os.FileMode) func(*testing.T, string) {
	return func(t *testing.T, dir string) { t.Helper(); noError(t, os.Chmod(filepath.Join(dir, name), mode)) }
}

func chown(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		noError(t, os.Chown(filepath.Join(dir, name), 12345, 12345))
	}
}

func mkdir(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { t.Helper(); noError(t, os.MkdirAll(filepath.Join(dir, name), 0o755)) }
}

func removed(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { t.Helper(); noError(t, os.RemoveAll(filepath.Join(dir, name))) }
}

func pipeAt(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		noError(t, os.RemoveAll(filepath.Join(dir, name)))
		noError(t, unix.Mkfifo(filepath.Join(dir, name), 0o644))
	}
}

func linkAt(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		noError(t, os.RemoveAll(filepath.Join(dir, name)))
		symlink(t, "/", filepath.Join(dir, name))
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var damages = map[string]damage{
	"a pipe in the place of the lock":   {kind: datastore.FindingWrongType, path: ".lock", plant: pipeAt(".lock")},
	"a pipe in the place of a manifest": {kind: datastore.FindingWrongType, path: sound + "/index.json.blob", plant: pipeAt(sound + "/index.json.blob")},
	"a pipe in the place of an index":   {kind: datastore.FindingWrongType, path: badIndex, plant: pipeAt(badIndex)},
	"a pipe in the place of an owner":   {kind: datastore.FindingWrongType, path: "vm/100/owner", plant: pipeAt("vm/100/owner")},
	"a pipe in the place of a chunk": {kind: datastore.FindingWrongType, path: ".chunks/abcd/" + aDigest, plant: func(t *testing.T, dir string) {
		t.Helper()
		mkdir(".chunks/abcd")(t, dir)
		pipeAt(".chunks/abcd/"+aDigest)(t, dir)
	}, chunks: true},
	"a link in the place of a group":      {kind: datastore.FindingWrongType, path: "vm/7", plant: linkAt("vm/7")},
	"a link in the place of a snapshot":   {kind: datastore.FindingWrongType, path: "vm/100/2026-02-01T00:00:00Z", plant: linkAt("vm/100/2026-02-01T00:00:00Z")},
	"a link in the place of a namespace":  {kind: datastore.FindingWrongType, path: "ns", plant: linkAt("ns")},
	"a link in the place of a chunk dir":  {kind: datastore.FindingWrongType, path: ".chunks/abcd", plant: linkAt(".chunks/abcd")},
	"a file in the place of a type":       {kind: datastore.FindingWrongType, path: "ct", plant: planted("ct", "")},
	"a link somewhere":                    {kind: datastore.FindingWrongType, path: "stuff/x", plant: func(t *testing.T, dir string) { t.Helper(); mkdir("stuff")(t, dir); linkAt("stuff/x")(t, dir) }},
	"a directory in the place of a blob":  {kind: datastore.FindingWrongType, path: sound + "/x.blob", plant: mkdir(sound + "/x.blob")},
	"a store in the root":                 {kind: datastore.FindingNested, path: "inner", plant: mkdir("inner/.chunks")},
	"a store deep below":                  {kind: datastore.FindingNested, path: "a/b/c", plant: mkdir("a/b/c/.chunks")},
	"a store in the place of a namespace": {kind: datastore.FindingNested, path: "ns/a", plant: mkdir("ns/a/.chunks")},
	"a store in a snapshot":               {kind: datastore.FindingNested, path: sound, plant: mkdir(sound + "/.chunks")},
	"a mark of an object store's cache":   {kind: datastore.FindingObjectCache, path: ".chunks/abcd/" + aDigest + ".using", plant: planted(".chunks/abcd/"+aDigest+".using", "")},
	"no owner":                            {kind: datastore.FindingGroupOwner, path: "vm/100/owner", plant: removed("vm/100/owner")},
	"an empty owner":                      {kind: datastore.FindingGroupOwner, path: "vm/100/owner", plant: planted("vm/100/owner", "")},
	"an owner that is garbage":            {kind: datastore.FindingGroupOwner, path: "vm/100/owner", plant: planted("vm/100/owner", "\x00\xff")},
	"a manifest that is garbage":          {kind: datastore.FindingManifest, path: sound + "/index.json.blob", plant: planted(sound+"/index.json.blob", "garbage, not a manifest")},
	"an empty manifest":                   {kind: datastore.FindingManifest, path: sound + "/index.json.blob", plant: planted(sound+"/index.json.blob", "")},
	"the manifest of another snapshot":    {kind: datastore.FindingManifest, path: "vm/7/2026-01-02T03:04:05Z/index.json.blob", plant: copyOf(sound, "vm/7/2026-01-02T03:04:05Z")},
	"a missing index":                     {kind: datastore.FindingFileMissing, path: badIndex, plant: removed(badIndex)},
	"a missing blob":                      {kind: datastore.FindingFileMissing, path: sound + "/vm.conf.blob", plant: removed(sound + "/vm.conf.blob")},
	"a blob of another size":              {kind: datastore.FindingFileDiffers, path: sound + "/vm.conf.blob", plant: planted(sound+"/vm.conf.blob", "x")},
	"the index of another snapshot":       {kind: datastore.FindingFileDiffers, path: badIndex, plant: copyOf("vm/100/2026-01-03T03:04:05Z/disk.img.fidx", badIndex)},
	"an index that is cut off": {kind: datastore.FindingIndex, path: badIndex, plant: func(t *testing.T, dir string) {
		t.Helper()
		noError(t, os.Truncate(filepath.Join(dir, badIndex), 4100))
	}},
	"an index that is garbage":             {kind: datastore.FindingIndex, path: badIndex, plant: planted(badIndex, "garbage")},
	"an empty chunk":                       {kind: datastore.FindingChunkEmpty, path: ".chunks/abcd/" + aDigest, plant: planted(".chunks/abcd/"+aDigest, ""), chunks: true},
	"a group that nobody may enter":        {kind: datastore.FindingMode, path: "vm/100", plant: chmod("vm/100", 0), as: true},
	"an owner file that others may change": {kind: datastore.FindingMode, path: "vm/100/owner", plant: chmod("vm/100/owner", 0o666)},
	"a manifest that nobody may read":      {kind: datastore.FindingMode, path: sound + "/index.json.blob", plant: chmod(sound+"/index.json.blob", 0)},
	"a snapshot that others may change":    {kind: datastore.FindingMode, path: sound, plant: chmod(sound, 0o777)},
	"a chunk dir that nobody may read": {kind: datastore.FindingMode, path: ".chunks/abcd", plant: func(t *testing.T, dir string) {
		t.Helper()
		mkdir(".chunks/abcd")(t, dir)
		chmod(".chunks/abcd", 0)(t, dir)
	}, as: true},
	"a chunk that nobody may read": {kind: datastore.FindingMode, path: ".chunks/abcd/" + aDigest, plant: func(t *testing.T, dir string) {
		t.Helper()
		planted(".chunks/abcd/"+aDigest, "x")(t, dir)
		chmod(".chunks/abcd/"+aDigest, 0)(t, dir)
	}, chunks: true},
	"a root that others may change": {kind: datastore.FindingMode, path: ".", plant: chmod(".", 0o777), kept: true},
	"a group of another group": {kind: datastore.FindingGroupAccess, path: "vm/100", plant: func(t *testing.T, dir string) {
		t.Helper()
		noError(t, os.Chown(filepath.Join(dir, "vm/100"), -1, 12345))
	}, as: true},
	"a group that its group may change": {kind: datastore.FindingGroupAccess, path: "vm/100", plant: chmod("vm/100", 0o775)},
	"a group of somebody else":          {kind: datastore.FindingFileOwner, path: "vm/100", plant: chown("vm/100"), as: true},
	"a lock of somebody else":           {kind: datastore.FindingFileOwner, path: ".lock", plant: chown(".lock"), as: true},
	"a file with a second name":         {kind: datastore.FindingFileOwner, path: "vm/100/owner", plant: secondName("vm/100/owner"), as: true, kept: true},
	"a chunk dir of somebody else": {kind: datastore.FindingFileOwner, path: ".chunks/abcd", plant: func(t *testing.T, dir string) {
		t.Helper()
		mkdir(".chunks/abcd")(t, dir)
		chown(".chunks/abcd")(t, dir)
	}, as: true},
	"no lock":                               {kind: datastore.FindingLockMissing, path: ".lock", plant: removed(".lock")},
	"no chunk directories":                  {kind: datastore.FindingChunkDirs, path: ".chunks", plant: func(*testing.T, string) {}},
	"a blob that the manifest doesn't list": {kind: datastore.FindingFileUnlisted, path: sound + "/x.blob", plant: planted(sound+"/x.blob", "x")},
	"an index that it doesn't list":         {kind: datastore.FindingFileUnlisted, path: sound + "/x.img.fidx", plant: copyOf(badIndex, sound+"/x.img.fidx")},
	"an index in a group":                   {kind: datastore.FindingIndexMisplaced, path: "vm/100/x.fidx", plant: copyOf(badIndex, "vm/100/x.fidx")},
	"an index somewhere":                    {kind: datastore.FindingIndexMisplaced, path: "a/b/x.didx", plant: planted("a/b/x.didx", "x")},
	"a chunk in another's directory":        {kind: datastore.FindingChunkMisplaced, path: ".chunks/0000/" + aDigest, plant: planted(".chunks/0000/"+aDigest, "x")},
	"a group with a name that none has":     {kind: datastore.FindingBadName, path: "vm/a b", plant: mkdir("vm/a b")},
	"a snapshot at no time":                 {kind: datastore.FindingBadName, path: "vm/100/2026-02-30T00:00:00Z", plant: mkdir("vm/100/2026-02-30T00:00:00Z")},
	"a namespace with such a name":          {kind: datastore.FindingBadName, path: "ns/a b", plant: mkdir("ns/a b")},
	"a status that is garbage":              {kind: datastore.FindingStatus, path: ".gc-status", plant: planted(".gc-status", "garbage")},
	"a chunk that was found damaged":        {kind: datastore.FindingChunkBad, path: ".chunks/abcd/" + aDigest + ".0.bad", plant: planted(".chunks/abcd/"+aDigest+".0.bad", "x")},
	"a snapshot without manifest":           {kind: datastore.FindingUnfinished, path: sound, plant: removed(sound + "/index.json.blob")},
	"a group without snapshots":             {kind: datastore.FindingEmptyGroup, path: "host/x", plant: planted("host/x/owner", "root@pam\n")},
	"a chunk that is being written":         {kind: datastore.FindingTempFile, path: ".chunks/abcd/" + aDigest + ".tmp_abcdef", plant: planted(".chunks/abcd/"+aDigest+".tmp_abcdef", "x")},
	"an owner that is being written":        {kind: datastore.FindingTempFile, path: "vm/100/owner.tmp_abcdef", plant: planted("vm/100/owner.tmp_abcdef", "x")},
	"a manifest that is being written":      {kind: datastore.FindingTempFile, path: sound + "/index.json.tmp_abcdef", plant: planted(sound+"/index.json.tmp_abcdef", "x")},
	"an index that is being written":        {kind: datastore.FindingTempFile, path: sound + "/x.img.tmp_fidx", plant: planted(sound+"/x.img.tmp_fidx", "x")},
	"a status that is being written":        {kind: datastore.FindingTempFile, path: ".gc-status.tmp_abcdef", plant: planted(".gc-status.tmp_abcdef", "")},
	"a leftover":                            {kind: datastore.FindingLeftover, path: ".pbs-like-leftover/.pbs-like-leftover-a-x", plant: planted(".pbs-like-leftover/.pbs-like-leftover-a-x/owner", "x")},
	"a leftover beside a snapshot":          {kind: datastore.FindingLeftover, path: "vm/100/.pbs-like-leftover-a-x", plant: mkdir("vm/100/.pbs-like-leftover-a-x")},
	"a half-made chunk store":               {kind: datastore.FindingLeftover, path: ".chunks.tmp_ABCDEF", plant: mkdir(".chunks.tmp_ABCDEF/0000")},
	"a mark of a writer":                    {kind: datastore.FindingLeftover, path: sound + "/.pbs-like-writer", plant: planted(sound+"/.pbs-like-writer", "")},
	"a stranger in the root":                {kind: datastore.FindingUnknownName, path: "stuff", plant: mkdir("stuff")},
	"a stranger in a group":                 {kind: datastore.FindingUnknownName, path: "vm/100/lost+found", plant: mkdir("vm/100/lost+found")},
	"a stranger among the chunks":           {kind: datastore.FindingUnknownName, path: ".chunks/abcd/readme", plant: planted(".chunks/abcd/readme", "x")},
	"a stranger among the chunk dirs":       {kind: datastore.FindingUnknownName, path: ".chunks/ABCD", plant: mkdir(".chunks/ABCD")},
	"a hidden stranger":                     {kind: datastore.FindingUnknownName, path: ".hidden", plant: mkdir(".hidden/.chunks")},
}

// copyOf plants a copy of something that the store has.
func copyOf(from, to string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		target := filepath.Join(dir, to)
		noError(t, os.MkdirAll(filepath.Dir(target), 0o755))
		if info, err := os.Stat(filepath.Join(dir, from)); err == nil && info.IsDir() {
			noError(t, os.CopyFS(target, os.DirFS(filepath.Join(dir, from))))
			put(t, filepath.Join(filepath.Dir(target), "owner"), "root@pam\n")
			return
		}
		content, err := os.ReadFile(filepath.Join(dir, from))
		noError(t, err)
		put(t, target, string(content))
	}
}

func secondName(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		noError(t, os.Link(filepath.Join(dir, name), filepath.Join(filepath.Dir(dir), "second")))
		chown(name)(t, dir)
	}
}

func damageStore(t *testing.T) *testds.Store {
	t.Helper()
	store := testds.New(t)
	store.Backup("vm/100", first, image(t, "xs64:1:50000"))
	store.Backup("vm/100", second, image(t, "xs64:2:50000"))
	return store
}

// check looks at a store. Findings are in the order in which they came.
func check(t *testing.T, ds *datastore.Datastore, opts datastore.CheckOptions) (found []datastore.Finding, report datastore.CheckReport) {
	t.Helper()
	opts.Each = func(f datastore.Finding) { found = append(found, f) }
	report, err := ds.Check(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return found, report
}

// errSpared is the refusal to make 65,536 directories in most tests.
var errSpared = errors.New("spared")

// sparing keeps a repair from making the chunk directories, which takes longer than all the rest.
func sparing(disk *fsop.Disk) *fsop.Disk {
	spared := fsop.Disk{}
	if disk != nil {
		spared = *disk
	}
	before := spared.Before
	spared.Before = func(c fsop.Change) error {
		if before != nil {
			if err := before(c); err != nil {
				return err
			}
		}
		if c.Op == fsop.OpMkdir && strings.Contains(c.Path, "/.chunks/") {
			return errSpared
		}
		return nil
	}
	return &spared
}

func at(found []datastore.Finding, d damage) int {
	return slices.IndexFunc(found, func(f datastore.Finding) bool { return f.Kind == d.kind && f.Path == d.path })
}

func TestEveryKindOfFindingIsFoundAndNothingIsChanged(t *testing.T) {
	t.Parallel()
	for name, d := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := damaged(t, d)
			before := attributes(t, store.Dir)
			found, report := check(t, store.Open(datastore.Options{}), datastore.CheckOptions{Chunks: d.chunks})
			if at(found, d) < 0 {
				t.Errorf("not found: %+v", found)
			}
			for _, f := range found {
				if f.Repaired || f.Severity != f.Kind.Severity() || f.Detail == "" || f.Repairable && !f.Kind.Repairable() {
					t.Errorf("%+v", f)
				}
			}
			if n := report.Errors + report.Warnings + report.Notes + report.Unchecked; n != len(found) {
				t.Errorf("%d findings, and %+v", len(found), report)
			}
			if after := attributes(t, store.Dir); after != before {
				t.Errorf("changed from\n%s\nto\n%s", before, after)
			}
		})
	}
}

func damaged(t *testing.T, d damage) *testds.Store {
	t.Helper()
	if d.as && os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	store := damageStore(t)
	store.Damaged, store.Leftovers = true, true
	d.plant(t, store.Dir)
	return store
}

// attributes lists everything below a directory with its mode, owner, size and time of change.
func attributes(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if ok {
			lines = append(lines, fmt.Sprint(strings.TrimPrefix(path, dir), " ", info.Mode(), stat.Uid, stat.Gid, stat.Size, stat.Mtim, stat.Ctim, stat.Ino))
		}
		return nil
	})
	noError(t, err)
	return strings.Join(lines, "\n")
}

func TestEveryKindOfFindingHasATest(t *testing.T) {
	t.Parallel()
	for _, kind := range datastore.FindingKinds() {
		there := kind == datastore.FindingUnchecked // has its own
		for _, d := range damages {
			there = there || d.kind == kind
		}
		if !there {
			t.Errorf("nothing tests that %s is found", kind)
		}
	}
}

func TestARepairMendsWhatItSaysItCanAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, d := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := damaged(t, d)
			disk := sparing(nil)
			if d.kind == datastore.FindingChunkDirs {
				disk = nil
			}
			ds := store.OpenWith(disk)
			var found []datastore.Finding
			_, err := ds.Check(t.Context(), datastore.CheckOptions{Chunks: d.chunks, Repair: true, Each: func(f datastore.Finding) { found = append(found, f) }})
			if blocked(d) {
				if err == nil || len(found) > 0 {
					t.Errorf("repaired: %v, %+v", err, found)
				}
				return
			}
			noError(t, err)
			i := at(found, d)
			if want := d.kind.Repairable() && !d.kept; i < 0 || found[i].Repaired != want {
				t.Fatalf("want it repaired: %v; %+v", want, found)
			}
			again, _ := check(t, ds, datastore.CheckOptions{Chunks: d.chunks})
			if at(again, d) >= 0 == found[i].Repaired {
				t.Errorf("once more: %+v", again)
			}
			store.Leftovers = !found[i].Repaired
		})
	}
}

// blocked tells whether a repair of such a store is refused.
func blocked(d damage) bool {
	return d.kind == datastore.FindingNested || d.kind == datastore.FindingObjectCache || d.path == ".lock" && d.kind == datastore.FindingWrongType
}

func TestARepairOfAStoreWithAnotherOneInsideChangesNothing(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]error{"inner/.chunks/0000": datastore.ErrNested, ".chunks/abcd/" + aDigest + ".using/x": datastore.ErrNotDatastore} {
		store := damageStore(t)
		mkdir(filepath.Dir(name))(t, store.Dir)
		chmod("vm", 0o777)(t, store.Dir)
		before := attributes(t, store.Dir)
		_, err := store.Open(datastore.Options{}).Check(t.Context(), datastore.CheckOptions{Repair: true})
		if !errors.Is(err, want) || attributes(t, store.Dir) != before {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestARepairThatCouldNotSeeEverythingChangesNothing hides a store from a user who
// may repair all else.
func TestARepairThatCouldNotSeeEverythingChangesNothing(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become somebody else")
	}
	for _, name := range []string{"stuff", "vm/100", sound, ".chunks/abcd"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := damageStore(t)
			store.Damaged = true
			mkdir(name+"/inner/.chunks")(t, store.Dir)
			noError(t, exec.CommandContext(t.Context(), "chown", "-R", "65534:65534", store.Dir).Run())
			chmod("vm", 0o777)(t, store.Dir)
			path := filepath.Join(store.Dir, name)
			noError(t, errors.Join(os.Chmod(filepath.Dir(store.Dir), 0o755), os.Chown(path, 0, 0), os.Chmod(path, 0o700)))
			before := attributes(t, store.Dir)
			line := helperproc.Start(t, "repair as", store.Dir, "65534").Line()
			if !strings.Contains(line, "nothing was repaired") || !strings.Contains(line, name) || !strings.Contains(line, "permission denied") {
				t.Error(line)
			}
			if attributes(t, store.Dir) != before {
				t.Error("something was changed")
			}
		})
	}
}

// repairAs repairs a store as another user, and says what came of it.
func repairAs(ctx context.Context, args []string, pipe *helperproc.IO) error {
	if err := become(args[1]); err != nil {
		return err
	}
	pipe.Say(strings.ReplaceAll(fmt.Sprint(repairAll(ctx, args[0], nil)), "\n", "; "))
	return nil
}

func TestARepairOfAStoreThatIsNotAllMountedChangesNothing(t *testing.T) {
	t.Parallel()
	store := damageStore(t)
	store.Damaged = true
	chmod("vm", 0o777)(t, store.Dir)
	fstab := filepath.Join(t.TempDir(), "fstab")
	put(t, fstab, "/dev/sdb1 "+store.Dir+"/.chunks ext4")
	before := attributes(t, store.Dir)
	_, err := store.Open(datastore.Options{Fstab: fstab}).Check(t.Context(), datastore.CheckOptions{Repair: true})
	if !errors.Is(err, datastore.ErrNotMounted) || attributes(t, store.Dir) != before {
		t.Errorf("%v", err)
	}
	noError(t, os.RemoveAll(filepath.Join(store.Dir, ".chunks")))
	before = attributes(t, store.Dir)
	if _, err := adopt(t, store.Dir, datastore.Options{Fstab: fstab}); !errors.Is(err, datastore.ErrNotMounted) || attributes(t, store.Dir) != before {
		t.Errorf("adopted: %v", err)
	}
}

func TestAStoreInsideOfAnotherIsFound(t *testing.T) {
	t.Parallel()
	outer := testds.New(t)
	outer.Damaged = true
	inner := filepath.Join(outer.Dir, "inner")
	noError(t, os.MkdirAll(filepath.Join(inner, ".chunks"), 0o755))
	ds, err := datastore.Open(inner, datastore.Options{OnlyHost: true})
	noError(t, err)
	found, _ := check(t, ds, datastore.CheckOptions{})
	if at(found, damage{kind: datastore.FindingNested, path: "."}) < 0 {
		t.Errorf("%+v", found)
	}
}

func TestTheStoresOfTheOriginalAreSound(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]datastore.FindingKind{
		"store": {datastore.FindingChunkDirs},
	} {
		store := testds.Golden(t, name)
		found, report := check(t, store.Open(datastore.Options{}), datastore.CheckOptions{Chunks: true})
		for _, f := range found {
			if f.Severity != datastore.SeverityNote && !slices.Contains(want, f.Kind) {
				t.Errorf("%+v", f)
			}
		}
		if report.Groups == 0 || report.Snapshots == 0 || report.Namespaces < 2 || report.ChunkFiles == 0 {
			t.Errorf("%+v", report)
		}
	}
}

// TestWhatCannotBeReadIsNeverFine looks at a store as a user who may not read all of it.
func TestWhatCannotBeReadIsNeverFine(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become somebody else")
	}
	for _, name := range []string{"vm", "vm/100", sound, ".chunks/abcd", "stuff", sound + "/index.json.blob", "vm/100/owner", badIndex} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := damageStore(t)
			store.Damaged = true
			mkdir(".chunks/abcd")(t, store.Dir)
			mkdir("stuff")(t, store.Dir)
			noError(t, exec.CommandContext(t.Context(), "chown", "-R", "65534:65534", store.Dir).Run())
			path := filepath.Join(store.Dir, name)
			noError(t, errors.Join(os.Chmod(filepath.Dir(store.Dir), 0o755), os.Chown(path, 0, 0), os.Chmod(path, 0o700)))
			line := helperproc.Start(t, "check as", store.Dir, "65534").Line()
			if !strings.Contains(line, "unchecked "+name+" ") || !strings.Contains(line, "permission denied") {
				t.Error(line)
			}
		})
	}
}

// checkAs looks at a store as another user, and says what could not be checked.
func checkAs(ctx context.Context, args []string, pipe *helperproc.IO) error {
	if err := become(args[1]); err != nil {
		return err
	}
	store, err := datastore.Open(args[0], datastore.Options{OnlyHost: true})
	if err != nil {
		return err
	}
	var lines []string
	_, err = store.Check(ctx, datastore.CheckOptions{Each: func(f datastore.Finding) {
		if f.Kind == datastore.FindingUnchecked {
			lines = append(lines, fmt.Sprint(f.Kind, " ", f.Path, " ", f.Err))
		}
	}})
	pipe.Say(strings.Join(lines, "; "))
	return err
}

// repairAll repairs all but the chunk directories, and makes an error of whatever could not be.
func repairAll(ctx context.Context, dir string, disk *fsop.Disk) error {
	return repairAllAs(ctx, dir, datastore.Options{OnlyHost: true, Disk: sparing(disk)})
}

func repairAllAs(ctx context.Context, dir string, opts datastore.Options) error {
	store, err := datastore.Open(dir, opts)
	if err != nil {
		return err
	}
	var failed []error
	_, err = store.Check(ctx, datastore.CheckOptions{Repair: true, Each: func(f datastore.Finding) {
		if f.Err != nil && !errors.Is(f.Err, errSpared) {
			failed = append(failed, f.Err)
		}
	}})
	return errors.Join(append(failed, err)...)
}

// battered has one of everything that a repair mends.
func battered(store *testds.Store) {
	t, ok := store.T.(*testing.T)
	if !ok {
		return
	}
	store.Leftovers = true
	for name, d := range damages {
		if d.kind.Repairable() && !d.kept && !d.chunks && !d.as && name != "no chunk directories" {
			d.plant(t, store.Dir)
		}
	}
}

// mended is 1 for a store in which nothing is to be repaired, else 0.
func mended(store *testds.Store) int {
	store.T.Helper()
	left := 0
	_, err := store.Open(datastore.Options{}).Check(store.T.Context(), datastore.CheckOptions{Each: func(f datastore.Finding) {
		if f.Repairable && f.Kind != datastore.FindingChunkDirs {
			left++
		}
	}})
	if err != nil {
		store.T.Error(err)
	}
	// Whatever is still in the way of a restore is found by Check, and so only what was mended has to be sound.
	store.Damaged = left > 0
	if left > 0 {
		return 0
	}
	return 1
}

func TestARepairThatFailsSomewhereGoesOnAndIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	for script := range fsoptest.Failures(t, unix.EIO) {
		store := damageStore(t)
		battered(store)
		err := repairAll(t.Context(), store.Dir, script.Disk())
		if spared := strings.Contains(script.String(), "/.chunks/0000"); !spared && script.Injected() != errors.Is(err, unix.EIO) || !script.Injected() && err != nil {
			t.Errorf("%s: %v", script, err)
		}
		if err := repairAll(t.Context(), store.Dir, nil); err != nil {
			t.Errorf("%s: the next one: %v", script, err)
		}
		if mended(store) != 1 {
			t.Errorf("%s: not mended", script)
		}
		store.Leftovers = false
		for _, problem := range store.Problems() {
			t.Errorf("%s: %s", script, problem)
		}
	}
}

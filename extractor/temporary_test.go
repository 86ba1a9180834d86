package extractor

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/pxar"
)

// TestEntriesThatAreNamedLikeTemporaryOnesAreRestored has entries whose names others of the same directory would have while they are made.
func TestEntriesThatAreNamedLikeTemporaryOnesAreRestored(t *testing.T) {
	t.Parallel()
	for _, kind := range []pxar.Kind{pxar.File, pxar.Directory} {
		for _, first := range []string{"!before", "victim"} {
			t.Run(fmt.Sprint(kind, " ", first), func(t *testing.T) {
				t.Parallel()
				reserved, archive := colliding(t, kind, first)
				target := t.TempDir()
				whole(t, openArchive(t, archive, nil), target, Options{})
				want := strings.Join(sortedBytes(first, reserved, reserved+another), " ")
				if got := names(t, target); got != want {
					t.Errorf("there are %s, want %s", got, want)
				}
				if readFile(t, target, first) != "content" || readFile(t, target, reserved+another) != "more" {
					t.Error("an entry has the content of another one")
				}
			})
		}
	}
}

// colliding is an archive in which an entry has the name that the one called first has while it is made, and one the name that comes after that.
func colliding(t *testing.T, kind pxar.Kind, first string) (reserved string, archive []byte) {
	t.Helper()
	position := uint64(0)
	for range 3 { // until the name is that of the position
		reserved = fmt.Sprintf("%s%x", temporaryPrefix, position)
		archive = built(t, pxar.Metadata{}, func(w *pxar.Writer) {
			for _, name := range sortedBytes(first, reserved, reserved+another) {
				switch name {
				case first:
					position = put(t, w, pxar.File, name, "content")
				case reserved:
					put(t, w, kind, name, "kept")
					if kind == pxar.Directory {
						leave(t, w)
					}
				default:
					put(t, w, pxar.File, name, "more")
				}
			}
		})
	}
	if want := fmt.Sprintf("%s%x", temporaryPrefix, position); reserved != want {
		t.Fatalf("%s, and not %s", reserved, want)
	}
	return reserved, archive
}

func TestANameIsTemporaryOnlyIfARestoreMayChooseIt(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		temporaryPrefix + "1f": true, temporaryPrefix + "1fxx": true,
		temporaryPrefix + "1g": false, "a" + temporaryPrefix + "1": false, temporaryPrefix + string(bytes.Repeat([]byte("1"), 64)): false,
	} {
		if got := isTemporary(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func sortedBytes(names ...string) []string {
	slices.Sort(names)
	return names
}

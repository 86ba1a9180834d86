package extractor

import (
	"fmt"
	"strings"

	"github.com/pbs-like/pbs-like/pxar"
)

const (
	temporaryPrefix = ".pbs-like-restore-"
	// another comes behind a temporary name that an entry of the archive has, as often as is needed.
	another = "x"
	// maxTemporary is how long a temporary name may become; longer ones of the archive's can't be one.
	maxTemporary = 64
	// maxReserved bounds how many entries of an archive may be named like temporary ones, which have to be remembered.
	maxReserved = 64 << 10
)

// temporary is the name that an entry has while it is made. It is the same in the next run, which
// so finds what one that was killed has left. No entry that was restored into the directory has it.
func (d *directory) temporary(e *pxar.Entry) string {
	name := fmt.Sprintf("%s%x", temporaryPrefix, e.Position())
	for d.reserved[name] {
		name += another
	}
	return name
}

// reserve is for an entry that is named as others may be while they are made: in a tree that was restored in part
// and then backed up, say. None of these is being made when it gets its name, and none gets it after that.
func (d *directory) reserve(name string) error {
	if !isTemporary(name) {
		return nil
	}
	if d.run.reserved++; d.run.reserved > maxReserved {
		return fmt.Errorf("%w: more than %d begin with %q", ErrName, maxReserved, temporaryPrefix)
	}
	if d.reserved == nil {
		d.reserved = map[string]bool{}
	}
	d.reserved[name] = true
	d.run.idle()
	return nil
}

func isTemporary(name string) bool {
	number, ok := strings.CutPrefix(name, temporaryPrefix)
	return ok && len(name) <= maxTemporary && strings.Trim(number, "0123456789abcdef"+another) == ""
}

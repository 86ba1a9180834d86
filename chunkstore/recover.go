package chunkstore

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/pbs-like/pbs-like/digest"
)

// Recover looks for a good file of a chunk that is missing, among those that were
// put aside as damaged, and gives it its name back. It returns the name that it had,
// or "" for none. [Store.Condemn] leaves such a file where it dies between the
// renaming of a file that is another one than it read, and putting that back.
//
// Good is what was read to its end and has the digest. Of an encrypted chunk nobody
// can tell without the key. Without rename nothing is changed. Who asks reads the
// chunk again: it may be another one by now.
func (s *Store) Recover(d digest.Digest, loader *Loader, rename bool) (string, error) {
	name := nameOf(d)
	for n := range badSlots {
		bad := fmt.Sprintf("%s.%d%s", name.file(), n, badSuffix)
		if _, err := s.readAgain(d, name.dir()+"/"+bad, loader); err != nil {
			continue // whatever it is, it is no good chunk
		}
		if !rename {
			return bad, nil
		}
		return bad, s.giveBack(name, bad)
	}
	return "", nil
}

// giveBack renames a file to the name of its chunk, unless there is one by now.
func (s *Store) giveBack(name chunkName, bad string) error {
	dir, err := s.openPrefix(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	err = s.disk.Rename(dir, bad, dir, name.file())
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil // a writer made another one, or another verification was faster
	}
	return err
}

package chunkstore

import (
	"context"
	"errors"
	"io/fs"
)

// Directories is how many chunk directories a complete store has.
const Directories = prefixes

// ParseDirectory reads the name of a chunk directory, four lower-case hex digits.
func ParseDirectory(name string) (number int, ok bool) { return prefixNumber(name) }

// Complete makes the chunk directories that are missing, as after a copy by a
// program that skips empty ones, and tells how many it made. Those that are there
// stay as they are. After an error some are made, and the next call makes the rest.
func (s *Store) Complete(ctx context.Context) (made int, err error) {
	return s.complete(ctx, prefixes)
}

func (s *Store) complete(ctx context.Context, total int) (made int, err error) {
	there, err := s.directories()
	if err != nil {
		return 0, err
	}
	for number := range total {
		if len(there) > 0 && there[0] == number {
			there = there[1:]
			continue
		}
		if err := ctx.Err(); err != nil {
			return made, err
		}
		switch err := s.disk.Mkdir(s.chunks, prefixName(number), dirMode); {
		case err == nil:
			made++
		case !errors.Is(err, fs.ErrExist): // a writer makes those that it needs
			return made, err
		}
	}
	if made == 0 {
		return 0, nil
	}
	return made, s.disk.SyncDir(s.chunks)
}

// ParseFile tells what a name in the chunk directory of this number means.
func ParseFile(number int, name string) File { return parseFile(number, name) }

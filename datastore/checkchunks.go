package datastore

import (
	"context"
	"fmt"
	"os"

	"github.com/pbs-like/pbs-like/chunkstore"
	"github.com/pbs-like/pbs-like/digest"
	"github.com/pbs-like/pbs-like/internal/beneath"
)

// chunkTally is what is known of the chunk directories as a whole when all were seen.
type chunkTally struct {
	directories int
	using       int
	firstUsing  string
}

// checkChunks looks at the chunk directories.
func (c *checker) checkChunks(ctx context.Context) {
	var tally chunkTally
	c.eachEntry(ctx, chunkDirName, func(e entry) {
		number, ok := chunkstore.ParseDirectory(e.name)
		if !ok {
			c.leftoverOrUnknown(ctx, e)
			return
		}
		c.progress(number)
		if c.directory(e, chunkDirMode) {
			tally.directories++
			c.chunkDirectory(ctx, number, e, &tally)
		}
	})
	if ctx.Err() != nil {
		return
	}
	c.report.ChunkDirectories = tally.directories
	if tally.using > 0 {
		c.found(FindingObjectCache, tally.firstUsing, fmt.Sprintf("and %d more marks of chunks in use: the local cache of an object store has these", tally.using-1), nil)
	}
	if missing := chunkstore.Directories - tally.directories; missing > 0 {
		c.found(FindingChunkDirs, chunkDirName, fmt.Sprintf("%d of %d directories are missing", missing, chunkstore.Directories), func() error {
			_, err := c.chunks.Complete(ctx)
			return err
		})
	}
}

func (c *checker) progress(number int) {
	operation := "check"
	if c.surveying {
		operation = "survey"
	}
	c.Datastore.opts.Events.progress(Progress{Operation: operation, Object: c.path, Done: uint64(number) + 1, Total: chunkstore.Directories, Items: true})
}

func (c *checker) chunkDirectory(ctx context.Context, number int, at entry, tally *chunkTally) {
	dir, err := beneath.OpenDir(at.dir, at.name)
	if err != nil {
		c.unlisted(at.path(), err)
		return
	}
	defer dir.Close()
	c.eachName(ctx, dir, at.path(), func(name string) {
		c.chunkFile(ctx, dir, at, chunkstore.ParseFile(number, name), tally)
	})
}

func (c *checker) chunkFile(ctx context.Context, dir *os.File, at entry, f chunkstore.File, tally *chunkTally) {
	e := entry{dir: dir, parent: at.path(), name: f.Name}
	switch f.Kind {
	case chunkstore.ChunkFile:
		c.report.ChunkFiles++
		if c.opts.Chunks {
			c.chunkItself(e)
		}
	case chunkstore.BadFile:
		c.found(FindingChunkBad, e.path(), "was found damaged by a verification", nil)
	case chunkstore.TempFile:
		if e, ok := c.entry(e.dir, e.parent, e.name); ok {
			c.tempFile(e, c.removeUnder(ctx, e, nil))
		}
	case chunkstore.UsingMarker:
		if tally.using++; tally.using == 1 {
			tally.firstUsing = e.path()
		}
	case chunkstore.OtherFile:
		c.otherFile(ctx, e)
	}
}

// chunkItself looks at the file of a chunk, not into it.
func (c *checker) chunkItself(e entry) {
	e, ok := c.entry(e.dir, e.parent, e.name)
	if ok && c.file(e) && e.stat.Size == 0 {
		c.found(FindingChunkEmpty, e.path(), "has no bytes: its content is lost", nil)
	}
}

func (c *checker) otherFile(ctx context.Context, e entry) {
	if _, err := digest.Parse(e.name); err == nil {
		c.found(FindingChunkMisplaced, e.path(), "is named like a chunk of another directory, where nobody looks for it", nil)
		return
	}
	if e, ok := c.entry(e.dir, e.parent, e.name); ok {
		c.leftoverOrUnknown(ctx, e)
	}
}

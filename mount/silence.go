package mount

import (
	"io"
	"log"
)

// silence is for the library for FUSE, which would write to standard error by itself. What is worth telling is told by events.
func silence() *log.Logger { return log.New(io.Discard, "", 0) }

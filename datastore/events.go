package datastore

// Events are the functions through which an operation tells what it does. Each
// may be nil. They are called on the goroutines that do the work, several at a
// time, and hold up the work while they run.
type Events struct {
	// Progress is called as work is done.
	Progress func(Progress)
	// Waiting is called once when an operation begins to wait for a lock; the
	// error is the refusal (a *flock.LockedError) that it would have given at once.
	Waiting func(error)
	// Notice is called with what the user should know though it is no failure.
	Notice func(Notice)
}

// Progress is how far an operation has come.
type Progress struct {
	// Operation is "create", "backup", "restore", "remove" or "prune".
	Operation string
	// Object is what is worked on, such as "vm/100/2026-01-02T03:04:05Z/drive-scsi0.img".
	Object string
	// Done and Total are bytes, or things where Items is set. Total is 0 where it is not known.
	Done, Total uint64
	Items       bool
	// Reused is how many of the bytes done were in the store already.
	Reused uint64
	// Files is how many files of a directory tree are done.
	Files uint64
}

// Notice is something worth knowing that did not stop the operation.
type Notice struct {
	// Object is what it is about, relative to the store.
	Object string
	Text   string
	// Err is the cause, or nil.
	Err error
}

func (e Events) progress(p Progress) {
	if e.Progress != nil {
		e.Progress(p)
	}
}

func (e Events) waiting(err error) {
	if e.Waiting != nil {
		e.Waiting(err)
	}
}

func (e Events) notice(object, text string, err error) {
	if e.Notice != nil {
		e.Notice(Notice{Object: object, Text: text, Err: err})
	}
}

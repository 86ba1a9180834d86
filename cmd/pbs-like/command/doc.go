// Package command is the command line of pbs-like.
//
// Each verb has a file of its own with a constructor: flags become options, one
// call of package datastore does the work, and the answer becomes a table or
// JSON. What they share is each in one place too:
//
//   - arguments.go sorts the words of a command line, so that flags may stand
//     before and after arguments;
//   - exitcode.go has the one table of exit codes;
//   - logging.go, progress.go and events.go turn what the library reports into
//     lines on standard error; table.go and json.go write results to standard
//     output, entry by entry, so that a listing needs no memory for its length;
//   - printable.go keeps control characters of names found on disk away from
//     the terminal;
//   - complete.go answers the shell while a line is being typed, and man.go
//     writes the manual page; both read the same tree of commands.
//
// [Run] is the whole program but for its signals:
//
//	code := command.Run(ctx, []string{"pbs-like", "list"}, command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
//
// Not promised: the texts. Scripts read exit codes and JSON, both of which the
// manual page documents.
package command

// Package activity lets processes say what they are doing, to whoever meets their
// locks: a line such as "backup of vm/100, 38 % done" beside a process number.
//
//   - [Place] says where: directories that do not outlive the machine's run.
//   - [Publisher] says it, one small file for each [Activity].
//   - [Reader] finds what a process says.
//
// # Files
//
// A file is named PID-START-RANDOM, with the process' start as in field 22 of
// /proc/PID/stat, so that another process of the same number is not taken for its
// writer. It holds one JSON object and is replaced as a whole, about once a second
// at most. The end of the activity removes it. What a killed process leaves behind
// counts for nothing, and the next process that publishes there removes it.
//
// # Trust
//
// Everybody may write nonsense into a file of his own. So a file says something about
// a process only where it belongs to the user that the process runs as; it is read
// up to a bound, never through a link, from a pipe or across a mount, and its text is
// cut and escaped before it is shown.
//
// # Not promised
//
// Publishing never fails: where there is no directory to write to, nothing is
// published. Users other than root need XDG_RUNTIME_DIR, or a directory with the
// number of the user in /run/pbs-like. Linux only.
package activity

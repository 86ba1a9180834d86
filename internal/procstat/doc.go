// Package procstat reads /proc/PID/stat: whether a process still runs, and when it
// started. Number and start together name a process for as long as the machine is up,
// where the number alone is given to another one some day. See proc_pid_stat(5).
package procstat

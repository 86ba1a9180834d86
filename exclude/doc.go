// Package exclude decides what a backup of a directory leaves out, and what a restore
// selects: patterns as proxmox-backup-client has them, on its command line and in files named .pxarexclude.
//
//	p, err := exclude.ParseArgument("/var/cache/*")
//	...
//	list := exclude.List{p}
//	list.Match("/var/cache/apt", true) // exclude.Exclude
//
// # Patterns
//
// The last pattern of a list that matches decides. A leading "!" includes again; a trailing slash means directories only. A pattern matches
// the whole path or what stands behind one of its slashes, so that "foo" matches /foo and /a/foo, and "/foo" only the first; an
// anchored one, which begins with a slash in a file, matches the whole path only. Patterns are about bytes.
//
//	?        one byte but a slash
//	*        any bytes but a slash, none and a leading dot included
//	**       any bytes, where it stands alone between slashes; "**/" may be nothing at all
//	[a-z]    one byte; ^ as the first negates, \ takes the next one as it is, [:digit:] and its like are known
//	\c       c
//
// Matching takes time in proportion to the path and the pattern, whatever they are.
package exclude

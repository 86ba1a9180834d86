// Package backupinfo holds the words of a backup store as values: types,
// namespaces, groups, snapshots, owners, archive names and manifests.
//
// It reads and writes text and JSON and never touches a file.
package backupinfo

package pbsrun

import (
	"path"
	"strings"

	"github.com/pbs-like/pbs-like/internal/unitname"
)

const (
	hashedDir    = "hashed"
	manifestLock = ".index.json.lck"
)

// LockName is the path of a lock file of server 3.3.5 and later, relative to the
// directory of the datastore's locks. namespace is "" or parts joined by "/", name
// is "type/id" or "type/id/time".
func LockName(namespace, name string) string {
	file, hashed := unitname.File(name)
	if hashed {
		file = path.Join(hashedDir, file)
	}
	return path.Join(strings.ReplaceAll(namespace, "/", ":"), file)
}

// ManifestLockName is [LockName] for the manifest of the snapshot "type/id/time".
func ManifestLockName(namespace, snapshot string) string {
	return LockName(namespace, snapshot+"/"+manifestLock)
}

// OldManifestLockName is the path of the manifest's lock file of servers before
// 3.3.5, relative to the same directory. dir is the snapshot's directory relative
// to the datastore, such as "ns/a/vm/100/2026-01-15T03:00:00Z".
func OldManifestLockName(dir string) string {
	return path.Join(dir, path.Base(dir)+manifestLock)
}

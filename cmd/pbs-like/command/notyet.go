package command

// commandsToCome are commands that users of proxmox-backup-client may type, and
// what to know about them. A command that comes to be deletes its line here.
func commandsToCome() map[string]string {
	return map[string]string{
		"benchmark": "measuring is not there yet",
		"catalog":   `"ls" lists what is in an archive, "find" looks for a name in all of them, "cat" and "export" get it out`,
		"login":     noServer,
		"logout":    noServer,
		"map":       "mapping images is not there yet",
		"task":      noServer,
		"unmap":     "mapping images is not there yet",

		"snapshot upload-log": "adding a log is not there yet; a backup can take one along, as client.log:PATH",
	}
}

// flagsToCome are the same for flags.
func flagsToCome() map[string]string {
	return map[string]string{
		"rate":  noServer,
		"burst": noServer,
	}
}

const (
	noServer = "there is no server and no network here, only the datastore's directory"
)

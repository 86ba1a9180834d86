package backupinfo

// The names that a snapshot's or a group's directory holds besides archives.
const (
	ManifestName  = "index.json.blob" // in a snapshot: the manifest; its presence means finished
	ClientLogName = "client.log.blob" // in a snapshot: the client's log, may come after the manifest
	ProtectedName = ".protected"      // in a snapshot: an empty marker against removal
	OwnerName     = "owner"           // in a group: an auth id, see ParseOwner
	NotesName     = "notes"           // in a group: free text
)

// Package unitname turns any bytes into the name of one file, as systemd turns a
// path into the name of a unit and a Proxmox Backup Server a lock's name into that
// of its file.
package unitname

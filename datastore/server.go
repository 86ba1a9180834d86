package datastore

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// serverConfig is where a Proxmox Backup Server lists the datastores that it serves.
const serverConfig = "/etc/proxmox-backup/datastore.cfg"

// checkServer refuses to change a store that a server on this machine is
// configured to serve: since version 3.3.5 its locks are files elsewhere, which
// are not taken here, and it does not see ours.
func (d *Datastore) checkServer(root *os.File) error {
	if d.opts.ServerStopped {
		return nil
	}
	name := d.opts.ServerConfig
	if name == "" {
		name = serverConfig
	}
	config, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		// Who may not read it is not the user that the server's stores belong to.
		return nil
	}
	if err != nil {
		return err
	}
	defer config.Close()
	own, err := identityOf(root)
	if err != nil {
		return err
	}
	served, err := servedAs(config, own)
	if err != nil || served == "" {
		return err
	}
	return fmt.Errorf("%q is the datastore %q of the Proxmox Backup Server on this machine: %w", d.path, served, ErrServed)
}

// servedAs finds the name under which a server's configuration has a directory.
// It is made of sections: "datastore: NAME", and below it indented "path DIR".
func servedAs(config io.Reader, store identity) (string, error) {
	section := ""
	lines := bufio.NewScanner(config)
	for lines.Scan() {
		line := lines.Text()
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch value = strings.TrimSpace(value); {
		case line == "" || line[0] == '#':
		case line[0] != ' ' && line[0] != '\t':
			section = ""
			if key == "datastore:" {
				section = value
			}
		case key == "path" && section != "" && isDirectory(value, store):
			return section, nil
		}
	}
	return "", lines.Err()
}

func isDirectory(path string, store identity) bool {
	var stat unix.Stat_t
	return unix.Stat(path, &stat) == nil && store == identity{dev: stat.Dev, ino: stat.Ino}
}

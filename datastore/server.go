package datastore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pbs-like/pbs-like/internal/beneath"
	"github.com/pbs-like/pbs-like/internal/fsop"
	"github.com/pbs-like/pbs-like/internal/pbsrun"
)

// ServerPlace says where a Proxmox Backup Server on this machine has its things.
// The zero value is where they are unless somebody moved them.
type ServerPlace struct {
	// Etc is the directory with its configuration, /etc/proxmox-backup.
	Etc string
	// Run is the directory with its locks, /run/proxmox-backup.
	Run string
	// Mounts is where it mounts removable datastores, /mnt/datastore.
	Mounts string
	// User is the name or number of whom its daemons run as, "backup".
	User string
	// Log is the directory with the list of its active tasks, /var/log/proxmox-backup.
	Log string
}

func (p ServerPlace) server(disk *fsop.Disk) *pbsrun.Server {
	return pbsrun.New(pbsrun.Options{Etc: p.Etc, Run: p.Run, Mounts: p.Mounts, User: p.User, Disk: disk})
}

// served gives the store as the server of this machine serves it, nil where none
// does. It is asked anew for each operation: an administrator may have changed it.
func (d *Datastore) served() (*pbsrun.Store, error) {
	return d.server.Find(d.id.dev, d.id.ino)
}

// checkReadable refuses to look at a store of which the server's administrator
// says that nobody may, or that is not there. Where that can't be found out, reading
// goes on; the notice about it comes with the lock.
func (d *Datastore) checkReadable() error {
	served, err := d.served()
	if err != nil || served == nil {
		return nil //nolint:nilerr // see above
	}
	if err := d.checkMounted(served); err != nil {
		return err
	}
	return d.checkMaintenance(served, pbsrun.Reading)
}

// checkServer refuses to change a store that the server of this machine serves
// where its locks can't be had, or where nobody is to change it.
func (d *Datastore) checkServer(root *os.File) error {
	served, err := d.served()
	if os.Geteuid() != 0 {
		// The server's user may read it, so that this is somebody else, whose store is not the server's.
		err = ignorePermission(err)
	}
	if err != nil || served == nil {
		return err
	}
	if served.OnlyCache() {
		return fmt.Errorf("%q is the datastore %q of the Proxmox Backup Server on this machine with the backend %q: the directory is %w",
			d.path, served.Name, served.Backend, ErrObjectCache)
	}
	if err := d.checkMounted(served); err != nil || d.opts.ServerStopped {
		return err
	}
	if err := d.checkMaintenance(served, pbsrun.Writing); err != nil {
		return err
	}
	return d.checkServerUser(root, served)
}

func ignorePermission(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

func (d *Datastore) checkMounted(served *pbsrun.Store) error {
	mounted, err := served.Mounted()
	if err == nil && !mounted {
		err = fmt.Errorf("%q is the removable datastore %q, whose device %q is not mounted there: %w", d.path, served.Name, served.Device, ErrNotMounted)
	}
	return err
}

func (d *Datastore) checkMaintenance(served *pbsrun.Store, use pbsrun.Use) error {
	mode := served.Maintenance
	if d.opts.ServerStopped || mode.AllowsWriting() || use == pbsrun.Reading && mode.AllowsReading() {
		return nil
	}
	text := ""
	if mode.Message != "" {
		text = fmt.Sprintf(" (%q)", mode.Message)
	}
	return fmt.Errorf("%q is the datastore %q of the Proxmox Backup Server on this machine, which is in %w: %q%s", d.path, served.Name, ErrMaintenance, mode.Mode, text)
}

// checkServerUser makes sure that the server's locks can be taken, and that the
// server can work with what is made.
func (d *Datastore) checkServerUser(root *os.File, served *pbsrun.Store) error {
	owner, err := d.server.Owner()
	if err != nil {
		return err
	}
	name := d.server.UserName()
	if uid := os.Geteuid(); uid != 0 && uid != owner.UID {
		return fmt.Errorf("the locks of datastore %q belong to the user %q of the Proxmox Backup Server, this process runs as %d: %w; run it as %q or as root",
			served.Name, name, uid, ErrWrongUser, name)
	}
	stat, err := beneath.Stat(root, ".")
	if err == nil && stat.Uid != uint32(owner.UID) {
		err = fmt.Errorf("%q is the datastore %q of a Proxmox Backup Server that runs as %q, and belongs to user id %d: %w; change the owner of all that is in it",
			d.path, served.Name, name, stat.Uid, ErrWrongUser)
	}
	return err
}

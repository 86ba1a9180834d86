package command

import "github.com/pbs-like/pbs-like/backupinfo"

// changes prints what was done with each of several objects: lines, or a list as JSON.
type changes struct {
	p    *program
	list *jsonList
}

func (p *program) newChanges(format outputFormat) *changes {
	c := &changes{p: p}
	if format != formatText {
		c.list = &jsonList{out: p.out, pretty: format == formatJSONPretty}
	}
	return c
}

func (c *changes) add(line string, value any) error {
	if c.list != nil {
		return c.list.add(value)
	}
	return c.p.summary(line)
}

// close ends the output, also after an error: JSON must stay JSON.
func (c *changes) close(err error) error {
	if c.list == nil {
		return err
	}
	if closeErr := c.list.close(); err == nil {
		return closeErr
	}
	return err
}

type changedProtectionJSON struct {
	ID        string          `json:"backup-id"`
	Time      int64           `json:"backup-time"`
	Type      backupinfo.Type `json:"backup-type"`
	Changed   bool            `json:"changed"`
	Namespace string          `json:"ns,omitempty"`
}

func newChangedProtection(s backupinfo.Snapshot, changed bool) changedProtectionJSON {
	return changedProtectionJSON{s.Group.ID, int64(s.Time), s.Group.Type, changed, s.Group.Namespace.String()}
}

type changedOwnerJSON struct {
	ID        string          `json:"backup-id"`
	Type      backupinfo.Type `json:"backup-type"`
	Namespace string          `json:"ns,omitempty"`
	Owner     string          `json:"owner"`
}

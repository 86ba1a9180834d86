package backupinfo

import "fmt"

// Type is the kind of machine that was backed up, and the first directory of a
// group's path. The zero value is no type. Types order as their text does.
type Type string

// The types that the format knows.
const (
	CT   Type = "ct"   // a container
	Host Type = "host" // a machine backed up from within
	VM   Type = "vm"   // a virtual machine
)

// Types lists all types in their order.
func Types() [3]Type { return [3]Type{CT, Host, VM} }

// ParseType accepts exactly "ct", "host" and "vm".
func ParseType(s string) (Type, error) {
	t := Type(s)
	if err := t.Validate(); err != nil {
		return "", err
	}
	return t, nil
}

// Validate returns an error for anything but the three known types.
func (t Type) Validate() error {
	switch t {
	case CT, Host, VM:
		return nil
	}
	return fmt.Errorf("backup type %s: must be ct, host or vm", quote(string(t)))
}

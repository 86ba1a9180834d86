package pbsrun

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
)

// Datastore is a section of the server's datastore.cfg, as far as it concerns
// somebody who works on the same directory.
type Datastore struct {
	Name string
	// Path is the directory; with Device it is relative to where that is mounted.
	Path string
	// Device is the UUID of the file system of a removable datastore, or empty.
	Device string
	// Backend is where the chunks are: empty or "filesystem" for the directory
	// itself, "s3" for an object store of which it is the cache.
	Backend string
	// Maintenance is what the server's administrator allows at the moment.
	Maintenance Maintenance
	// GCSchedule is when the server collects garbage, or empty.
	GCSchedule string
	// Tuning are its settings, such as "gc-atime-cutoff", as they are written.
	Tuning map[string]string
}

// OnlyCache tells whether the directory holds no chunks, but a cache of them.
func (d Datastore) OnlyCache() bool { return d.Backend != "" && d.Backend != "filesystem" }

// Maintenance is a maintenance mode of a datastore. The zero value is none.
type Maintenance struct {
	// Mode is "read-only", "offline", "delete", "unmount" or what a newer server knows.
	Mode string
	// Message is the administrator's, or empty.
	Message string
}

// AllowsReading tells whether the mode lets anybody look at the datastore.
func (m Maintenance) AllowsReading() bool { return m.Mode == "" || m.Mode == "read-only" }

// AllowsWriting tells whether the mode lets anybody change the datastore.
func (m Maintenance) AllowsWriting() bool { return m.Mode == "" }

// ErrConfig means that the server's configuration can't be understood.
var ErrConfig = errors.New("not a configuration of datastores")

const (
	maxConfig     = 4 << 20
	maxConfigLine = 64 << 10
	maxDatastores = 10_000
)

// ParseConfig reads a datastore.cfg: sections that begin with "TYPE: NAME" at the
// beginning of a line, and indented "key value" lines in them. Sections of other
// types and unknown keys are passed over. What is too long is [ErrConfig]: a
// section that is not seen would be a datastore that is not locked.
func ParseConfig(r io.Reader) ([]Datastore, error) {
	limited := &io.LimitedReader{R: r, N: maxConfig + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, maxConfigLine)
	var list []Datastore
	var current *Datastore
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), " \t\r")
		switch {
		case line == "" || line[0] == '#':
		case line[0] != ' ' && line[0] != '\t':
			current = nil
			if kind, name, ok := strings.Cut(line, ":"); ok && kind == "datastore" {
				list = append(list, Datastore{Name: strings.TrimSpace(name)})
				current = &list[len(list)-1]
			}
		case current != nil:
			current.set(strings.TrimLeft(line, " \t"))
		}
		if len(list) > maxDatastores {
			return nil, fmt.Errorf("more than %d datastores: %w", maxDatastores, ErrConfig)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("a line of more than %d bytes: %w", maxConfigLine, ErrConfig)
	} else if err != nil {
		return nil, err
	}
	if limited.N <= 0 {
		return nil, fmt.Errorf("more than %d bytes: %w", maxConfig, ErrConfig)
	}
	return list, nil
}

func (d *Datastore) set(line string) {
	key, value, _ := strings.Cut(line, " ")
	value = strings.TrimSpace(value)
	switch key {
	case "path":
		d.Path = value
	case "backing-device":
		d.Device = value
	case "gc-schedule":
		d.GCSchedule = value
	case "backend":
		d.Backend = properties(value, "type")["type"]
		if d.Backend == "" {
			d.Backend = "unknown" // and not the directory itself
		}
	case "maintenance-mode":
		p := properties(value, "type")
		d.Maintenance = Maintenance{Mode: p["type"], Message: p["message"]}
		if d.Maintenance.Mode == "" {
			d.Maintenance.Mode = "unknown"
		}
	case "tuning":
		d.Tuning = properties(value, "")
	}
}

// properties reads "key=value,key=value", in which a value may be quoted and the
// one without a key belongs to unnamed.
func properties(text, unnamed string) map[string]string {
	found := map[string]string{}
	for text != "" {
		key, rest := unnamed, text
		if i := strings.IndexAny(text, `=,"`); i >= 0 && text[i] == '=' {
			key, rest = strings.TrimSpace(text[:i]), text[i+1:]
		}
		var value string
		value, text = propertyValue(rest)
		if key != "" {
			found[key] = value
		}
	}
	return found
}

// propertyValue takes one value off the text, and the comma after it.
func propertyValue(text string) (value, rest string) {
	text = strings.TrimLeft(text, " ")
	if !strings.HasPrefix(text, `"`) {
		value, rest, _ = strings.Cut(text, ",")
		return strings.TrimSpace(value), rest
	}
	var b strings.Builder
	i := 1
	for ; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	_, rest, _ = strings.Cut(text[min(i, len(text)):], ",")
	return b.String(), rest
}

var storeName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{2,31}$`)

// check makes sure that the name can be one of a directory.
func (d Datastore) check() error {
	if !storeName.MatchString(d.Name) {
		return fmt.Errorf("the name of a datastore %q: %w", d.Name, ErrConfig)
	}
	return nil
}

// directory is where the datastore is in the tree of files.
func (d Datastore) directory(mounts string) string {
	if d.Device == "" {
		return d.Path
	}
	return path.Join(mounts, d.Name, d.Path)
}

package command

import (
	"bytes"
	"encoding/json"
	"io"
)

// jsonList writes an array element by element, so that a listing of any length
// needs the memory of one entry.
type jsonList struct {
	out    io.Writer
	pretty bool
	begun  bool
}

func (l *jsonList) add(element any) error {
	encoded, err := encodeJSON(element, l.pretty, "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(l.out, l.separator())
	if err == nil {
		_, err = l.out.Write(encoded)
	}
	return err
}

func (l *jsonList) separator() string {
	s := ","
	if !l.begun {
		s = "["
	}
	l.begun = true
	if l.pretty {
		s += "\n  "
	}
	return s
}

func (l *jsonList) close() error {
	end := "]\n"
	switch {
	case !l.begun:
		end = "[]\n"
	case l.pretty:
		end = "\n]\n"
	}
	_, err := io.WriteString(l.out, end)
	return err
}

// writeJSON writes one value and a line break.
func writeJSON(out io.Writer, value any, pretty bool) error {
	encoded, err := encodeJSON(value, pretty, "")
	if err == nil {
		_, err = out.Write(append(encoded, '\n'))
	}
	return err
}

func encodeJSON(value any, pretty bool, prefix string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if pretty {
		e.SetIndent(prefix, "  ")
	}
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return printableJSON(bytes.TrimRight(b.Bytes(), "\n")), nil
}

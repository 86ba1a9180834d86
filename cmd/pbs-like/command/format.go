package command

import (
	"github.com/urfave/cli/v2"
)

// outputFormat is the form of results on standard output.
type outputFormat string

const (
	formatText       outputFormat = "text"
	formatJSON       outputFormat = "json"
	formatJSONPretty outputFormat = "json-pretty"
)

func formatFlag() cli.Flag {
	return &cli.StringFlag{Name: flagFormat, Value: string(formatText), Usage: "`FORMAT` of the result: text, json or json-pretty"}
}

func outputFormatOf(c *cli.Context) (outputFormat, error) {
	switch f := outputFormat(c.String(flagFormat)); f {
	case formatText, formatJSON, formatJSONPretty:
		return f, nil
	default:
		return "", usageErrorf("--%s %q: must be text, json or json-pretty", flagFormat, string(f))
	}
}

// listing writes entries in the form that was asked for, each as it comes.
type listing[T any] struct {
	table *table
	list  *jsonList
	row   func(T) []string
	json  func(T) any
}

// newListing makes one; row gives an entry's cells for columns, json its JSON form.
func newListing[T any](p *program, format outputFormat, columns []column, row func(T) []string, json func(T) any) *listing[T] {
	l := &listing[T]{row: row, json: json}
	if format == formatText {
		l.table = newTable(p.out, columns)
	} else {
		l.list = &jsonList{out: p.out, pretty: format == formatJSONPretty}
	}
	return l
}

func (l *listing[T]) add(entry T) error {
	if l.table != nil {
		return l.table.add(l.row(entry))
	}
	return l.list.add(l.json(entry))
}

func (l *listing[T]) close() error {
	if l.table != nil {
		return l.table.close()
	}
	return l.list.close()
}

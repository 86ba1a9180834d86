package command

import (
	"io"
	"strings"
	"unicode/utf8"
)

// column is one column of a table.
type column struct {
	title string
	right bool // numbers
}

// widthRows is how many rows a table looks at before it settles on its widths.
// Listings of ordinary length come out aligned to the last cell; in longer ones
// a later cell may push its row out of line, which is the price for memory that
// does not grow with the listing.
const widthRows = 1000

// table writes rows in columns, separated by two spaces. Cells are made safe
// for a terminal. An empty one is a dash, so that the columns can be counted.
type table struct {
	out     io.Writer
	columns []column
	widths  []int
	waiting [][]string // rows before the widths are settled
	settled bool
	line    strings.Builder
}

func newTable(out io.Writer, columns []column) *table {
	t := &table{out: out, columns: columns, widths: make([]int, len(columns))}
	for i, c := range columns {
		t.widths[i] = len(c.title)
	}
	return t
}

// add takes one row. It may be written at once or later.
func (t *table) add(cells []string) error {
	for i := range cells {
		if cells[i] = printable(cells[i]); cells[i] == "" {
			cells[i] = "-"
		}
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cells[i]))
	}
	if t.settled {
		return t.write(cells)
	}
	t.waiting = append(t.waiting, cells)
	if len(t.waiting) < widthRows {
		return nil
	}
	return t.settle()
}

// settle writes the title and the rows that waited for their widths.
func (t *table) settle() error {
	if t.settled {
		return nil
	}
	t.settled = true
	rows := append([][]string{t.titles()}, t.waiting...)
	t.waiting = nil
	for _, row := range rows {
		if err := t.write(row); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) titles() []string {
	var titles []string
	for _, c := range t.columns {
		titles = append(titles, strings.ToUpper(c.title))
	}
	return titles
}

func (t *table) write(cells []string) error {
	t.line.Reset()
	for i, cell := range cells {
		padding := strings.Repeat(" ", max(0, t.widths[i]-utf8.RuneCountInString(cell)))
		switch {
		case t.columns[i].right:
			t.line.WriteString(padding + cell)
		case i == len(cells)-1:
			t.line.WriteString(cell)
		default:
			t.line.WriteString(cell + padding)
		}
		if i < len(cells)-1 {
			t.line.WriteString("  ")
		}
	}
	t.line.WriteByte('\n')
	_, err := io.WriteString(t.out, t.line.String())
	return err
}

func (t *table) isEmpty() bool { return !t.settled && len(t.waiting) == 0 }

// close writes what still waits.
func (t *table) close() error { return t.settle() }

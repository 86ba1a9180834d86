package command

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// view shows output that is made again and again: in place on a terminal, else one
// block below the other.
type view struct {
	p     *program
	file  *os.File // the terminal, or nil
	lines int      // that stand there from the last time
}

func newView(p *program) *view {
	v := &view{p: p}
	if f, ok := p.streams.Out.(*os.File); ok && isTerminal(f) {
		v.file = f
	}
	return v
}

// show runs make, and shows what it has written under a title, which JSON has none of.
func (v *view) show(title string, format outputFormat, make func() error) error {
	var block bytes.Buffer
	real := v.p.out
	v.p.out = bufio.NewWriter(&block)
	err := make()
	_ = v.p.out.Flush() // to memory
	v.p.out = real
	text := block.String()
	switch {
	case err != nil:
	case format != formatText:
	case v.file != nil:
		text = v.replace(title + "\n" + text)
	default:
		text = title + "\n" + text + "\n"
	}
	if _, failed := io.WriteString(v.p.out, text); failed != nil {
		return failed
	}
	if failed := v.p.out.Flush(); failed != nil {
		return failed
	}
	return err
}

// replace goes back to where the last block began. Lines that the terminal would wrap,
// and those that would scroll it, are cut: else nobody knows where that was.
func (v *view) replace(text string) string {
	width, height, err := term.GetSize(int(v.file.Fd()))
	if err != nil || width < 1 || height < 2 {
		width, height = 80, 24
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) >= height {
		lines = append(lines[:height-2], fmt.Sprintf("… and %d lines more", len(lines)-height+2))
	}
	var b strings.Builder
	if v.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", v.lines)
	}
	for _, line := range lines {
		b.WriteString(cutLine(line, width) + "\n")
	}
	v.lines = len(lines)
	return b.String()
}

func cutLine(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:max(0, width-1)]) + "…"
}

package command

import (
	"errors"
	"strings"
)

// splitWords splits a command line into words as a shell does: at white space,
// with quotes and backslashes, and without anything that a shell would replace.
func splitWords(line string) (words []string, err error) {
	var word strings.Builder
	begun, quote := false, rune(0)
	escaped := false
	for _, c := range line {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`", c) {
				word.WriteByte('\\')
			}
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				word.WriteRune(c)
			}
		case c == '\'' || c == '"':
			begun, quote = true, c
		case strings.ContainsRune(" \t\r\n", c):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			begun = true
			word.WriteRune(c)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("the command line ends within a quotation")
	}
	if begun {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("the command line is empty")
	}
	return words, nil
}

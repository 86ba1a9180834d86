package exclude

import "strings"

// parseClass reads what stands behind a [ into set, and gives the place behind the ].
func parseClass(text string, i int, set *byteSet) (int, error) {
	negated := strings.HasPrefix(text[i:], "^")
	if negated {
		i++
	}
	for i < len(text) && text[i] != ']' {
		if strings.HasPrefix(text[i:], "[:") {
			next, err := namedClass(text, i, set)
			if err != nil {
				return 0, err
			}
			i = next
			continue
		}
		first, next, err := classByte(text, i)
		if err != nil {
			return 0, err
		}
		last := first
		if next < len(text) && text[next] == '-' {
			if last, next, err = classByte(text, next+1); err != nil {
				return 0, err
			}
		}
		for c := int(min(first, last)); c <= int(max(first, last)); c++ {
			set.add(byte(c))
		}
		i = next
	}
	if i >= len(text) {
		return 0, errUnclosed
	}
	if negated {
		for word := range set {
			set[word] = ^set[word]
		}
	}
	return i + 1, nil
}

// classByte reads one byte, or two of which the first is a backslash.
func classByte(text string, i int) (c byte, next int, err error) {
	if i < len(text) && text[i] == '\\' {
		i++
	}
	if i >= len(text) {
		return 0, 0, errUnclosed
	}
	return text[i], i + 1, nil
}

func namedClass(text string, i int, set *byteSet) (int, error) {
	name, _, ok := strings.Cut(text[i+2:], ":]")
	in := classOf(name)
	if !ok || in == nil {
		return 0, errClassName
	}
	for c := range 256 {
		if c < 0x80 && in(byte(c)) {
			set.add(byte(c))
		}
	}
	return i + 2 + len(name) + 2, nil
}

func classOf(name string) func(byte) bool {
	in := func(ranges string) func(byte) bool { // pairs of the first and the last
		return func(c byte) bool {
			for i := 0; i < len(ranges); i += 2 {
				if ranges[i] <= c && c <= ranges[i+1] {
					return true
				}
			}
			return false
		}
	}
	switch name {
	case "alnum":
		return in("azAZ09")
	case "alpha":
		return in("azAZ")
	case "blank":
		return in("  \t\t")
	case "cntrl":
		return in("\x00\x1f\x7f\x7f")
	case "digit":
		return in("09")
	case "graph":
		return in("!~")
	case "lower":
		return in("az")
	case "print":
		return in(" \x7f")
	case "punct":
		return in("!/:@[`{~")
	case "space":
		return in("\t\r  ")
	case "upper":
		return in("AZ")
	case "xdigit":
		return in("09afAF")
	}
	return nil
}

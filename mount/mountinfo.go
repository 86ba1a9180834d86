package mount

import (
	"os"
	"strconv"
	"strings"
)

// fsType is the type of our mounts.
const (
	subtype = "pbs-like"
	fsType  = "fuse." + subtype
)

// mounted is one line of /proc/self/mountinfo.
type mounted struct {
	id, kind, source string
}

// mountedAt finds what is mounted on a directory; of several, what one sees.
func mountedAt(point string) (m mounted, ok bool, err error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return m, false, err
	}
	for line := range strings.Lines(string(text)) {
		left, right, found := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		before, after := strings.Fields(left), strings.Fields(right)
		if found && len(before) > 4 && len(after) > 1 && unescape(before[4]) == point {
			m, ok = mounted{before[0], after[0], unescape(after[1])}, true
		}
	}
	return m, ok, nil
}

// unescape undoes the kernel's escapes: a backslash and three octal digits.
func unescape(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pbs-like/pbs-like/pxar"
)

// warnOfDoubts names what can be carried out and is hardly meant.
func (p *program) warnOfDoubts(sources []*source, excluded []string) {
	p.warnOfNoArchives(sources)
	for _, s := range sources {
		for _, pattern := range excluded {
			if below, ok := belowSource(s, pattern); ok {
				p.log.Warn().Msg(fmt.Sprintf("--%s %q: a pattern counts from the directory that is backed up, %q: perhaps %q was meant",
					flagExclude, pattern, s.path, below))
			}
		}
	}
}

// belowSource is the pattern as it would have to be if it was written as a path that leads to the source first.
func belowSource(s *source, pattern string) (below string, ok bool) {
	if !s.dir {
		return "", false
	}
	include := ""
	if rest, is := strings.CutPrefix(pattern, "!"); is {
		include, pattern = "!", rest
	}
	paths := []string{filepath.Clean(s.path)}
	if absolute, err := filepath.Abs(s.path); err == nil {
		paths = append(paths, absolute)
	}
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(pattern, path+"/"); ok && rest != "" {
			return include + "/" + rest, true
		}
	}
	return "", false
}

// warnOfNoArchives names files that are stored under a name for directory trees and hold none: what reads trees will call them damaged.
func (p *program) warnOfNoArchives(sources []*source) {
	for _, s := range sources {
		if s.dir || s.flow || !strings.HasSuffix(s.name.Display(), ".pxar") {
			continue
		}
		if _, err := pxar.Open(s.file, s.size, pxar.OpenOptions{}); errors.Is(err, pxar.ErrCorrupt) {
			p.log.Warn().Msg(fmt.Sprintf("%s: %q is no pxar archive, and is stored as it is: "+
				"\"ls\", \"find\" and a restore of files will call it damaged", s.name.Display(), s.path))
		}
	}
}

package command

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// suggest names the candidate that was most likely meant, as the end of a
// message, or gives "" when none is near.
func suggest(typed string, candidates []string) string {
	best, bestDistance := "", max(1, len(typed)/3)+1
	for _, candidate := range candidates {
		if d := editDistance(typed, candidate); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// editDistance counts the single-byte changes that lead from a to b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func commandNames(commands []*cli.Command) []string {
	var names []string
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Names()...)
		}
	}
	return names
}

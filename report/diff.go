package report

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/term"
)

// UnifiedDiff writes the lines of a unified diff.
func (c *Console) UnifiedDiff(lines []string) error {
	s := c.Styler()
	for _, l := range lines {
		l, cr := strings.CutSuffix(l, "\r")
		l = strings.ReplaceAll(term.Clean(l), "\n", " ")
		switch {
		case strings.HasPrefix(l, "--- "), strings.HasPrefix(l, "+++ "):
			l = s.Bold(l)
		case strings.HasPrefix(l, "@@"):
			l = s.Dim(l)
		case strings.HasPrefix(l, "-"):
			l = s.Red(l)
		case strings.HasPrefix(l, "+"):
			l = s.Green(l)
		}
		if cr {
			l += "\r"
		}
		if _, err := fmt.Fprintln(c.Out, l); err != nil {
			return err
		}
	}
	return nil
}

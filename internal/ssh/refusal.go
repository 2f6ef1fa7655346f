package ssh

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/term"
)

// LineError reports a line that the device rejected. It is wrapped in an [*Error] that wraps
// errRefused.
type LineError struct {
	Number int // index of the line among those sent, from 1
	Line   string
	Words  string // the device's message in one line, safe to print
}

// Error returns the line and the device's message.
func (e *LineError) Error() string {
	return fmt.Sprintf("line %d: %q: %s", e.Number, e.Line, e.Words)
}

// Limits on what is kept of a device's messages.
const (
	maxWords = 1 << 10 // bytes
	maxNotes = 100     // lines
)

// refusal returns the device's message if a line of the output reports a rejection, or "". If
// first is set, only the first line counts.
func (n *Network) refusal(out string, first bool) string {
	marked := false
	for l := range strings.Lines(out) {
		if marked && strings.TrimSpace(l) != "" || slices.ContainsFunc(n.p.Failed, func(p string) bool { return strings.HasPrefix(l, p) }) {
			return clip(l)
		}
		if marked = marked || n.p.Marker != "" && strings.TrimSpace(l) == n.p.Marker; marked {
			continue
		}
		if first && strings.TrimSpace(l) != "" {
			break
		}
	}
	if marked {
		return n.p.Marker
	}
	return ""
}

func clip(s string) string { return term.CleanLine(strings.TrimSpace(s[:min(len(s), maxWords)])) }

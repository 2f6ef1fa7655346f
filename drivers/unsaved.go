package drivers

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// UnsavedLines names the sections that differ between the running and the saved configuration: a
// block by its first line, and a top-level line by its first two words, so that no values are
// printed. The order of lines is ignored.
func UnsavedLines(running, saved []*lines.Line) []string {
	have, kept := sections(running), sections(saved)
	differ := map[string]bool{}
	for _, texts := range []map[string]string{have, kept} {
		for name := range texts {
			if have[name] != kept[name] {
				differ[name] = true
			}
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return natural.Keys(differ)
}

// SurvivesRestart reports whether a restart would leave the modeled settings of the device and
// of its managed ports unchanged; a nil managed includes every port. It ignores ports that are
// down but saved as up, because someone shut them by hand and this tool must not save that, and
// values that the device derives for buffers.
func SurvivesRestart(running, saved *qos.Device, managed func(port string) bool) bool {
	differ := func(a, b *qos.Device, down string) bool {
		return slices.ContainsFunc(qos.Diff(a, b), func(c qos.Change) bool {
			shut := c.Field.Kind == qos.KindAdminUp && c.Old == down
			return !shut && c.Field.Kind != qos.KindDerivedFrom && (c.Port == "" || managed == nil || managed(c.Port))
		})
	}
	return !differ(running, saved, "false") && !differ(saved, running, "true")
}

// sections returns the content of each section in a canonical order.
func sections(ls []*lines.Line) map[string]string {
	in := map[string]map[string]bool{}
	for _, l := range ls {
		if strings.HasPrefix(l.Text, "!") || l.Text == "end" {
			continue
		}
		name := l.Text
		if len(l.Sub) == 0 {
			words := strings.Fields(l.Text)
			name = strings.Join(words[:min(2, len(words))], " ")
		}
		if in[name] == nil {
			in[name] = map[string]bool{}
		}
		var b strings.Builder
		write(&b, l)
		in[name][b.String()] = true
	}
	out := make(map[string]string, len(in))
	for name, texts := range in {
		out[name] = strings.Join(natural.Keys(texts), "\n")
	}
	return out
}

// write writes a line and the lines below it, sorted.
func write(b *strings.Builder, l *lines.Line) {
	b.WriteString(l.Text)
	below := map[string]bool{}
	for _, s := range l.Sub {
		if strings.HasPrefix(s.Text, "!") {
			continue
		}
		var sub strings.Builder
		write(&sub, s)
		below[sub.String()] = true
	}
	b.WriteString("{")
	for _, s := range natural.Keys(below) {
		b.WriteString(s + ";")
	}
	b.WriteString("}")
}

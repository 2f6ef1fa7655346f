package drivers

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// UnsavedLines names the sections of a command line's configuration that differ
// between what runs and what is saved: a block by its first line, a line of the
// top by its first two words, so that no value is printed. The order of lines
// means nothing.
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

// Lasts reports whether a device would be the same after a restart, in what the
// model has of the whole device and of managed ports; a nil managed takes every
// port. A port that is down and saved as up was shut by hand, which is not for
// this tool to save; what buffers are derived from follows by itself.
func Lasts(running, saved *qos.Device, managed func(port string) bool) bool {
	differ := func(a, b *qos.Device, down string) bool {
		return slices.ContainsFunc(qos.Diff(a, b), func(c qos.Change) bool {
			shut := c.Field.Kind == qos.KindAdminUp && c.Old == down
			return !shut && c.Field.Kind != qos.KindDerivedFrom && (c.Port == "" || managed == nil || managed(c.Port))
		})
	}
	return !differ(running, saved, "false") && !differ(saved, running, "true")
}

// sections returns what stands in each section, in an order of its own.
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

// write writes a line and what stands below it, sorted.
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

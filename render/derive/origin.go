package derive

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
)

// sample returns the port that stands for all others when origins are named: a pausing port, if
// there is one, of the first switch with an account.
func (d *deriver) sample() (s *box, port string) {
	for _, b := range d.switches {
		if len(b.Account) == 0 || len(b.names) == 0 {
			continue
		}
		i := slices.IndexFunc(b.names, func(n string) bool { return b.ports[n].run.PFC.Or(0) != 0 })
		return b, b.names[max(i, 0)]
	}
	return nil, ""
}

// origin returns the origin of attributes of the sample port: "leaf1.cfg:6,9-13", or rows of a
// database; "" if unknown. For map lines that set single keys, only the given keys count.
func (d *deriver) origin(keys []int, attrs ...qos.Attr) string {
	s, port := d.sample()
	if s == nil {
		return ""
	}
	var numbers []int
	var rows []string
	for _, l := range s.Account {
		if l.Fate != render.Represented || l.Ports != nil && !slices.Contains(l.Ports, port) {
			continue
		}
		sets := slices.ContainsFunc(attrs, func(a qos.Attr) bool {
			return slices.ContainsFunc(l.Attrs, func(b qos.Attr) bool { return b.Covers(a) })
		})
		if !sets || l.Keys != nil && !slices.ContainsFunc(l.Keys, func(k int) bool { return slices.Contains(keys, k) }) {
			continue
		}
		if l.No > 0 {
			numbers = append(numbers, l.No)
		} else if row := natural.FoldLists(l.Where); !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	slices.Sort(numbers)
	const few = 4
	switch file := filepath.Base(s.File); {
	case len(numbers) > 0 && s.File != "":
		return file + ":" + qos.FoldInts(slices.Compact(numbers))
	case len(numbers) > 0:
		return s.Name + " lines " + qos.FoldInts(slices.Compact(numbers))
	case len(rows) > few:
		return strings.Join(rows[:few], ", ") + ", ..."
	}
	return strings.Join(rows, ", ")
}

// classOrigin returns the origin of a class.
func (d *deriver) classOrigin(c class) string {
	q := d.base.tune[c.priority].queue
	return d.origin(append(slices.Clone(c.dscp), c.priority), qos.KindMap.Table(qos.DSCPToTC), qos.KindGlobalMap.Table(qos.DSCPToTC), qos.KindMap.Table(qos.PCPToTC), qos.KindGlobalMap.Table(qos.PCPToTC),
		qos.KindPFC.Attr(), qos.KindECN.At(q), qos.KindScheduler.At(q))
}

// head returns the comment at the top of an intent: its sources, and how many of their lines
// were not understood.
func (d *deriver) head() string {
	var from []string
	lost := 0
	for _, s := range d.switches {
		if s.File != "" {
			from = append(from, filepath.Base(s.File))
		} else if s.Account != nil {
			from = append(from, s.Name)
		}
		for _, l := range s.Account {
			if l.Fate == render.Unknown {
				lost++
			}
		}
	}
	if len(from) == 0 {
		return ""
	}
	const few = 4
	if len(from) > few {
		from = append(from[:few:few], fmt.Sprintf("and %d more", len(from)-few))
	}
	out := comment("Imported from " + strings.Join(from, ", ") + ".")
	if lost > 0 {
		out += comment(words.Plural(lost, "line was not understood, and stays as it is", "lines were not understood, and stay as they are") + ": see roce-fabric import --coverage.")
	}
	return out
}

// comment returns a comment line. Names of files and rows are untrusted text.
func comment(text string) string { return "# " + oneLine(text) + "\n" }

func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}

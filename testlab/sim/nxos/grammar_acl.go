package nxos

import "strings"

// accessLists adds the entries of access lists, which are identified by sequence numbers.
func (g grammar) accessLists() {
	in := []string{modeACL}
	entry := "<act=permit|deny|remark> <rest=text>"
	put := func(x *exec) string {
		seq := x.Vals["seq"]
		for _, b := range x.Blocks() {
			if !b.PutEntry(seq, strings.TrimPrefix(x.Line, seq+" ")) {
				if out := x.deny("sequence number %s is in use", seq); out != "" {
					return out
				}
			}
		}
		return ""
	}
	g.Set(in, "<seq=1-4294967295> "+entry, put)
	g.Set(in, entry, put)
	g.Neg(in, "<seq=1-4294967295> [<rest=text>]", func(x *exec) string {
		x.Drop("seq " + x.Vals["seq"])
		return ""
	})
	g.Neg(in, entry, func(x *exec) string {
		for _, b := range x.Blocks() {
			b.DropEntry(x.Line)
		}
		return ""
	})
	g.line(in, 0, 0, "statistics per-entry", "fragments <rest=text>")
}

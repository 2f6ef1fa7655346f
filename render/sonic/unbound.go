package sonic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// indexed describes the tables whose rows name queues or groups: the word for one index, and what
// it lacks while no row is bound to it.
var indexed = map[string][2]string{
	TGroup:       {"priority group", "no buffer"},
	TBufferQueue: {"queue", "no buffer"},
	TQueue:       {"queue", "neither scheduler nor ECN profile"},
}

// unbound notes the queues and groups of ports that are up and temporarily lose a binding between
// two steps, because orchagent supports no other order (see Habits, Unbinds).
func (p *planner) unbound(steps []Step) (notes []string) {
	if !p.Direct {
		return nil // the port is down during the change
	}
	after := p.running
	for _, s := range steps {
		after = after.After(s.Ops)
	}
	type lost struct {
		table string
		index int
	}
	bound := func(table, port string, index int) bool {
		at := port + "|" + strconv.Itoa(index)
		made := func(indexes string) bool { return overlaps(at, port+"|"+indexes) }
		if table == TGroup && !p.desired.Platform.DynamicBuffers && slices.ContainsFunc(pausing(after.Row(TPortQoS, port)["pfc_enable"]), made) {
			return true
		}
		for key := range after[table] {
			if strings.HasPrefix(key, port+"|") && overlaps(at, key) {
				return true
			}
		}
		return false
	}
	var ports ordered.Groups[lost, string]
	rows := map[lost]string{} // example
	for _, s := range steps {
		for _, o := range s.Ops {
			port, indexes := covered(o.Key)
			if !o.Del || indexed[o.Table] == [2]string{} || !p.running.Up(port) {
				continue
			}
			for _, i := range indexes {
				if l := (lost{o.Table, i}); bound(o.Table, port, i) {
					ports.Add(l, port)
					rows[l] = o.Table + "|" + o.Key
				}
			}
		}
	}
	for l, on := range ports.All() {
		words := indexed[l.table]
		who := fmt.Sprintf("%s %d", words[0], l.index)
		for _, c := range p.desired.Classes {
			if l.table == TGroup && c.Priority == l.index || l.table != TGroup && c.Queue == l.index {
				who = fmt.Sprintf("class %s (%s)", c.Name, who)
				break
			}
		}
		notes = append(notes, fmt.Sprintf("%s has %s on %s for some seconds, and may lose packets: the removal of a row such as %s unbinds every %s that it names, and the new row follows in the next step",
			who, words[1], natural.Fold(slices.Compact(natural.Sorted(on))), rows[l], words[0]))
	}
	return notes
}

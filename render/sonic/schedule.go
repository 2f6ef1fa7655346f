package sonic

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// flapper is a port that must go down for its changes. entries is how many
// rows change: the updater flaps a port once for each, unless the port is
// taken down first.
type flapper struct {
	name    string
	entries int
}

// group is a set of ports that are down at the same time. A direct group is
// one request: the updater itself takes each port down for its one row. Any
// other takes three: ports down, rows in bulk, ports up; and one more where rows
// go of which buffermgrd may take some itself as the ports go down.
type group struct {
	ports  []string
	direct bool
}

// schedule puts ports into groups of at most size, so that each port goes down
// once, never all uplinks at the same time (where there are two or more), with
// the fewest requests. Ports keep their order as far as that allows.
func schedule(ports []flapper, size int, uplinks []string) []group {
	if len(ports) == 0 {
		return nil
	}
	size = max(size, 1)
	multi := 0
	for _, p := range ports {
		if p.entries > 1 {
			multi++
		}
	}
	apart := keepApart(ports, uplinks)
	bulk := ceil(multi, size)
	direct := ceil(max(0, len(ports)-bulk*size), size)
	if apart != nil {
		// Two uplinks that are kept apart may cost one more group, of the kind that
		// takes them.
		switch room := bulk*size - multi; {
		case apart[1].entries > 1: // both have many rows
			bulk = max(bulk, 2)
			direct = ceil(max(0, len(ports)-bulk*size), size)
		case bulk+direct < 2, apart[0].entries <= 1 && direct == 1 && room == 0:
			direct++
		}
	}
	out := make([]group, bulk+direct)
	for i := range out {
		out[i].direct = i >= bulk
	}
	put := func(p flapper, from int) {
		for i := from; i < len(out); i++ {
			if len(out[i].ports) < size && !(out[i].direct && p.entries > 1) {
				out[i].ports = append(out[i].ports, p.name)
				return
			}
		}
	}
	if apart != nil {
		// Groups of many rows keep their room for the ports that need it.
		first := 0
		if apart[0].entries <= 1 && direct > 0 {
			first = bulk
		}
		put(apart[0], first)
		at := slices.IndexFunc(out, func(g group) bool { return len(g.ports) > 0 })
		switch {
		case apart[1].entries > 1:
			put(apart[1], at+1)
		case at+1 < bulk+direct:
			put(apart[1], max(at+1, min(bulk, bulk+direct-1)))
		default:
			put(apart[1], 0)
		}
	}
	placed := func(p flapper) bool { return slices.Contains(apart, p) }
	for _, wide := range []bool{true, false} {
		for _, p := range ports {
			if (p.entries > 1) == wide && !placed(p) {
				put(p, 0)
			}
		}
	}
	return out
}

// keepApart returns two uplinks to put into different groups, the one of
// many rows first; nil where nothing can take all uplinks down at once.
func keepApart(ports []flapper, uplinks []string) []flapper {
	if len(uplinks) < 2 {
		return nil
	}
	var ups []flapper
	for _, p := range ports {
		if slices.Contains(uplinks, p.name) {
			ups = append(ups, p)
		}
	}
	if len(ups) < len(uplinks) {
		return nil
	}
	// One port of many rows and one of a single row never need a second bulk
	// group, so such a pair is the cheapest.
	ordered.Sort(ups, func(a, b flapper) int { return min(b.entries, 2) - min(a.entries, 2) })
	return []flapper{ups[0], ups[len(ups)-1]}
}

func ceil(n, size int) int { return (n + size - 1) / size }

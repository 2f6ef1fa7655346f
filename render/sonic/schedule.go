package sonic

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// flapper is a port that must go down for its changes. entries counts the rows that change: the
// updater flaps a port once for each, unless the port is already down.
type flapper struct {
	name    string
	entries int
}

// group is a set of ports that are down at the same time. A direct group takes one request: the
// updater itself takes each port down for its single row. Any other group takes three: ports down,
// rows in bulk, ports up. It takes a fourth if it removes rows that buffermgrd may remove by itself
// when the ports go down.
type group struct {
	ports  []string
	direct bool
}

// schedule divides ports into groups of at most size, with the fewest requests. Each port goes down
// once, and never all uplinks at the same time if there is more than one. Ports keep their order as
// far as possible.
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
		// Keeping two uplinks apart may take one more group, of a kind that fits them.
		switch room := bulk*size - multi; {
		case apart[1].entries > 1: // both change several rows
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
		// Bulk groups keep their room for ports that change several rows.
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

// keepApart returns two uplinks that must go into different groups, with the one that changes more
// rows first; nil if the ports do not include all uplinks.
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
	// A pair of a port with several rows and a port with one row never needs a second bulk group,
	// so it is the cheapest.
	ordered.Sort(ups, func(a, b flapper) int { return min(b.entries, 2) - min(a.entries, 2) })
	return []flapper{ups[0], ups[len(ups)-1]}
}

func ceil(n, size int) int { return (n + size - 1) / size }

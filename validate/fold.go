package validate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// fold reports each cause once. Of the findings at one place that are about the same value, the most
// severe one stays and names the checks of the others, see [checks.Finding.Roots]. A finding about
// several values goes only if others report all of them.
func fold(fs []checks.Finding) []checks.Finding {
	byDevice := map[string][]int{}
	for i, f := range fs {
		byDevice[f.Device] = append(byDevice[f.Device], i)
	}
	out := make([]checks.Finding, 0, len(fs))
	for _, device := range natural.Keys(byDevice) {
		out = foldDevice(out, fs, byDevice[device])
	}
	return out
}

// rooted is a finding at one port, or without a port.
type rooted struct {
	finding, port int // port is -1 for a finding without ports
	covers        []checks.Covered
	kept          bool
}

// rootPlace is a value at a port of a device.
type rootPlace struct{ port, root string }

// foldDevice appends the folded findings of one device to out; of are their indexes in fs.
func foldDevice(out, fs []checks.Finding, of []int) []checks.Finding {
	slices.SortStableFunc(of, func(i, j int) int { return stronger(&fs[i], &fs[j]) })
	at := map[rootPlace]*rooted{} // the finding that reports the value there
	var all []*rooted
	for _, i := range of {
		f := &fs[i]
		if len(f.Ports) == 0 {
			all = append(all, foldOne(at, f, &rooted{finding: i, port: -1}, ""))
			continue
		}
		for n, port := range f.Ports {
			all = append(all, foldOne(at, f, &rooted{finding: i, port: n}, port))
		}
	}
	slices.SortStableFunc(all, func(a, b *rooted) int { return cmp.Compare(a.finding, b.finding) }) // as it was
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].finding == all[0].finding {
			n++
		}
		out = split(out, fs[all[0].finding], all[:n])
		all = all[n:]
	}
	return out
}

// foldOne keeps a finding at a port, or lists its check with those that report all its values.
func foldOne(at map[rootPlace]*rooted, f *checks.Finding, u *rooted, port string) *rooted {
	u.kept = len(f.Roots) == 0 || f.Unchecked != ""
	if u.kept {
		return u
	}
	var by []*rooted
	for _, root := range f.Roots {
		switch k := at[rootPlace{port, root}]; k {
		case nil:
			u.kept = true
		default:
			by = append(by, k)
		}
	}
	if !u.kept {
		for _, k := range by {
			k.covers = append(k.covers, checks.Covered{ID: f.ID, Severity: f.Severity})
			k.covers = append(k.covers, f.Covered...)
		}
		return u
	}
	for _, root := range f.Roots {
		if p := (rootPlace{port, root}); at[p] == nil {
			at[p] = u
		}
	}
	return u
}

// split appends what is left of a finding to out: one finding for all ports at which it covers the
// same checks.
func split(out []checks.Finding, f checks.Finding, at []*rooted) []checks.Finding {
	var groups ordered.Groups[string, *rooted]
	for _, u := range at {
		if !u.kept {
			continue
		}
		u.covers = coveredBy(f, u.covers)
		key := ""
		for _, c := range u.covers {
			key += c.ID + string(c.Severity)
		}
		groups.Add(key, u)
	}
	for _, us := range groups.All() {
		g := f
		g.Covered, g.Covers = us[0].covers, nil
		for _, c := range g.Covered {
			g.Covers = append(g.Covers, c.ID)
		}
		if len(us) < len(f.Ports) {
			g.Ports, g.Peers = nil, nil
			for _, u := range us {
				g.Ports = append(g.Ports, f.Ports[u.port])
				if len(f.Peers) == len(f.Ports) {
					g.Peers = append(g.Peers, f.Peers[u.port])
				}
			}
		}
		out = append(out, g)
	}
	return out
}

// coveredBy returns the checks that a finding covers, each once with its highest severity, in
// natural order.
func coveredBy(f checks.Finding, more []checks.Covered) []checks.Covered {
	all := slices.DeleteFunc(slices.Concat(f.Covered, more), func(c checks.Covered) bool { return c.ID == f.ID || Lookup(c.ID) == nil })
	ordered.Sort(all, func(a, b checks.Covered) int {
		return cmp.Or(natural.Compare(a.ID, b.ID), cmp.Compare(a.Severity.Rank(), b.Severity.Rank()))
	})
	return slices.CompactFunc(all, func(a, b checks.Covered) bool { return a.ID == b.ID })
}

// stronger orders findings by which of them reports a cause that they share: the most severe one,
// then the one whose check is not folded into others, then by check. A difference from the intent
// that no check is about comes last.
func stronger(a, b *checks.Finding) int {
	return cmp.Or(cmp.Compare(a.Severity.Rank(), b.Severity.Rank()), cmp.Compare(foldDepth(a.ID), foldDepth(b.ID)),
		natural.Compare(a.ID, b.ID), strings.Compare(a.What, b.What))
}

// foldDepth is 0 for a check that is folded into no other, and one more than the greatest depth of
// those into which it is folded.
func foldDepth(id string) int {
	c := Lookup(id)
	if id == "DRIFT" || c == nil {
		return len(registry)
	}
	depth := 0
	for _, in := range c.FoldedIn {
		depth = max(depth, 1+foldDepth(in))
	}
	return depth
}

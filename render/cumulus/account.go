package cumulus

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render"
)

// Account returns the fate of each relevant value of a text, in the order of the text. A value
// is a leaf of JSON or YAML, or a command. It is represented if leaving it out would change the
// model.
func Account(c *Config) []render.Line {
	a := &accountant{c: c, v: newView(c), at: map[*source][]Path{}, users: map[string]map[string][]string{}}
	a.walk(c.Tree, nil)
	a.whole = a.v.normalizedPorts(a.v.ports)
	var out []render.Line
	for _, s := range c.sources {
		if l := a.line(s); l.Fate != "" {
			ordered.Sort(l.Ports, natural.Compare)
			l.Ports = slices.Compact(l.Ports)
			out = append(out, l)
		}
	}
	return out
}

type accountant struct {
	c *Config
	v *view
	// at lists the paths at which the final tree holds values of each source.
	at map[*source][]Path
	// users lists the ports of each profile, by family.
	users map[string]map[string][]string
	// whole holds the ports as decoded from the whole configuration.
	whole map[string]*qos.Port
}

func (a *accountant) walk(n *Node, at Path) {
	if n.from != nil {
		a.at[n.from] = append(a.at[n.from], slices.Clone(at))
	}
	for _, key := range n.Keys() {
		a.walk(n.Sub[key], append(at, key))
	}
}

// line returns the account of a source. Its fate is "" if an account need not list the source.
func (a *accountant) line(s *source) render.Line {
	l := render.Line{No: s.no, Where: s.where, Text: s.text}
	if l.Where == "" && l.No == 0 {
		l.Where = "top"
	}
	paths := a.at[s]
	if words, unset := strings.CutPrefix(s.text, "nv unset "); unset {
		if concerns(strings.Fields(words)) {
			l.Fate, l.Why = s.unsets()
		}
		return l
	}
	if len(paths) == 0 {
		if words := strings.Fields(s.where + " " + strings.TrimPrefix(s.text, "nv set ")); concerns(words) {
			l.Fate, l.Why = render.Inert, "overridden by a later line"
		}
		return l
	}
	if !concerns(paths[0]) {
		return l
	}
	if len(paths[0]) < 2 {
		l.Fate, l.Why = render.Inert, "it holds nothing"
		return l
	}
	if n := a.c.Tree.At(paths[0]...); n.Kind == Branch && len(n.Sub) > 0 && n.Sub[n.Keys()[0]].from != s {
		l.Fate, l.Why = render.Inert, "the lines below it say what it holds"
		return l
	}
	if why, open := noPlace(paths[0], a.c.Tree.At(paths[0]...)); why != "" {
		l.Fate, l.Why = render.Left, why
		if open {
			l.Fate = render.Unknown
		}
		return l
	}
	a.effect(&l, paths)
	a.check(&l, paths[0])
	return l
}

// unsets returns the fate of an unset command.
func (s *source) unsets() (render.Fate, string) {
	switch {
	case s.removes:
		return render.Inert, "it takes away what a line before it says"
	case s.astray:
		return render.Unknown, "this tool does not know the line, which removes nothing of this text"
	}
	return render.Inert, "what it takes away is not there"
}

// check marks a line that fails a check by itself.
func (a *accountant) check(l *render.Line, p Path) {
	node := a.c.Tree.At(p...)
	switch {
	case p[0] == "qos" && p[1] == famPFC && len(p) > 3:
		a.checkPFC(l, p)
	case p[0] == "interface" && len(p) > 3 && p[3] == "pfc-watchdog" && l.Fate == render.Default:
		if port := a.whole[p[1]]; port != nil && port.PFC.V == 0 && onOr(node, true) {
			l.Fate, l.Check, l.Why = render.Inert, "WD-06", "the port has no PFC, so the watchdog guards none of its priorities"
		}
	case p[len(p)-1] == "bw-percent" && l.Fate == render.Inert && node.Word() != "0":
		l.Check = "CFG-02"
	}
}

// checkPFC marks a line of a PFC profile that pauses in one direction alone, or without memory for
// lossless traffic.
func (a *accountant) checkPFC(l *render.Line, p Path) {
	pfc := a.v.pfc(p[2])
	if pfc.priorities == 0 || len(a.users[famPFC][p[2]]) == 0 {
		return
	}
	node := a.c.Tree.At(p...)
	switch {
	case (p[3] == "tx" || p[3] == "rx") && pfc.tx != pfc.rx && !onOr(node, true):
		l.Check, l.Doubt = "PFC-15", true
		if l.Why = "PFC is half on: the ports send pause frames and ignore those that they receive"; p[3] == "tx" {
			l.Why = "PFC is half on: the ports obey pause frames and send none"
		}
	case p[3] == "switch-priority" && pfc.pausedBothWays() != 0 && a.v.losslessPool() == "":
		// Cumulus Linux 5.17, Flow Control Buffers: all memory belongs to the lossy pool by default.
		l.Check, l.Why = "PFC-03", "no memory is set aside for lossless traffic: traffic-pool default-lossless has no memory-percent"
	}
}

// families lists the families of profiles that a port has.
var families = []string{famMapping, famPFC, famECN, famScheduler, famShaper, famRemark, famPause}

// effect determines the fate of a source by decoding the configuration without it.
func (a *accountant) effect(l *render.Line, paths []Path) {
	first := paths[0]
	var ports []string
	if first[0] == "interface" {
		seen := map[string]bool{}
		for _, p := range paths {
			for _, port := range a.portsOf(p[1]) {
				if !seen[port] {
					seen[port] = true
					ports = append(ports, port)
				}
			}
		}
		if len(ports) == 0 {
			if first[2] == "link" { // the interface is not a port
				l.Fate, l.Ports = render.Represented, []string{first[1]}
				return
			}
			l.Fate, l.Why = render.Inert, "no port of the switch has it"
			return
		}
	} else if slices.Contains(families, first[1]) && len(first) > 2 {
		if a.users[first[1]] == nil {
			a.users[first[1]] = (&planner{v: a.v}).users(first[1])
		}
		if ports = a.users[first[1]][first[2]]; len(ports) == 0 {
			l.Fate, l.Why = render.Inert, "no port uses the profile"
			if first[2] != global && (first[1] == famPFC || first[1] == famECN) {
				l.Check, l.Why = "CFG-01", "no port uses profile "+first[2]
			}
			return
		}
	} else {
		ports = a.v.ports
	}
	if first[0] == "interface" && first[len(first)-1] == "profile" {
		if name := a.c.Tree.At(first...).Word(); name != global && a.v.qos.At(first[3], name) == nil {
			l.Fate, l.Why = render.Unknown, "the configuration has no profile "+name
			return
		}
	}
	if !reads(first) {
		l.Fate, l.Why = render.Unknown, "this tool does not know it; it stays as it is"
		return
	}
	if first[1] == "roce" && first[len(first)-1] != "cable-length" {
		paths = []Path{{"qos", "roce"}} // The lines of the preset act as one switch.
	}
	attrs, keys, on := a.compare(a.without(paths, ports), ports)
	if len(attrs) == 0 || first[1] == "traffic-pool" { // of a share, the model has only whether there is one
		l.Fate, l.Why = a.idle(first)
		return
	}
	l.Fate, l.Attrs, l.Keys, l.Ports = render.Represented, attrs, keys, on
	if first[1] == "roce" {
		l.Why = "of the RoCE preset, expanded as NVIDIA documents it"
	}
}

// portsOf returns the ports that an interface stands for: itself, or the members of a bond.
func (a *accountant) portsOf(name string) []string {
	if isPort(name) {
		if a.v.split(name) {
			return nil
		}
		return []string{name}
	}
	var out []string
	for _, m := range a.v.ifs.At(name, "bond", "member").Keys() {
		if isPort(m) {
			out = append(out, m)
		}
	}
	return out
}

// without decodes ports from the configuration without the given paths. It restores the tree.
func (a *accountant) without(paths []Path, ports []string) map[string]*qos.Port {
	type held struct {
		parent *Node
		key    string
		node   *Node
	}
	var gone []held
	for _, p := range paths {
		parent, key := a.c.Tree.At(p[:len(p)-1]...), p[len(p)-1]
		if parent.At(key) == nil {
			continue // already removed with another path
		}
		gone = append(gone, held{parent, key, parent.Sub[key]})
		delete(parent.Sub, key)
		// An emptied branch would still be in force by its name alone.
		for i := len(p) - 1; i > 2 && len(a.c.Tree.At(p[:i]...).Sub) == 0; i-- {
			up := a.c.Tree.At(p[:i-1]...)
			gone = append(gone, held{up, p[i-1], up.Sub[p[i-1]]})
			delete(up.Sub, p[i-1])
		}
	}
	out := a.v.without().normalizedPorts(ports)
	for _, h := range slices.Backward(gone) {
		h.parent.add(h.key, h.node)
	}
	return out
}

// compare returns the attributes that differ without a source, the differing code points if
// these are all in one map, and the ports on which they differ.
func (a *accountant) compare(without map[string]*qos.Port, ports []string) (attrs []qos.Attr, keys []int, on []string) {
	seen := map[qos.Attr]bool{}
	type pair struct{ have, is *qos.Maps }
	compared := map[pair][]qos.Attr{}
	for _, name := range ports {
		have, is := a.whole[name], without[name]
		if have == nil || is == nil {
			continue
		}
		var found []qos.Attr
		h, i := *have, *is
		maps := pair{h.Maps.V, i.Maps.V}
		h.Maps, i.Maps = qos.Opt[*qos.Maps]{}, qos.Opt[*qos.Maps]{}
		if h != i {
			for _, c := range qos.Diff(&qos.Device{Ports: map[string]*qos.Port{"": &i}}, &qos.Device{Ports: map[string]*qos.Port{"": &h}}) {
				found = append(found, c.Field)
			}
		}
		of, ok := compared[maps]
		if !ok {
			for t := range qos.NumTables {
				var differ []int
				for k, to := range maps.have.Table(t) {
					if maps.is.Table(t)[k] != to {
						differ = append(differ, k)
					}
				}
				if len(differ) > 0 && !a.unread(have.Trust.V, t) {
					of = append(of, qos.KindMap.Table(t))
					if keys == nil && t != qos.PFCToQueue {
						keys = differ
					}
				}
			}
			compared[maps] = of
		}
		found = append(found, of...)
		if len(found) > 0 {
			on = append(on, name)
		}
		for _, f := range found {
			if !seen[f] {
				seen[f] = true
				attrs = append(attrs, f)
			}
		}
	}
	if n := slices.IndexFunc(attrs, func(at qos.Attr) bool { return at.Kind != qos.KindMap }); n >= 0 {
		keys = nil
	}
	// A received pause stops the queue of its priority; that map has no value of its own.
	if len(attrs) > 1 {
		attrs = slices.DeleteFunc(attrs, func(at qos.Attr) bool { return at == qos.KindMap.Table(qos.PFCToQueue) })
	}
	return attrs, keys, on
}

// unread reports whether a port with the given trust ignores a map.
func (a *accountant) unread(trust qos.Trust, t qos.Table) bool {
	return t == qos.PCPToTC && trust != qos.TrustPCP || t == qos.DSCPToTC && trust != qos.TrustDSCP
}

// idle returns the fate of a source that changes nothing, and the reason.
func (a *accountant) idle(p Path) (render.Fate, string) {
	if idle := lookup(p).idle; idle != nil {
		if fate, why := idle(a, p); why != "" {
			return fate, why
		}
	}
	return render.Default, "it is so without the line"
}

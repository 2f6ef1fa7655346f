package nxos

import "github.com/roce-fabric/roce-fabric/internal/natural"

// doubt returns the first line of blocks that is about QoS and not understood; nil if there is
// none.
func (a *accountant) doubt(blocks ...*Line) *Line {
	for _, b := range blocks {
		why, counts := a.doubts, func(*Line) bool { return true }
		if h, ok := headOf(firstText(b)); !ok || h.at == inInterface || h.at == inProfile {
			why, counts = nil, func(l *Line) bool { return concerned(l.Text) }
		}
		if d := a.Doubt(why, counts, b); d != nil {
			return d
		}
	}
	return nil
}

func firstText(l *Line) string {
	if l == nil {
		return ""
	}
	return l.Text
}

// pauseBlocks returns the blocks that decide which priorities the switch pauses.
func (a *accountant) pauseBlocks() []*Line {
	out := []*Line{a.v.system}
	if a.v.network != nil {
		return append(out, a.v.network.line)
	}
	for _, name := range natural.Keys(a.v.policies[typeNetwork]) {
		out = append(out, a.v.policies[typeNetwork][name])
	}
	return out
}

// inputBlocks returns the blocks that decide what ports classify: the ports, their input policies
// and the class-maps of these.
func (a *accountant) inputBlocks(ports []string) (out []*Line) {
	seen := map[*Line]bool{}
	add := func(l *Line) bool {
		if l == nil || seen[l] {
			return false
		}
		seen[l] = true
		out = append(out, l)
		return true
	}
	for _, port := range ports {
		add(a.v.raw[port])
		policy := a.v.policies[typeQoS][a.v.attached(port, keyInput)]
		if !add(policy) {
			continue
		}
		for _, c := range classes(policy) {
			_, name, _ := classOf(c.Text)
			add(a.v.classMaps[name])
		}
	}
	return out
}

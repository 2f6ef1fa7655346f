// Package whatif compares a fabric with another version of itself: with what remains of it without
// some of its devices or cables, or with an intent that says something else.
//
// It compares what the checks found in both, the paths and the load that the topology allows, and
// the values that the intent computes. It reads no device.
package whatif

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Side is one of two versions of a fabric.
type Side struct {
	*render.Compiler
	Findings []checks.Finding
}

// Comparison says how a fabric differs from its present version. The tags describe it in the JSON
// Schema of a report.
type Comparison struct {
	Changes
	Switches int `json:"switches" doc:"how many switches are left"`
	Hosts    int `json:"hosts" doc:"how many hosts are left"`
	Links    int `json:"links" doc:"how many links are left"`
	// CutOff are hosts that keep no link, Reduced those that keep some.
	CutOff      []string  `json:"hosts_cut_off,omitempty" doc:"hosts that have no link left"`
	Reduced     []string  `json:"hosts_reduced,omitempty" doc:"hosts that have fewer links than before, but some"`
	Unreachable []string  `json:"unreachable,omitempty" doc:"pairs of switches with hosts that no path joins any more"`
	Measures    []Measure `json:"measures" doc:"paths and load, of the switches where they are worst"`
	Values      []Value   `json:"values" doc:"what the intent would configure differently; switches keep their present values until an apply"`
	New         []Judged  `json:"new" doc:"findings that the present fabric does not have"`
	Gone        []Judged  `json:"gone" doc:"findings of the present fabric that disappear"`
}

// Measure is a number that describes the paths or the load of a fabric.
type Measure struct {
	What   string  `json:"what" doc:"what was counted"`
	Before float64 `json:"before" doc:"its value in the present fabric"`
	After  float64 `json:"after" doc:"its value with the change"`
	Ratio  bool    `json:"ratio,omitempty" doc:"whether the value is the ratio of two speeds"`
	Worse  bool    `json:"worse" doc:"whether the change makes it worse"`
}

// Changed reports whether the change affects the measure.
func (m Measure) Changed() bool { return m.Before != m.After }

// Value is a value that the intent computes or states differently, and where.
type Value struct {
	Field  string   `json:"field" doc:"what is configured"`
	Old    string   `json:"old" doc:"its value in the present fabric"`
	New    string   `json:"new" doc:"its value with the change"`
	Places []string `json:"places" doc:"devices and ports, folded"`
}

// Judged is a cause of findings and its places.
type Judged struct {
	ID       string          `json:"id" doc:"id of the check"`
	Severity checks.Severity `json:"severity" enum:"error,warning,info"`
	What     string          `json:"what" doc:"the fact, with the values that disagree"`
	Places   []string        `json:"places" doc:"devices and ports, folded"`
	Fix      string          `json:"fix,omitempty" doc:"what to do"`
}

// Compare compares a fabric with its present version.
func Compare(present, now Side, changes Changes) *Comparison {
	f := now.Fabric()
	c := &Comparison{Changes: changes, Switches: len(f.Switches), Hosts: len(f.Hosts), Links: len(f.Links)}
	c.hosts(present.Fabric(), f)
	c.measure(present.Fabric(), f)
	c.values(present.Compiler, now.Compiler)
	left := places(f)
	c.New = newIn(now.Findings, present.Findings, left)
	c.Gone = newIn(present.Findings, now.Findings, left)
	return c
}

// Worst returns the worst severity of the new findings; ok is false if there are none.
func (c *Comparison) Worst() (s checks.Severity, ok bool) {
	for _, j := range c.New {
		if !ok || j.Severity.Rank() < s.Rank() {
			s, ok = j.Severity, true
		}
	}
	return s, ok
}

// hosts finds the hosts that lost links.
func (c *Comparison) hosts(before, after *intent.Fabric) {
	links := func(h *intent.Host) (n int) {
		for _, nic := range h.NICs {
			if nic.Link != nil {
				n++
			}
		}
		return n
	}
	for _, h := range after.Hosts {
		was := before.Host(h.Name)
		if was == nil {
			continue
		}
		switch n := links(h); {
		case n >= links(was):
		case n == 0:
			c.CutOff = append(c.CutOff, h.Name)
		default:
			c.Reduced = append(c.Reduced, h.Name)
		}
	}
}

// values compares what the intent configures on the switches of both versions.
func (c *Comparison) values(before, after *render.Compiler) {
	type change struct{ field, old, new string }
	var all ordered.Map[change, map[string][]string] // ports by device
	for _, sw := range after.Fabric().Switches {
		was := before.Fabric().Switch(sw.Name)
		if was == nil {
			continue
		}
		for _, ch := range qos.Diff(before.Device(was).Desired, after.Device(sw).Desired) {
			at := all.At(change{ch.Field.String(), ch.Old, ch.New})
			if *at == nil {
				*at = map[string][]string{}
			}
			(*at)[sw.Name] = append((*at)[sw.Name], ch.Port)
		}
	}
	c.Values = []Value{}
	for k, at := range all.All() {
		c.Values = append(c.Values, Value{Field: k.field, Old: k.old, New: k.new, Places: fold(at)})
	}
}

// fold joins devices with the same ports.
func fold(ports map[string][]string) []string {
	var byPorts ordered.Groups[string, string]
	for _, d := range natural.Keys(ports) {
		byPorts.Add(natural.Fold(ports[d]), d)
	}
	out := []string{}
	for at, devices := range byPorts.All() {
		out = append(out, strings.TrimSpace(natural.Fold(devices)+" "+at))
	}
	return out
}

// places returns the devices of a fabric, and their ports and NICs that have a link, each as
// "device/port".
func places(f *intent.Fabric) map[string]bool {
	out := map[string]bool{"": true}
	for _, s := range f.Switches {
		out[s.Name] = true
		for _, p := range s.Ports {
			out[s.Name+"/"+p.Name] = true
		}
	}
	for _, h := range f.Hosts {
		out[h.Name] = true
		for _, n := range h.NICs {
			out[h.Name+"/"+n.Name] = true
		}
	}
	return out
}

// fault is a finding at one place.
type fault struct {
	id, place string
	severity  checks.Severity
	what      string
}

// kind returns the fault without its text, which may hold numbers and lists of devices.
func (f fault) kind() fault {
	f.what = ""
	return f
}

// eachFault calls do for each place of the findings that count, with the finding and the port, "" for
// none.
func eachFault(fs []checks.Finding, do func(f *checks.Finding, port string, at fault)) {
	for i := range fs {
		f := &fs[i]
		if f.Suppressed != nil {
			continue
		}
		for _, p := range f.Ports {
			do(f, p, fault{f.ID, f.Device + "/" + p, f.Severity, f.What})
		}
		if len(f.Ports) == 0 {
			do(f, "", fault{f.ID, f.Device, f.Severity, f.What})
		}
	}
}

// newIn returns the findings of now that was does not have, by cause. A finding whose text alone
// differs is not new. newIn leaves out devices and ports that left does not contain: a fault of a
// removed device is not repaired.
func newIn(now, was []checks.Finding, left map[string]bool) []Judged {
	known, still := map[fault]bool{}, map[fault]bool{}
	eachFault(was, func(_ *checks.Finding, _ string, at fault) { known[at] = true })
	eachFault(now, func(_ *checks.Finding, _ string, at fault) { still[at] = true })
	reworded := map[fault]int{} // faults of was that now has at most with another text, by kind
	for at := range known {
		if !still[at] {
			reworded[at.kind()]++
		}
	}
	fresh := []checks.Finding{}
	var last *checks.Finding
	eachFault(now, func(f *checks.Finding, port string, at fault) {
		if known[at] || !left[at.place] {
			return
		}
		if k := at.kind(); reworded[k] > 0 {
			reworded[k]--
			return
		}
		if f != last {
			fresh, last = append(fresh, *f), f
			fresh[len(fresh)-1].Ports, fresh[len(fresh)-1].Peers = nil, nil
		}
		if n := &fresh[len(fresh)-1]; port != "" {
			n.Ports = append(n.Ports, port)
		}
	})
	out := []Judged{}
	for _, c := range checks.Causes(fresh) {
		out = append(out, Judged{ID: c.ID, Severity: c.Severity, What: c.What, Places: c.Places(), Fix: c.Fix})
	}
	return out
}

// Outcome identifies comparisons with the same result, apart from the names of the devices and
// ports that it is about.
func (c *Comparison) Outcome() string {
	var b strings.Builder
	fmt.Fprint(&b, len(c.CutOff), len(c.Reduced), len(c.Unreachable), c.Measures)
	for _, v := range c.Values {
		fmt.Fprint(&b, v.Field, v.Old, v.New)
	}
	for i, list := range [][]Judged{c.New, c.Gone} {
		var ids []string
		for _, j := range list {
			ids = append(ids, fmt.Sprint(i, j.ID, j.Severity))
		}
		slices.Sort(ids)
		fmt.Fprint(&b, slices.Compact(ids))
	}
	return b.String()
}

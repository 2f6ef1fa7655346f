package intent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// resolver turns the raw form into a Fabric.
type resolver struct {
	problems *problems
	layers   map[*Settings]*layer   // by their settings
	plain    map[plainKey]*Settings // for ports of NICs without RDMA
	atSpeed  map[speedKey]*Settings // for ports of one speed; nil if no curve depends on the speed
	raw      *rawFabric
	limits   limits
	removed  []string // Options.Without
	// noClasses accepts an intent without classes.
	noClasses bool
	start     Pos // position reported for missing parts

	classes    []Class // without what overrides change, in file order
	classIndex map[string]int
	base       *layer
	roles      map[string]*layer
	devices    map[string]Pos // position of each device's declaration
	addresses  map[string]owner
	units      map[string]owner // by serial number and MAC address
	incomplete bool             // set if a device name could not be read; unknown names are then not reported
	ports      int              // ports and NICs so far
	expanded   int              // names produced by ranges so far
	out        *Fabric
	noPorts    portNames // initial port names of every switch
	portSlab   []Port
	linkSlab   []Link
}

type owner struct {
	name string
	pos  Pos
}

func (r *resolver) fabric() *Fabric {
	r.noPorts.more = map[*string]*portNames{}
	r.out = &Fabric{switches: map[string]*Switch{}, hosts: map[string]*Host{}}
	r.layers, r.plain = map[*Settings]*layer{}, map[plainKey]*Settings{}
	r.classIndex, r.devices, r.addresses, r.units = map[string]int{}, map[string]Pos{}, map[string]owner{}, map[string]owner{}
	r.out.Name = r.raw.Name.V
	if !r.raw.Name.Stated {
		r.problems.addf(r.start, "", "the fabric has no name")
	}
	for _, l := range []*rawLogin{r.credentials().Switches, r.credentials().Hosts} {
		if l != nil && l.TLS != nil {
			r.inStep(l.TLS.ServerName, 1, "serverName", false)
		}
	}
	r.baseLayer()
	r.roleLayers()
	r.allSwitches()
	r.allHosts()
	r.checkRoles()
	r.allLinks()
	r.checkDPUs()
	r.finishPorts()
	r.routing()
	r.vxlan()
	r.traffic()
	r.simulation()
	r.baselines()
	r.measurements()
	r.suppressions()
	r.rollout()
	r.without(r.removed)
	return r.out
}

// baseLayer resolves the classes and the fabric-wide settings.
func (r *resolver) baseLayer() {
	l := &layer{}
	for _, e := range r.raw.Classes.Entries {
		c := Class{Name: e.Key, Pos: e.Pos, Priority: from(e.V.Priority, 0), Rest: e.V.DSCP.Word == "rest"}
		var t tuning
		t.apply(&e.V.rawTuning, r)
		r.classIndex[e.Key] = len(r.classes)
		r.classes = append(r.classes, c)
		l.tuning = append(l.tuning, t)
	}
	if len(r.classes) == 0 && !r.raw.Classes.Bad && !r.noClasses {
		pos := r.start
		if r.raw.Classes.Pos.Line > 0 {
			pos = r.raw.Classes.Pos
		}
		r.problems.addf(pos, "", "the fabric has no classes")
	}
	l.applyCommon(&r.raw.rawCommon)
	r.checkPriorities(l)
	r.assignDSCP(l)
	r.assignPCP()
	r.settle(l)
	r.checkForwarding(&r.raw.rawGlobals)
	r.base, r.out.Settings = l, l.settings
}

func (r *resolver) checkPriorities(l *layer) {
	first := map[int]int{}
	for i := range r.classes {
		c := &r.classes[i]
		if c.Priority.IsDefault() { // the required key is missing: already reported
			continue
		}
		j, taken := first[c.Priority.V]
		if !taken {
			first[c.Priority.V] = i
			continue
		}
		kind := ""
		if l.tuning[i].lossless().V && l.tuning[j].lossless().V {
			kind = "lossless "
		}
		r.problems.addf(c.Priority.From.Pos, "", "%sclass %q has priority %d, already used by class %q at %s",
			kind, c.Name, c.Priority.V, r.classes[j].Name, r.classes[j].Priority.From)
	}
}

// assignDSCP assigns each of the 64 code points to exactly one class. A fabric that trusts PCP
// may name no code points at all.
func (r *resolver) assignDSCP(l *layer) {
	var taken [qos.NumDSCP]*owner
	var rest *Class
	faults, named := false, false
	for i, e := range r.raw.Classes.Entries {
		c, d := &r.classes[i], &e.V.DSCP
		named = named || d.Stated
		faults = faults || d.Stated && !d.Set
		c.DSCP = Value[[]int]{From: byDefault}
		if d.Stated {
			c.DSCP.From = Origin{Pos: d.Pos}
		}
		switch {
		case c.Rest && rest != nil:
			r.problems.addf(d.Pos, "", "class %q has dscp: rest, but so has class %q at %s", c.Name, rest.Name, rest.DSCP.From)
		case c.Rest:
			rest = c
		}
		for _, item := range d.Body.Items {
			if !item.Set {
				continue
			}
			for v := item.V.lo; v <= item.V.hi; v++ {
				if o := taken[v]; o != nil {
					r.problems.addf(item.Pos, "", "DSCP %d of class %q is in class %q at %s", v, c.Name, o.name, o.pos)
					continue
				}
				taken[v] = &owner{c.Name, item.Pos}
				c.DSCP.V = append(c.DSCP.V, v)
			}
		}
		slices.Sort(c.DSCP.V)
	}
	var free []int
	for v, o := range taken {
		if o == nil {
			free = append(free, v)
		}
	}
	switch {
	case rest != nil && l.keep.CodePoints.V:
		r.problems.addf(l.keep.CodePoints.Pos, "remove one of the two", "keep: codePoints leaves no DSCP to class %q, which takes the rest", rest.Name)
	case l.keep.CodePoints.V:
	case rest != nil:
		rest.DSCP.V = free
	case len(free) == 0, faults, r.raw.Classes.Bad, len(r.classes) == 0:
	case !named && l.trust.V == string(qos.TrustPCP):
	default:
		r.problems.addf(r.raw.Classes.Pos, "write dscp: rest in the class that takes everything else, or keep: {codePoints: true}", "no class takes DSCP %s", strings.ReplaceAll(qos.FoldInts(free), ",", ", "))
	}
}

func (r *resolver) assignPCP() {
	var taken [qos.NumPriorities]*owner
	for i, e := range r.raw.Classes.Entries {
		c, p := &r.classes[i], &e.V.PCP
		c.PCP = Value[[]int]{From: byDefault}
		if p.Stated {
			c.PCP.From = Origin{Pos: p.Pos}
		}
		for _, item := range p.Items {
			if !item.Set {
				continue
			}
			if o := taken[item.V]; o != nil {
				r.problems.addf(item.Pos, "", "PCP %d of class %q is in class %q at %s", item.V, c.Name, o.name, o.pos)
				continue
			}
			taken[item.V] = &owner{c.Name, item.Pos}
			c.PCP.V = append(c.PCP.V, item.V)
		}
		slices.Sort(c.PCP.V)
	}
	for i, e := range r.raw.Classes.Entries {
		c := &r.classes[i]
		if e.V.PCP.Stated || c.Priority.IsDefault() {
			continue
		}
		if o := taken[c.Priority.V]; o != nil {
			r.problems.addf(o.pos, fmt.Sprintf("state pcp for class %q, too", c.Name), "PCP %d of class %q is the default of class %q, from its priority at %s",
				c.Priority.V, o.name, c.Name, c.Priority.From)
			continue
		}
		c.PCP.V = []int{c.Priority.V}
	}
}

func (r *resolver) classNames() []string {
	return each(r.classes, func(c Class) string { return c.Name })
}

func (r *resolver) roleLayers() {
	r.roles, r.out.roles = map[string]*layer{}, map[string]*Settings{}
	for _, e := range r.raw.Roles.Entries {
		l := r.derive(r.base, &e.V.Classes, &e.V.rawCommon)
		r.checkForwarding(&e.V.rawGlobals)
		r.roles[e.Key], r.out.roles[e.Key] = l, l.settings
	}
}

// checkRoles reports settings for a role that no switch has.
func (r *resolver) checkRoles() {
	if r.incomplete {
		return
	}
	used := map[string]bool{}
	var names []string
	for _, e := range r.raw.Switches.Entries {
		if role := e.V.Role; role.Set && !used[role.V] {
			used[role.V] = true
			names = append(names, role.V)
		} else if role.Stated && !role.Set {
			return
		}
	}
	for _, e := range r.raw.Roles.Entries {
		if !used[e.Key] {
			r.problems.addf(e.Pos, didYouMean(e.Key, names), "no switch has the role %q", e.Key)
		}
	}
}

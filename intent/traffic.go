package intent

import "slices"

type rawTraffic struct {
	DSCP     list[opt[codePoint]] `key:"dscp" doc:"Code points that the packets carry: numbers and spans like \"24-31\"."`
	Lossless opt[bool]            `key:"lossless" doc:"The packets must not be dropped. Default true, but for a class with mode: lossy."`
	Kind     opt[string]          `key:"kind" enum:"gpu,storage,control" doc:"What sends them. Traffic of two kinds should not share a lossless class. Default: left open."`
}

// Traffic describes packets that hosts send, as declared by the operator: those with the listed
// DSCPs. It configures nothing; checks compare the classes with it.
type Traffic struct {
	Name     string
	Pos      Pos
	DSCP     []int // sorted
	Lossless Value[bool]
	Kind     string // "gpu", "storage", "control", or "" if not stated
}

func (r *resolver) traffic() {
	for _, e := range r.raw.Traffic.Entries {
		t := &Traffic{Name: e.Key, Pos: e.Pos, Lossless: from(e.V.Lossless, true), Kind: e.V.Kind.V}
		for _, o := range e.V.DSCP.Items {
			for d := o.V.lo; o.Set && d <= o.V.hi; d++ {
				t.DSCP = append(t.DSCP, d)
			}
		}
		slices.Sort(t.DSCP)
		t.DSCP = slices.Compact(t.DSCP)
		if len(t.DSCP) == 0 && !e.V.DSCP.Bad {
			r.problems.addf(e.Pos, "dscp: [26]", "traffic %q has no dscp", e.Key)
		}
		r.out.Traffic = append(r.out.Traffic, t)
	}
}

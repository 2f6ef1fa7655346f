package nic

import (
	"cmp"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Writer is a line of a file or a process, other than this tool, that writes a setting of a host's
// NICs.
type Writer struct {
	// Who is the program or the kind of profile: "NetworkManager", "mlnx_qos".
	Who string `json:"who"`
	// Place is the file and line, or the process: "/etc/cron.d/roce:3".
	Place string `json:"place"`
	// Ports are the ports that it writes; nil if that is not known before it runs.
	Ports []string `json:"ports,omitempty"`
	// Field is the field that it writes; "" if its settings are not known.
	Field string `json:"field,omitempty"`
	// Daemon says that it is a daemon that runs now, and writes what another system tells it. May
	// lists the fields that it can write, nil for any.
	Daemon bool     `json:"daemon,omitempty"`
	May    []string `json:"may,omitempty"`
	// Sets holds the value, in the member for Field; nil if that is not known before it runs.
	// Entries that it leaves alone are [qos.Unmanaged] in a DSCP map, and "" or -1 in an ETS.
	Sets *Port `json:"sets,omitempty"`
	// Egress is the map that it sets on a VLAN over the ports, [FieldEgress]: a PCP for each kernel
	// priority, or -1 for an entry that it leaves alone.
	Egress *PCPs `json:"egress,omitempty"`
	// Idle says why it does not write at the moment; "" if it writes or may write.
	Idle string `json:"idle,omitempty"`
}

// String prints "mlnx_qos (/etc/cron.d/roce:3)".
func (w Writer) String() string { return clean(w.Who) + " (" + clean(w.Place) + ")" }

// Writes reports whether the Writer writes, or may write, a field of a port.
func (w Writer) Writes(port, field string) bool {
	return (w.Ports == nil || slices.Contains(w.Ports, port)) && (w.Field == "" || w.Field == field) && w.can(field)
}

func (w Writer) can(field string) bool { return w.May == nil || slices.Contains(w.May, field) }

// maxSuspects is how many other writers a text lists.
const maxSuspects = 3

// Suspects names the other writers that may have written a field of a port, starting with those
// known to write that field of that port.
func (h *Host) Suspects(port, field string) string {
	var named []string
	for _, known := range []bool{true, false} {
		for _, w := range h.Writers {
			if w.Idle == "" && w.Writes(port, field) && known == (w.Ports != nil && w.Field != "") {
				named = append(named, w.String())
			}
		}
	}
	if OfDCB(field) {
		named = append(named, h.Agents...)
	}
	if len(named) == 0 {
		return "no other writer was found in its files and processes"
	}
	return "suspected: " + words.Some(named, maxSuspects)
}

// member accesses a setting of a Port that a Writer may set.
type member struct {
	set func(p *Port) bool
	put func(into, from, want *Port)
}

func memberOf[T any](of func(*Port) *qos.Opt[T]) member {
	return member{
		set: func(p *Port) bool { return of(p).Set },
		put: func(into, from, _ *Port) { *of(into) = *of(from) },
	}
}

var members = map[string]member{
	FieldDCBX:            memberOf(func(p *Port) *qos.Opt[Owner] { return &p.DCBX }),
	FieldLinkPause:       memberOf(func(p *Port) *qos.Opt[bool] { return &p.LinkPause }),
	FieldPFC:             memberOf(func(p *Port) *qos.Opt[qos.PrioritySet] { return &p.PFC }),
	FieldTrust:           memberOf(func(p *Port) *qos.Opt[qos.Trust] { return &p.Trust }),
	FieldMode:            memberOf(func(p *Port) *qos.Opt[string] { return &p.Mode }),
	FieldStallPrevention: memberOf(func(p *Port) *qos.Opt[string] { return &p.StallPrevention }),
	FieldToS:             memberOf(func(p *Port) *qos.Opt[int] { return &p.ToS }),
	FieldTrafficClass:    memberOf(func(p *Port) *qos.Opt[int] { return &p.TrafficClass }),
	FieldCNPDSCP:         memberOf(func(p *Port) *qos.Opt[int] { return &p.CNPDSCP }),
	FieldCNPPriority:     memberOf(func(p *Port) *qos.Opt[int] { return &p.CNPPriority }),
	FieldMTU:             memberOf(func(p *Port) *qos.Opt[int] { return &p.MTU }),
	FieldECN:             memberOf(func(p *Port) *qos.Opt[qos.PrioritySet] { return &p.ECN }),
	FieldCable: {
		set: func(p *Port) bool { return p.Cable.Set },
		put: func(into, from, _ *Port) { into.Cable = from.Cable },
	},
	FieldRings: {
		set: func(p *Port) bool { return p.Rings.Set },
		put: func(into, from, want *Port) {
			if !into.Rings.Set {
				into.Rings = want.Rings
			}
			into.Rings.V.RX = cmp.Or(from.Rings.V.RX, into.Rings.V.RX)
			into.Rings.V.TX = cmp.Or(from.Rings.V.TX, into.Rings.V.TX)
		},
	},
	FieldBuffers: {
		set: func(p *Port) bool { return p.BufferSpeed.Set },
		put: func(into, from, _ *Port) { into.Buffers = from.Buffers },
	},
	FieldDSCP: {
		set: func(p *Port) bool { return p.DSCP.Set },
		put: func(into, from, want *Port) {
			into.DSCP = want.DSCP
			for d, prio := range from.DSCP.V {
				if prio != qos.Unmanaged {
					into.DSCP.V[d] = prio
				}
			}
		},
	},
	FieldETS: {
		set: func(p *Port) bool { return p.ETS.Set },
		put: func(into, from, want *Port) {
			classes := into.ETS.V.Classes
			into.ETS = want.ETSFor(into)
			e, set := &into.ETS.V, from.ETS.V
			e.Classes = classes
			for i := range e.TSA {
				if set.TSA[i] != "" {
					e.TSA[i] = set.TSA[i]
				}
				if set.Bandwidth[i] >= 0 {
					e.Bandwidth[i] = set.Bandwidth[i]
				}
				if set.PriorityToTC[i] >= 0 {
					e.PriorityToTC[i] = set.PriorityToTC[i]
				}
			}
		},
	},
}

// Rival classifies what a Writer does to a port of the intent.
type Rival int

// The kinds of rivals.
const (
	NoRival     Rival = iota // it does not write what the intent sets
	SameRival                // it writes the value of the intent
	OtherRival               // it writes another value
	UnsureRival              // its value is not known before it runs
)

// Against compares the Writer's value with the wanted port, given the running port have. For
// OtherRival, the Change holds both values.
func (w Writer) Against(name string, have, want *Port) (Rival, Change) {
	m, known := members[w.Field]
	switch {
	case have == nil || want == nil || !w.Writes(name, w.Field) || w.Field != "" && (!known || !m.set(want)):
		return NoRival, Change{}
	case w.Sets == nil || !m.set(w.Sets):
		return UnsureRival, Change{}
	}
	p := *have
	m.put(&p, w.Sets, want)
	var d differ
	d.port(name, &p, want, "")
	i := slices.IndexFunc(d.out, func(c Change) bool { return c.Field == w.Field && c.Kind != KindUnknown })
	if i < 0 {
		return SameRival, Change{}
	}
	return OtherRival, d.out[i]
}

package nic

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Mark is how RDMA of a class is marked.
type Mark struct {
	Class    string    `json:"class"`
	DSCP     int       `json:"dscp"`
	ToS      int       `json:"tos"` // with the ECN bits of ECT(0)
	Priority int       `json:"priority"`
	Trust    qos.Trust `json:"trust"`
	From     string    `json:"from"` // position in the intent
}

// Marks says how RDMA from one or several NICs is marked.
type Marks struct {
	Mark
	NICs []string // as host/NIC, in the order of the intent
}

// MarksOf returns the marks that the NICs of hosts give to RDMA, for traffic with this name or of
// this kind: the traffic of the intent decides, or else the first class of RDMA. class selects a
// class by name; "" selects none.
func MarksOf(f *intent.Fabric, hosts []*intent.Host, name, kind, class string) (out []Marks, err error) {
	for _, h := range hosts {
		desired, _ := Desired(f, h)
		for _, n := range h.NICs {
			if p := desired.Ports[n.Name]; p == nil || p.RDMA == "" && !p.Select.Set {
				continue
			}
			m, ok := markOf(f, settingsOf(f, n), name, kind, class)
			if !ok {
				continue
			}
			i := slices.IndexFunc(out, func(o Marks) bool { return o.Mark == m })
			if i < 0 {
				i = len(out)
				out = append(out, Marks{Mark: m})
			}
			out[i].NICs = append(out[i].NICs, h.Name+"/"+n.Name)
		}
	}
	if len(out) == 0 && class != "" {
		return nil, fmt.Errorf("no NIC with RDMA has a class %s with a DSCP", class)
	}
	return out, nil
}

// markOf returns the mark of traffic at ports with these settings.
func markOf(f *intent.Fabric, s *intent.Settings, name, kind, class string) (Mark, bool) {
	mark := func(k *intent.Class, dscp int, from intent.Pos) (Mark, bool) {
		return Mark{Class: k.Name, DSCP: dscp, ToS: toSOf(dscp), Priority: k.Priority.V, Trust: s.Trust.V, From: from.String()}, true
	}
	if class == "" {
		if t := trafficOf(f, name, kind); t != nil {
			if i := slices.IndexFunc(s.Classes, func(k *intent.Class) bool { return slices.Contains(k.DSCP.V, t.DSCP[0]) }); i >= 0 {
				if k := s.Classes[i]; !k.HostDSCP.IsDefault() && slices.Contains(t.DSCP, k.HostDSCP.V) {
					return mark(k, k.HostDSCP.V, k.HostDSCP.From.Pos)
				}
				return mark(s.Classes[i], t.DSCP[0], t.Pos)
			}
		}
	}
	for _, k := range s.Classes {
		if len(k.DSCP.V) > 0 && (k.Name == class || class == "" && k.RDMA()) {
			if !k.HostDSCP.IsDefault() {
				return mark(k, k.HostDSCP.V, k.HostDSCP.From.Pos)
			}
			return mark(k, k.HostDSCP.V, k.Pos)
		}
	}
	return Mark{}, false
}

// trafficOf returns the traffic of the intent with a name, or else the first of a kind; nil if
// there is none.
func trafficOf(f *intent.Fabric, name, kind string) *intent.Traffic {
	for _, is := range []func(*intent.Traffic) bool{
		func(t *intent.Traffic) bool { return t.Name == name },
		func(t *intent.Traffic) bool { return kind != "" && t.Kind == kind },
	} {
		if i := slices.IndexFunc(f.Traffic, func(t *intent.Traffic) bool { return is(t) && len(t.DSCP) > 0 }); i >= 0 {
			return f.Traffic[i]
		}
	}
	return nil
}

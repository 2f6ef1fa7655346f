package qos

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// Every attribute has a unique name, a source and an owner, and survives a JSON round trip.
func TestAttributesAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for k := KindGlobalMap; k < NumKinds; k++ {
		if k.Of() == 0 || k.Source() == 0 || k.Source() >= NumSources {
			t.Errorf("kind %d (%s): owner %d, source %d", k, k.Attr(), k.Of(), k.Source())
		}
		compared := attributes[k].diff != nil
		if value := k != KindPort && k < KindMapBinding; compared != value || compared != (attributes[k].keep != nil) {
			t.Errorf("%s: compared %t, kept %t", k.Attr(), compared, attributes[k].keep != nil)
		}
		if k == KindNIC {
			continue // its names come from package nic and are in no file
		}
		for i := range int(k.Of().count()) {
			a := k.At(i)
			if name := a.String(); seen[name] || strings.Contains(name, "..") {
				t.Errorf("a second %s", name)
			}
			seen[a.String()] = true
			raw, err := json.Marshal(Change{Port: "Ethernet0", Field: a})
			var back Change
			if err != nil || json.Unmarshal(raw, &back) != nil || back.Field != a {
				t.Errorf("%s: %s, %v, back %s", a, raw, err, back.Field)
			}
		}
	}
}

func TestNamesOfAttributes(t *testing.T) {
	for want, a := range map[string]Attr{
		"mtu": KindMTU.Attr(), "queues[3].ecn": KindECN.At(3), "groups[0].derived_from": KindDerivedFrom.At(0),
		"maps.dscp_to_tc": KindMap.Table(DSCPToTC), "global_maps.tc_to_queue": KindGlobalMap.Table(TCToQueue), "maps": KindMap.All(),
		"maps.binding": KindMapBinding.Attr(), "queues[0-2].binding": KindQueueBinding.Span(0, 2), "queues[8-15].binding": KindQueueBinding.Span(8, 15),
	} {
		if a.String() != want {
			t.Errorf("%s, not %s", a, want)
		}
		var back Attr
		if err := back.UnmarshalText([]byte(want)); want != "maps" && (err != nil || back != a) {
			t.Errorf("%s: %v, read as %+v", want, err, back)
		}
	}
}

// A NIC setting keeps its name in JSON even if a switch setting has the same name.
func TestNICInJSON(t *testing.T) {
	for _, name := range []string{"ets", "pfc", "nv[CNP_DSCP_P1]"} {
		b, err := json.Marshal(Change{Field: NIC(name)})
		var c Change
		if err := errors.Join(err, json.Unmarshal(b, &c)); err != nil || c.Field != NIC(name) || c.Field.String() != name {
			t.Errorf("%s: %v, read as %s", b, err, c.Field)
		}
	}
}

func TestAnUnknownFieldIsRefused(t *testing.T) {
	for _, name := range []string{"", "mtus", "queues[8].ecn", "queues[3]", "queues[0-2].ecn", "maps", "maps.x", "QUEUES[3].ecn", "nic."} {
		var c Change
		err := json.Unmarshal([]byte(`{"field":"`+name+`"}`), &c)
		if err == nil || !strings.Contains(err.Error(), `unknown change field "`+name+`"`) {
			t.Errorf("%q: %v, read as %+v", name, err, c)
		}
	}
	if _, err := json.Marshal(Change{}); err == nil {
		t.Error("a change of nothing is written")
	}
}

// Keeping one value of a group, of a queue or of the maps leaves the other values unchanged.
func TestKeepingOneValueLeavesOthers(t *testing.T) {
	for k := KindGlobalMap; k < KindMapBinding; k++ {
		if k == KindPort {
			continue
		}
		for i := range int(k.Of().count()) {
			at := Place{Port: "Ethernet16", Field: k.At(i)}
			if k < KindPort {
				at.Port = ""
			}
			have, want := one(full()), one(filled())
			kept := want.Keeping(have, []Place{at})
			left := Diff(have, kept)
			for _, c := range Diff(have, want) {
				found := slices.ContainsFunc(left, func(l Change) bool { return l.Place() == c.Place() })
				if found == (c.Place() == at) {
					t.Errorf("keeping %v: %s is changed: %t", at, c.Path(), found)
				}
			}
			if len(Diff(want, one(filled()))) > 0 {
				t.Fatalf("keeping %v changed the desired state", at)
			}
		}
	}
	if d := filled().Keeping(nil, []Place{{"Ethernet16", KindPort.Attr()}, {"Ethernet16", KindMTU.Attr()}}); d.Ports["Ethernet16"] != nil || len(d.Ports) != 11 {
		t.Errorf("a port that is kept: %d ports", len(d.Ports))
	}
}

// one reduces d to one of its ports.
func one(d *Device) *Device {
	d.Ports = map[string]*Port{"Ethernet16": d.Ports["Ethernet16"]}
	return d
}

// filled returns a device that differs from full in every attribute.
func filled() *Device {
	d := full()
	m := &Maps{}
	for t := range NumTables {
		for i := range m.Table(t) {
			m.Table(t)[i] = 7
		}
	}
	d.GlobalMaps, d.WatchdogPoll, d.HeadroomModel = Of(m), Of(d.WatchdogPoll.V*2), Of(HeadroomModel{LosslessMTU: 1})
	for name := range d.Ports {
		p := &Port{
			AdminUp: Of(false), Speed: Of(d.Ports[name].Speed.V * 2), FEC: Of("fc"), MTU: Of(1500), Breakout: Of("x"), LAG: Of("x"), Cable: Of(d.Ports[name].Cable.V * 2),
			Trust: Of(TrustPCP), Maps: Of(m), PFC: Of(Priorities(4)), PFCAsymmetric: Of(true), LinkPause: Of(true), Watchdog: Of(Watchdog{}),
			IngressProfiles: Of("x"), EgressProfiles: Of("x"),
		}
		for i := range p.Queues {
			p.Queues[i] = Queue{Scheduler: Of(Scheduler{Strict: true}), ECN: Of(ECN{Enabled: true}), Buffer: Of("x")}
			p.Groups[i] = Group{Lossless: Of(i != 3), Headroom: Of(Headroom{XOFF: 1}), DerivedFrom: Of("x"), Buffer: Of("x")}
		}
		d.Ports[name] = p
	}
	return d
}

// An attribute with a range covers the attributes of the same kind within that range.
func TestCovers(t *testing.T) {
	span := KindECN.Span(2, 4)
	for b, want := range map[Attr]bool{
		KindECN.At(1): false, KindECN.At(2): true, KindECN.At(4): true, KindECN.At(5): false, span: true,
		KindECN.Span(1, 4): false, KindECN.Span(2, 5): false, KindECN.Span(3, 4): true, KindScheduler.At(3): false,
	} {
		if got := span.Covers(b); got != want {
			t.Errorf("%s covers %s: %t", span, b, got)
		}
	}
}

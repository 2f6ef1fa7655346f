package validate

import (
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// TestMapsAfterPlan checks that a port's map after a plan has the tables that the intent states and
// keeps the switch's other tables, and that ports that shared a map still share one.
func TestMapsAfterPlan(t *testing.T) {
	maps := func(dscp, queue int8) *qos.Maps {
		m := qos.UnmappedMaps()
		m.DSCPToTC[26], m.TCToQueue[3] = dscp, queue
		return m
	}
	has, want, other := maps(0, 5), maps(3, 3), maps(0, 6)
	want.Unmanage(qos.TCToQueue)
	port := func(m *qos.Maps) *qos.Port { return &qos.Port{Maps: qos.Of(m)} }
	running := &qos.Device{Ports: map[string]*qos.Port{"a": port(has), "b": port(has), "blocked": port(has), "stranger": port(other)}}
	desired := &qos.Device{Ports: map[string]*qos.Port{"a": port(want), "b": port(want), "blocked": port(want)}}
	changes := append(qos.Diff(running, desired), qos.Change{Port: "stranger", Field: qos.KindMap.Table(qos.TCToQueue)})
	for i := range changes {
		if changes[i].Port == "blocked" {
			changes[i].Blocked = "for a test"
		}
	}
	got := After(running, desired, changes)
	if a, b := got.Ports["a"].Maps.V, got.Ports["b"].Maps.V; a != b || *a != *maps(3, 5) {
		t.Errorf("%+v and %+v, want %+v", a, b, maps(3, 5))
	}
	if m := got.Ports["blocked"].Maps.V; *m != *has {
		t.Errorf("blocked: %+v, want %+v", m, has)
	}
	if m := got.Ports["stranger"].Maps.V; m.DSCPToTC != other.DSCPToTC {
		t.Errorf("a port that the intent does not name: %+v", m)
	}
	if has.DSCPToTC[26] != 0 || want.TCToQueue[3] != qos.Unmanaged {
		t.Error("the maps of before are changed")
	}
}

// TestLeft checks that Left reports faults that a plan does not fix, but none that the plan
// changes, that the intent itself causes, or that the intent accepts.
func TestLeft(t *testing.T) {
	both := func(edits ...func(*qos.Device, *checks.State)) func(*qos.Device, *checks.State) {
		return func(d *qos.Device, s *checks.State) {
			for _, e := range edits {
				e(d, s)
			}
		}
	}
	small := poolOf(func(p *qos.Pool) { p.Size, p.XOFF = p.Size/100, p.XOFF/100 })
	shallow := on("Ethernet240", func(p *qos.Port) { p.Groups[3].Headroom.V.XOFF = 3000 })
	bare := func(d *qos.Device, _ *checks.State) {
		for name := range d.Ports {
			d.Ports[name] = &qos.Port{Speed: qos.Of(d.Ports[name].Speed.V)}
		}
	}
	blocked := func(cs []qos.Change) []qos.Change {
		for i := range cs {
			cs[i].Blocked = "for a test"
		}
		return cs
	}
	for name, c := range map[string]struct {
		base    string
		edit    func(*qos.Device, *checks.State)
		changes func([]qos.Change) []qos.Change
		want    []string
	}{
		"as intended":                          {edit: both()},
		"alpha":                                {edit: alphaIs(-7, "Ethernet0"), want: []string{"warning BUF-09 leaf1 Ethernet0"}},
		"alpha of the intent":                  {base: "spc4", edit: func(d *qos.Device, _ *checks.State) { d.HeadroomModel.V.Alpha = -7 }},
		"alpha of the intent, blocked":         {base: "spc4", edit: func(d *qos.Device, _ *checks.State) { d.HeadroomModel.V.Alpha = -7 }, changes: blocked},
		"pool":                                 {edit: small, want: []string{"warning BUF-09 leaf1"}},
		"pool of a switch with no group":       {edit: both(small, bare), want: []string{"warning BUF-09 leaf1"}},
		"headroom":                             {edit: shallow, want: []string{"error BUF-01 leaf1 Ethernet240"}},
		"headroom that a new cable makes anew": {edit: both(shallow, on("Ethernet240", func(p *qos.Port) { p.Cable.V = 5 }))},
		"headroom that stays, as the cable may not change": {edit: both(shallow, on("Ethernet240", func(p *qos.Port) { p.Cable.V = 5 })), changes: blocked, want: []string{"error BUF-01 leaf1 Ethernet240"}},
		"a curve that is put right":                        {edit: marks("Ethernet0", 30e6, 40e6)},
		"egress":                                           {base: "shares", edit: profileOf("egress_lossless_profile", func(b *qos.BufferProfile) { b.Threshold /= 10 }), want: []string{"error BUF-08 leaf1 Ethernet[0-124:4]"}},
		"egress that is accepted":                          {base: "shares accepted", edit: profileOf("egress_lossless_profile", func(b *qos.BufferProfile) { b.Threshold /= 10 })},
	} {
		text := bases[c.base]
		switch c.base {
		case "":
			text = closBase
		case "shares accepted":
			text = bases["shares"] + "suppress:\n  - {check: BUF-08, reason: tested}\n"
		}
		d := compile(t, text)
		dev := d.Device(d.Fabric().Switch("leaf1"))
		have := decoded(t, saved(dev))
		c.edit(have, nil)
		changes := qos.Diff(have, dev.Desired)
		if c.changes != nil {
			changes = c.changes(changes)
		}
		var got []string
		for _, f := range Left(dev, have, changes, today) {
			got = append(got, string(f.Severity)+" "+f.ID+" "+f.Place())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

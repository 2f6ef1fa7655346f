package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// runAs runs the checks on running switches after edit, as the validate command does; with
// alone, only leaf1 is read.
func runAs(t *testing.T, c *render.Compiler, alone bool, edit func(string, *qos.Device)) []checks.Finding {
	t.Helper()
	run := NewRun(c.Fabric())
	for _, sw := range c.Fabric().Switches {
		d := c.Device(sw)
		if alone && sw.Name != "leaf1" {
			run.Assume(d)
			continue
		}
		have, st := decoded(t, saved(d)), checks.State{Ports: map[string]*drivers.PortState{}}
		for name, q := range have.Ports {
			q.AdminUp, st.Ports[name] = qos.Of(true), &drivers.PortState{OperUp: qos.Of(true)}
		}
		edit(sw.Name, have)
		run.Add(Switch(d, have, checks.Running, &st))
	}
	return run.Findings(today)
}

// TestFaultOnEverySwitch checks that values that all switches share are also compared with the
// intent and the platform, not only with each other.
func TestFaultOnEverySwitch(t *testing.T) {
	c := compile(t, closBase)
	for id, edit := range map[string]func(*qos.Device, *checks.State){
		"BUF-09 alpha of lossless groups is 2^-7, the platform's table has 2^-2": func(d *qos.Device, _ *checks.State) {
			for _, p := range d.Ports {
				p.Groups[3].Headroom.V.Threshold = -7
			}
		},
		"BUF-09 pool ingress_lossless_pool has 664 KB, the platform's template has 66.4 MB": poolOf(func(p *qos.Pool) { p.Size /= 100 }),
		"ECN-03 class rdma marks from 20MB": func(d *qos.Device, _ *checks.State) {
			for _, p := range d.Ports {
				p.Queues[3].ECN.V.Min, p.Queues[3].ECN.V.Max = 20e6, 40e6
			}
		},
	} {
		fs := runAs(t, c, false, func(_ string, d *qos.Device) { edit(d, nil) })
		on := map[string]bool{}
		for _, f := range fs {
			if f.Severity != checks.Info && !strings.HasPrefix(f.ID+" "+f.What, id) && f.ID != "ECN-04" && f.ID != "ECN-06" {
				t.Errorf("%s: also %s %s: %s", id, f.ID, f.Place(), f.What)
			}
			on[f.Device] = true
		}
		for _, sw := range c.Fabric().Switches {
			if !on[sw.Name] {
				t.Errorf("%s is not found on %s: %v", id, sw.Name, fs)
			}
		}
	}
}

// TestFindingsDoNotDependOnOtherSwitches checks that the findings for leaf1 do not depend on how
// many other switches are read.
func TestFindingsDoNotDependOnOtherSwitches(t *testing.T) {
	c := compile(t, closBase)
	var edits []pair
	for _, p := range slices.Concat(memoryPairs, ecnPairs, bufferPairs, schedulerPairs) {
		if p.edit != nil && p.base == "" {
			edits = append(edits, p)
		}
	}
	of := func(fs []checks.Finding) []string {
		var out []string
		for _, f := range fs {
			// A difference from other ports is reported only if others are read.
			differs := Lookup(f.ID).Outliers != nil && (f.ID != "BUF-09" || strings.Contains(f.What, " of role leaf"))
			if f.Device == "leaf1" && !differs {
				out = append(out, fmt.Sprint(f.Severity, " ", f.ID, " ", f.Place(), " ", f.What))
			}
		}
		return out
	}
	rapid.Check(t, func(rt *rapid.T) {
		some := rapid.SliceOfN(rapid.IntRange(0, len(edits)-1), 1, 2).Draw(rt, "edits")
		edit := func(name string, d *qos.Device) {
			for _, i := range some {
				if name == "leaf1" {
					edits[i].edit(d, &checks.State{Ports: map[string]*drivers.PortState{}})
				}
			}
		}
		if all, one := of(runAs(t, c, false, edit)), of(runAs(t, c, true, edit)); !slices.Equal(all, one) {
			rt.Fatalf("with all switches %q, alone %q", all, one)
		}
	})
}

// TestShippedTemplates checks that a switch that runs its vendor's template has no findings.
func TestShippedTemplates(t *testing.T) {
	for _, name := range catalog.Models() {
		m, _ := catalog.Lookup(name)
		if len(m.Ports) < 2 || len(m.Headroom) == 0 || len(m.Profiles) == 0 {
			continue
		}
		a, b := m.Ports[0], m.Ports[1]
		cables := m.Cables(a.Speed)
		if a.Speed != b.Speed || len(cables) == 0 {
			continue
		}
		text := strings.NewReplacer("DellEMC-Z9332f-O32", name, "Ethernet[0,8]", a.Name, "400G", a.Speed.String(), "40m", cables[0].String(),
			"ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto").Replace(base)
		fs := runAs(t, compile(t, text), false, func(_ string, d *qos.Device) {
			for pg := range maps.Keys(d.Profiles) {
				if row, ok := m.HeadroomRow(a.Speed, cables[0]); ok && strings.HasPrefix(pg, "pg_lossless_") {
					h := qos.Headroom{Size: row.Size, XON: row.XON, XOFF: row.XOFF, XONOffset: 2540, Threshold: row.Threshold}
					d.Ports[a.Name].Groups[3].Headroom.V = h
				}
			}
		})
		for _, f := range fs {
			if f.Severity != checks.Info && f.ID != "BUF-01" {
				t.Errorf("%s: %s %s %s: %s", name, f.Severity, f.ID, f.Place(), f.What)
			}
		}
	}
}

// TestLongCableOnRunningSystems checks that 40 km of lossless cable at 400G is an error on every
// running system.
func TestLongCableOnRunningSystems(t *testing.T) {
	for _, sw := range []string{"os: eos", "os: nxos", "os: sonic", "os: sonic, model: DellEMC-Z9332f-O32", "os: sonic, model: ACS-SN5600"} {
		port := "Ethernet1/1"
		if strings.Contains(sw, "sonic") {
			port = "Ethernet0"
		}
		for cable, wrong := range map[string]bool{"40000m": true, "40m": false} {
			text := strings.NewReplacer("os: sonic, address: \"192.0.2.1:8080\", model: DellEMC-Z9332f-O32", sw,
				"leaf1/Ethernet[0,8]", "leaf1/"+port, "leaf2/Ethernet[0,8]", "leaf2/Ethernet0", "cable: 40m", "cable: "+cable).Replace(base)
			fs := ran(t, compile(t, text), func(*qos.Device) {})
			i := slices.IndexFunc(fs, func(f checks.Finding) bool {
				return f.Device == "leaf1" && f.Severity == checks.Error && strings.HasPrefix(f.ID, "BUF-")
			})
			if i >= 0 != wrong {
				t.Errorf("%s, %s: %v", sw, cable, fs)
			}
		}
	}
}

// TestOtherSystems checks that systems without buffers in their running state are checked by
// curves and schedulers, and by pools and groups if they show them.
func TestOtherSystems(t *testing.T) {
	for _, os := range []string{"eos", "nxos"} {
		text := strings.NewReplacer("os: sonic, address: \"192.0.2.1:8080\", model: DellEMC-Z9332f-O32", "os: "+os,
			"leaf1/Ethernet[0,8]", "leaf1/Ethernet1/[1,2]").Replace(base)
		c := compile(t, text)
		shown := func(d *qos.Device) {
			d.Pools = map[string]qos.Pool{"lossless": {Size: 40e6, XOFF: 10e6}}
			for _, p := range d.Ports {
				p.Groups[3].Lossless, p.Groups[3].Headroom = qos.Of(true), qos.Of(qos.Headroom{XOFF: 400e3, XONOffset: 9e3, Threshold: -4})
			}
		}
		for want, edit := range map[string]func(*qos.Device){
			"ECN-06 class rdma marks from 10KB": func(d *qos.Device) { d.Ports["Ethernet1/1"].Queues[3].ECN.V.Min = 10e3 },
			"ECN-03 class rdma marks from 3MB, and 1 group that feeds one queue pause before it holds more than 1.76 MB": func(d *qos.Device) {
				shown(d)
				e := &d.Ports["Ethernet1/1"].Queues[3].ECN.V
				e.Min, e.Max = 3e6, 5e6
			},
			"ECN-03 class rdma marks from 150KB, and 1 group that feeds one queue pause before it holds more than 7000 B": func(d *qos.Device) {
				shown(d)
				h := &d.Ports["Ethernet1/1"].Groups[3].Headroom.V
				h.Static, h.Threshold = true, 7000
			},
			"BUF-01 priority group 3 has xoff 20000 B, below the floor": func(d *qos.Device) {
				shown(d)
				d.Ports["Ethernet1/1"].Groups[3].Headroom.V.XOFF = 20000
			},
		} {
			hit := func(fs []checks.Finding) bool {
				return slices.ContainsFunc(fs, func(f checks.Finding) bool {
					return strings.HasPrefix(f.ID+" "+f.What, want) && f.Place() == "leaf1 Ethernet1/1"
				})
			}
			if fs := ran(t, c, edit); !hit(fs) {
				t.Errorf("%s: %s is not found: %v", os, want, fs)
			}
			if fs := ran(t, c, shown); slices.ContainsFunc(fs, func(f checks.Finding) bool { return f.Severity != checks.Info }) {
				t.Errorf("%s: the sound twin has %v", os, fs)
			}
		}
	}
}

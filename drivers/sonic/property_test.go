package sonic

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// TestRefuseAgreesWithTheUpdater compares every prediction with the verdict of the simulated
// updater, which was written independently from the updater's sources.
func TestRefuseAgreesWithTheUpdater(t *testing.T) {
	m, _ := catalog.Lookup("Force10-S6000")
	small := *m
	small.Ports = m.Ports[:2]
	for _, release := range native.Releases() {
		for _, chip := range []string{"td2", ""} {
			t.Run(release+"/"+chip, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					net := drivertest.Options{}.Networked()
					so := simsonic.ForModel("sw1", &small)
					so.Release, so.ASIC, so.NoSSH, so.TLS = release, chip, true, identity().tls
					so.Config, so.Listen = simsonic.FactoryConfig(&small), net.Listen
					s, err := simsonic.New(so)
					if err != nil {
						t.Fatal(err)
					}
					if err := s.Start(); err != nil {
						t.Fatal(err)
					}
					defer s.Close()
					b := &box{Switch: s, t: t}
					b.target = drivers.Target{Name: "sw1", Release: release}
					b.target.GNMI.Address, b.target.GNMI.TLS.Insecure = s.GNMIAddr(), true
					b.target.GNMI.Dial = net.Dial
					d := b.open()
					c, err := d.client(context.Background())
					if err != nil {
						t.Fatal(err)
					}
					rel, _ := native.LookupRelease(release)
					before := b.config()
					drivertest.Check(t, func(t *rapid.T) {
						// Start from the factory configuration, with or without additions.
						for _, tn := range []string{native.TWRED, native.TWatchdog} {
							for key := range s.Config()[tn] {
								s.DelRow(tn, key)
							}
							for key, row := range before[tn] {
								s.SetRow(tn, key, row)
							}
						}
						if rapid.Bool().Draw(t, "poll") {
							s.SetRow(native.TWatchdog, "GLOBAL", map[string]string{"POLL_INTERVAL": "200"})
						}
						if rapid.Bool().Draw(t, "guard") {
							s.SetRow(native.TWatchdog, "Ethernet0", map[string]string{"action": "drop", "detection_time": "400", "restoration_time": "400"})
						}
						if rapid.Bool().Draw(t, "profile") {
							row := before.Row(native.TWRED, "AZURE_LOSSLESS")
							s.SetRow(native.TWRED, "ROCE_x", row)
						}
						now := b.config()
						o := anyOp(t, now)
						if string(now.After([]native.Op{o}).AppendJSON(nil)) == string(now.AppendJSON(nil)) {
							return // nothing to judge
						}
						steps, _, predicted := native.Site{Release: rel, Chip: chip, SSH: true}.Carry(now, []native.Op{o})
						refused := false
						for _, step := range steps {
							err := c.Set(context.Background(), setRequest(step.Ops, now))
							if err != nil && strings.Contains(err.Error(), "Validate json patch") {
								t.Fatalf("%v is not valid by itself: %v", step, err)
							}
							if err != nil && step.Via == "gnmi" {
								t.Fatalf("%v: predicted to pass, the updater says %v\nPFC_WD %v", step, err, now[native.TWatchdog])
							}
							if refused = refused || err != nil; err == nil {
								now = now.After(step.Ops)
							}
						}
						if predicted != refused {
							t.Fatalf("%s: predicted to be refused, and the updater takes it\nPFC_WD %v", o, now[native.TWatchdog])
						}
					})
				})
			})
		}
	}
}

// anyOp draws one op of the kinds that plans contain.
func anyOp(t *rapid.T, now native.Config) native.Op {
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		key := rapid.SampledFrom([]string{"AZURE_LOSSLESS", "ROCE_x", "ROCE_new"}).Draw(t, "profile")
		row := maps.Clone(now.Row(native.TWRED, "AZURE_LOSSLESS"))
		for _, f := range []string{"green_min_threshold", "green_drop_probability", "yellow_max_threshold", "wred_red_enable"} {
			if rapid.IntRange(0, 2).Draw(t, f) == 0 {
				row[f] = map[string]string{"green_min_threshold": "7", "green_drop_probability": "7", "yellow_max_threshold": "3000000", "wred_red_enable": "false"}[f]
			}
		}
		return native.Op{Table: native.TWRED, Key: key, Row: row}
	case 1:
		return native.Op{Table: native.TWRED, Key: "ROCE_x", Del: true}
	case 2:
		if rapid.Bool().Draw(t, "field") && now.Row(native.TWatchdog, "GLOBAL") != nil {
			return native.Op{Table: native.TWatchdog, Key: "GLOBAL", Field: "POLL_INTERVAL", Value: "300"}
		}
		return native.Op{Table: native.TWatchdog, Key: "GLOBAL", Row: native.Row{"POLL_INTERVAL": "300"}}
	case 3:
		key := rapid.SampledFrom([]string{"Ethernet0", "Ethernet4"}).Draw(t, "port")
		return native.Op{Table: native.TWatchdog, Key: key, Row: native.Row{"action": "forward", "detection_time": "500", "restoration_time": "600"}}
	}
	return native.Op{Table: native.TWatchdog, Key: rapid.SampledFrom([]string{"Ethernet0", "GLOBAL"}).Draw(t, "gone"), Del: true}
}

func BenchmarkPlan(b *testing.B) {
	m, ok := catalog.Lookup(known)
	if !ok {
		b.Fatal("no model")
	}
	for _, n := range []int{64, 128, 256} {
		wide := *m
		wide.Ports = nil
		for i := range n {
			p := m.Ports[i%len(m.Ports)]
			p.Name = fmt.Sprintf("Ethernet%d", i*8)
			wide.Ports = append(wide.Ports, p)
		}
		running := fromSim(simsonic.FactoryConfig(&wide))
		one := compile(b, fabric(m, "202511"))
		desired := *one
		desired.Ports = map[string]*qos.Port{}
		var uplinks []string
		for i, p := range wide.Ports {
			desired.Ports[p.Name] = one.Ports[m.Ports[i%4].Name]
			if i%4 > 1 {
				uplinks = append(uplinks, p.Name)
			}
		}
		rel, _ := native.LookupRelease("202511")
		s := native.Site{Release: rel, Chip: "th5", SSH: true, Policy: native.Policy{PortGroup: 4, Uplinks: uplinks}}
		b.Run(fmt.Sprintf("ports=%d", n), func(b *testing.B) {
			for b.Loop() {
				if p := s.Plan(running, &desired); len(p.Steps) == 0 {
					b.Fatal("no steps")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/port")
		})
	}
}

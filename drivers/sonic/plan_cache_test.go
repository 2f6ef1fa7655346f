package sonic

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// TestPlanInput changes single values of a switch. Values that only identify it leave the plan as
// it is; any other value leads to a new plan.
func TestPlanInput(t *testing.T) {
	m, _ := catalog.Lookup("Force10-S6000")
	small := *m
	small.Ports = m.Ports[:4]
	running := fromSim(simsonic.FactoryConfig(&small))
	running.Put(native.TVXLAN, "vtep", native.Row{"src_ip": "10.0.0.1"})
	desired := compile(t, fabric(m, "202511"))
	rel, _ := native.LookupRelease("202511")
	site := native.Site{Release: rel, Chip: "td2", SSH: true, Policy: native.Policy{PortGroup: 2, Uplinks: []string{"Ethernet4"}}}
	was := inputOf(site, nil, running, desired)
	whole := site.Plan(running, desired)

	for name, change := range map[string]func(native.Config, *qos.Device){
		"hostname":    func(c native.Config, _ *qos.Device) { c[native.TMetadata]["localhost"]["hostname"] = "other" },
		"mac":         func(c native.Config, _ *qos.Device) { c[native.TMetadata]["localhost"]["mac"] = "00:00:5e:00:53:01" },
		"description": func(c native.Config, _ *qos.Device) { c[native.TPort]["Ethernet0"]["description"] = "to gpu1" },
		"source":      func(c native.Config, _ *qos.Device) { c[native.TVXLAN]["vtep"]["src_ip"] = "10.0.0.2" },
		"name":        func(_ native.Config, d *qos.Device) { d.Name = "other" },
		"neighbour": func(_ native.Config, d *qos.Device) {
			d.Ports["Ethernet0"].Neighbor = qos.Of(qos.Neighbor{Device: "gpu1"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, d := running.Clone(), desired.Copy()
			change(c, d)
			if !inputOf(site, nil, c, d).equal(was) {
				t.Error("it is planned anew")
			}
			if p := site.Plan(c, d); !reflect.DeepEqual(p.Changes, whole.Changes) || !reflect.DeepEqual(p.Steps, whole.Steps) || !reflect.DeepEqual(p.Notes, whole.Notes) || p.Base != whole.Base {
				t.Errorf("another plan\n%+v\n%+v", p, whole)
			}
		})
	}

	t.Run("else", rapid.MakeCheck(func(t *rapid.T) {
		c, d, s := running.Clone(), desired.Copy(), site
		row := func() native.Row {
			table := rapid.SampledFrom(slices.Sorted(maps.Keys(c))).Draw(t, "table")
			key := rapid.SampledFrom(slices.Sorted(maps.Keys(c[table]))).Draw(t, "key")
			return c[table][key]
		}
		port := d.Ports[rapid.SampledFrom([]string{"Ethernet0", "Ethernet4"}).Draw(t, "port")]
		switch rapid.IntRange(0, 8).Draw(t, "what") {
		case 0:
			row()["another"] = "1"
		case 1:
			c.Put("PORT_QOS_MAP", "Ethernet248", native.Row{})
		case 2:
			r := row()
			for f := range r {
				if f != "hostname" && f != "mac" && f != "description" && f != "src_ip" {
					r[f] += "x"
				}
			}
			if c.Equal(running) {
				t.Skip("nothing but names")
			}
		case 3:
			port.PFC = qos.Of(qos.Priorities(5))
		case 4:
			own := *port.Maps.V
			own.DSCPToTC[7] = 5
			port.Maps.V = &own
		case 5:
			port.Queues[3].ECN.V.Max++
		case 6:
			d.OwnsGlobals = true
		case 7:
			s.Policy.Uplinks = []string{"Ethernet0"}
		case 8:
			s.Left = map[string]string{"Ethernet0": "run"}
		}
		if inputOf(s, nil, c, d).equal(was) {
			t.Fatal("it has the plan of another state")
		}
	}))
}

// TestPlansAreShared plans equal switches concurrently, and modifies the results.
func TestPlansAreShared(t *testing.T) {
	m, _ := catalog.Lookup("Force10-S6000")
	small := *m
	small.Ports = m.Ports[:4]
	desired := compile(t, fabric(m, "202511"))
	plan := func(n int) *drivers.Steps {
		cfg := fromSim(simsonic.FactoryConfig(&small))
		cfg[native.TMetadata]["localhost"]["hostname"] = fmt.Sprint("sw", n)
		d := &driver{t: drivers.Target{Name: fmt.Sprint("sw", n)}}
		st, err := d.Plan(drivers.Facts{Release: "202511", ASIC: "td2", Caps: drivers.Caps{Writes: []string{"gnmi", "ssh"}}}, &drivers.Snapshot{Native: cfg}, desired, drivers.Policy{PortGroup: 2})
		if err != nil {
			t.Error(err)
			return nil
		}
		return st
	}
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			st := plan(n)
			if st.Device != fmt.Sprint("sw", n) {
				t.Errorf("%s has the plan of another", st.Device)
			}
			for i := range st.Changes {
				st.Changes[i].Reason = st.Device
			}
			st.Notes = append(st.Notes, st.Device)
			st.Items[0].What = st.Device
		})
	}
	wg.Wait()
	st := plan(16)
	if st.Items[0].What == "" || slices.ContainsFunc(st.Changes, func(c qos.Change) bool { return c.Reason != "" }) {
		t.Errorf("what one switch made of its plan is in that of another: %v", st)
	}

	var cache planCache
	made := 0
	work := func(planInput) (*drivers.Steps, error) { made++; return &drivers.Steps{}, nil }
	use := func(n int) { _, _ = cache.steps(planInput{desired: &qos.Device{}, sum: uint64(n)}, work) }
	for n := range maxPlans + 1 { // 0 is evicted
		use(n)
	}
	use(1) // 1 becomes the most recently used
	use(0) // 2 is evicted
	use(1)
	if want := maxPlans + 2; made != want || len(cache.kept) != maxPlans {
		t.Errorf("%d plans are made, want %d; %d are kept, want %d", made, want, len(cache.kept), maxPlans)
	}
	use(2)
	if want := maxPlans + 3; made != want {
		t.Error("an old plan is kept")
	}
	_, _ = cache.steps(planInput{sum: 100, size: maxKept + 1}, work)
	if slices.ContainsFunc(cache.kept, func(k *cachedPlan) bool { return k.sum == 100 }) {
		t.Error("a configuration without end is kept")
	}
}

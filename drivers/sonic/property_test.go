package sonic

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

var portNames = []string{"Ethernet0", "Ethernet4", "Ethernet8"}

// anyRunning draws a configuration as operators, templates and daemons leave
// them: keys with ranges, ranges that overlap, foreign names and fields.
func anyRunning(t *rapid.T) native.Config {
	c := native.Config{}
	c.Put(native.TMetadata, "localhost", native.Row{"hwsku": known, "buffer_model": "traditional"})
	identity := native.Row{}
	for i := range 8 {
		identity[strconv.Itoa(i)] = strconv.Itoa(i)
	}
	for _, name := range []string{"AZURE", "CUSTOM"} {
		for _, tn := range []string{native.TDSCPToTC, native.TTCToQueue, native.TTCToGroup, native.TPFCToQueue} {
			if rapid.Bool().Draw(t, tn+name) {
				row := maps.Clone(identity)
				row["3"] = rapid.SampledFrom([]string{"3", "1"}).Draw(t, "tc 3")
				c.Put(tn, name, row)
			}
		}
	}
	for _, name := range []string{"scheduler.0", "roce.rdma", "roce.default", "roce.gone"} {
		if rapid.Bool().Draw(t, name) {
			c.Put(native.TScheduler, name, native.Row{"type": "DWRR", "weight": rapid.SampledFrom([]string{"14", "60", "40"}).Draw(t, "weight"), "foreign": "kept"})
		}
	}
	for _, name := range []string{"AZURE_LOSSLESS", "ROCE_default", "MINE"} {
		if rapid.Bool().Draw(t, name) {
			row := native.Row{"ecn": "ecn_all"}
			for _, colour := range []string{"green", "yellow", "red"} {
				row["wred_"+colour+"_enable"], row[colour+"_drop_probability"] = "true", "5"
				row[colour+"_min_threshold"], row[colour+"_max_threshold"] = "1000", rapid.SampledFrom([]string{"2000", "3000"}).Draw(t, "max")
			}
			c.Put(native.TWRED, name, row)
		}
	}
	for _, name := range []string{"lossy", "lossless", "pg_lossless_400000_5m_profile"} {
		row := native.Row{"pool": "p", "size": "0", "dynamic_th": "0"}
		if strings.HasPrefix(name, "pg_") {
			row["xoff"] = "1000"
		}
		c.Put(native.TProfile, name, row)
	}
	names := func(tn string) []string { return append(slices.Sorted(maps.Keys(c[tn])), "") }
	for _, port := range portNames {
		row := native.Row{"speed": "400000", "mtu": rapid.SampledFrom([]string{"9100", "1500"}).Draw(t, "mtu"), "description": "mine"}
		row["admin_status"] = rapid.SampledFrom([]string{"up", "down"}).Draw(t, "admin")
		c.Put(native.TPort, port, row)
		if rapid.Bool().Draw(t, "bound") {
			row := native.Row{"pfc_enable": rapid.SampledFrom([]string{"3,4", "3", "4,3"}).Draw(t, "pfc"), "scheduler": "scheduler.0"}
			for f, tn := range map[string]string{"dscp_to_tc_map": native.TDSCPToTC, "tc_to_queue_map": native.TTCToQueue, "tc_to_pg_map": native.TTCToGroup} {
				if n := rapid.SampledFrom(names(tn)).Draw(t, f); n != "" {
					row[f] = n
				}
			}
			c.Put(native.TPortQoS, port, row)
		}
		for _, keys := range [][]string{{"0-2", "3-4", "5-6"}, {"3", "4"}, {"0", "3-4", "4-5"}, {"0-7"}, {}}[rapid.IntRange(0, 4).Draw(t, "queues"):][:1] {
			for _, k := range keys {
				row := native.Row{"foreign": "kept"}
				if n := rapid.SampledFrom(names(native.TScheduler)).Draw(t, "scheduler"); n != "" {
					row["scheduler"] = n
				}
				if n := rapid.SampledFrom(names(native.TWRED)).Draw(t, "wred"); n != "" {
					row["wred_profile"] = n
				}
				c.Put(native.TQueue, port+"|"+k, row)
				c.Put(native.TBufferQueue, port+"|"+k, native.Row{"profile": rapid.SampledFrom([]string{"lossy", "lossless"}).Draw(t, "buffer")})
			}
		}
		for _, k := range [][]string{{"0", "3-4"}, {"0", "3", "3-4"}, {"0-2"}, {}}[rapid.IntRange(0, 3).Draw(t, "groups")] {
			c.Put(native.TGroup, port+"|"+k, native.Row{"profile": rapid.SampledFrom([]string{"lossy", "pg_lossless_400000_5m_profile"}).Draw(t, "profile")})
		}
		if rapid.Bool().Draw(t, "watchdog") {
			c.Put(native.TWatchdog, port, native.Row{"action": rapid.SampledFrom([]string{"drop", "forward"}).Draw(t, "action"), "detection_time": "400", "restoration_time": "400"})
		}
		if rapid.Bool().Draw(t, "cable") {
			if c.Row(native.TCable, "AZURE") == nil {
				c.Put(native.TCable, "AZURE", native.Row{"Ethernet100": "40m"})
			}
			c[native.TCable]["AZURE"][port] = rapid.SampledFrom([]string{"5m", "40m"}).Draw(t, "length")
		}
	}
	if rapid.Bool().Draw(t, "poll") {
		c.Put(native.TWatchdog, "GLOBAL", native.Row{"POLL_INTERVAL": "200"})
	}
	return c
}

// anyDesired draws a model as the renderer makes them, with differences
// between ports that share objects.
func anyDesired(t *rapid.T) *qos.Device {
	d := &qos.Device{Ports: map[string]*qos.Port{}, Platform: qos.Platform{OS: "sonic"}, Classes: []qos.Class{
		{Name: "rdma", Priority: 3, Queue: 3, Group: 3, Lossless: true}, {Name: "default", Queue: 0}, {Name: "cnp", Priority: 6, Queue: 6, Strict: true}}}
	var shared []*qos.Maps
	for i := range 2 {
		m := qos.UnmappedMaps()
		for code := range m.DSCPToTC {
			m.DSCPToTC[code] = int8(i)
		}
		for q := range 8 {
			m.TCToQueue[q], m.TCToGroup[q], m.PFCToQueue[q] = int8(q), 0, int8(q)
		}
		m.TCToGroup[3] = 3
		shared = append(shared, m)
	}
	if rapid.Bool().Draw(t, "poll") {
		d.WatchdogPoll = qos.Of(300 * time.Millisecond)
	}
	for _, port := range portNames {
		if rapid.IntRange(0, 4).Draw(t, "managed") == 0 {
			continue
		}
		p := &qos.Port{
			MTU: qos.Of(9100), Trust: qos.Of(qos.TrustDSCP), Maps: qos.Of(rapid.SampledFrom(shared).Draw(t, "maps")),
			PFC: qos.Of(rapid.SampledFrom([]qos.PrioritySet{qos.Priorities(3), 0, qos.Priorities(3, 4)}).Draw(t, "pfc")),
		}
		p.Cable = qos.Of(units.Length(rapid.SampledFrom([]int{5, 40}).Draw(t, "cable")))
		if rapid.Bool().Draw(t, "admin") {
			p.AdminUp = qos.Of(rapid.Bool().Draw(t, "up"))
		}
		p.Watchdog = qos.Of(qos.Watchdog{})
		if p.PFC.V != 0 && rapid.Bool().Draw(t, "watchdog") {
			p.Watchdog = qos.Of(qos.Watchdog{Enabled: true, Priorities: p.PFC.V, Action: qos.ActionDrop, Detect: 400 * time.Millisecond, Restore: 400 * time.Millisecond})
		}
		p.Queues[0] = qos.Queue{Scheduler: qos.Of(qos.Scheduler{Weight: rapid.SampledFrom([]int{40, 14}).Draw(t, "w0")}), ECN: qos.Of(qos.ECN{}), Buffer: qos.Of("lossy")}
		p.Queues[3] = qos.Queue{Scheduler: qos.Of(qos.Scheduler{Weight: rapid.SampledFrom([]int{60, 14}).Draw(t, "w3")}), Buffer: qos.Of("lossless"),
			ECN: qos.Of(qos.ECN{Enabled: true, Min: 1000, Max: rapid.SampledFrom([]int64{2000, 3000}).Draw(t, "max"), Probability: 5})}
		p.Queues[6] = qos.Queue{Scheduler: qos.Of(qos.Scheduler{Strict: true}), ECN: qos.Of(qos.ECN{}), Buffer: qos.Of("lossy")}
		for g := range p.Groups {
			p.Groups[g].Lossless = qos.Of(p.PFC.V.Has(g))
		}
		p.Groups[0].Buffer = qos.Of("lossy")
		d.Ports[port] = p
	}
	qos.Normalize(d)
	return d
}

// carried carries the steps of a plan out on a configuration.
func carried(t *rapid.T, running native.Config, st *drivers.Steps) native.Config {
	after := running.Clone()
	steps, err := decodeSteps(st.Items)
	if err != nil {
		t.Fatal(err)
	}
	for _, ops := range steps {
		for _, o := range ops {
			o.apply(after)
		}
	}
	return after
}

func TestDeltaReachesTheTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		running, target := anyRunning(t), native.Target(anyDesired(t))
		after := running.Clone()
		for _, o := range delta(running, target) {
			o.apply(after)
		}
		if again := delta(after, target); len(again) > 0 {
			t.Fatalf("still to do: %v\nfrom %s\nto %v", again, running.AppendJSON(nil), target)
		}
		for tn, rows := range running {
			for key, row := range rows {
				port, idx, _ := strings.Cut(key, "|")
				switch {
				case tn == native.TPort && after.Row(tn, key)["description"] != "mine":
					t.Fatalf("%s|%s lost a field of others", tn, key)
				case tn == native.TCable && after.Row(tn, key)["Ethernet100"] != "40m":
					t.Fatal("the cable of another port is gone")
				case slices.Contains(ranged, tn) && target.Row(native.TPortQoS, port) == nil && !maps.Equal(row, after.Row(tn, key)):
					t.Fatalf("%s|%s of a port that is not managed became %v", tn, key, after.Row(tn, key))
				case target[tn] == nil && !maps.Equal(row, after.Row(tn, key)):
					t.Fatalf("%s|%s became %v", tn, key, after.Row(tn, key))
				case !slices.Contains(ranged, tn) && target.Row(tn, key) == nil && after.Row(tn, key) == nil && target[tn] != nil:
					if _, named := target[tn][key]; !named {
						t.Fatalf("%s|%s is gone", tn, key)
					}
				}
				if tn != native.TQueue {
					continue
				}
				// An index that is not managed keeps all of its row.
				from, to, _ := native.Indexes(idx)
				for i := from; i <= to; i++ {
					if _, managed := target[tn][port+"|"+strconv.Itoa(i)]; managed || i >= qos.NumPriorities {
						continue
					}
					if bound(after, tn, port, i, "foreign") != "kept" {
						t.Fatalf("queue %d of %s lost its row: %v", i, port, after[tn])
					}
				}
			}
		}
	})
}

// TestEveryChangeIsMadeOrBlocked: what a plan lists comes about by its steps,
// or by what buffermgrd derives from them, or is marked blocked, and a plan
// makes no change that it does not list.
func TestEveryChangeIsMadeOrBlocked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		running, desired := anyRunning(t), anyDesired(t)
		rel, _ := native.LookupRelease(rapid.SampledFrom(native.Releases()).Draw(t, "release"))
		s := site{rel: rel, chip: rapid.SampledFrom([]string{"", "th5"}).Draw(t, "chip"), ssh: rapid.Bool().Draw(t, "ssh"), policy: drivers.Policy{PortGroup: 2}}
		st, err := plan(s, running, desired)
		if err != nil {
			t.Fatal(err)
		}
		blocked, listed, cable := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, c := range st.Changes {
			listed[c.Port] = true
			if c.Blocked != "" {
				blocked[c.Path()] = true
			}
			if c.Field.Kind == qos.KindCable {
				cable[c.Port] = true
			}
		}
		flapped := map[string]bool{}
		for _, step := range st.Items {
			for _, p := range step.Down {
				flapped[p] = true
			}
		}
		steps, err := decodeSteps(st.Items)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := drivers.NewToken("sw1", remember(running, steps, st))
		if err == nil {
			err = drivertest.Trusted(&Driver{t: drivers.Target{Name: "sw1"}}, desired, st, tok)
		}
		if err != nil {
			t.Fatalf("%v\nfrom %s\nsteps %s", err, running.AppendJSON(nil), texts(st))
		}
		if err := drivertest.Repeatable(st, func() (*drivers.Steps, error) { return plan(s, running, desired) }); err != nil {
			t.Fatal(err)
		}
		after := carried(t, running, st)
		dev, _ := native.Decode(after)
		for _, c := range qos.Diff(dev, desired) {
			derived := c.Field.Kind.Of() == qos.OfGroup && (flapped[c.Port] || cable[c.Port] || !up(after, c.Port) || !up(running, c.Port))
			if !blocked[c.Path()] && !derived {
				t.Fatalf("%s: %s -> %s is neither made nor blocked\nfrom %s\nchanges %v\nsteps %s", c.Path(), c.Old, c.New, running.AppendJSON(nil), st.Changes, texts(st))
			}
		}
		for p := range flapped {
			if !listed[p] {
				t.Fatalf("%s goes down and the plan lists no change of it: %s", p, texts(st))
			}
		}
		if s.ssh && len(st.Blocked()) > 0 {
			for _, c := range st.Blocked() {
				if !strings.HasPrefix(c.Blocked, "the switch derives") && !strings.Contains(c.Blocked, "no YANG model") && !strings.Contains(c.Blocked, "the switch has no") {
					t.Fatalf("blocked with ssh: %v", c)
				}
			}
		}
	})
}

func texts(st *drivers.Steps) string {
	var out []string
	for _, s := range st.Items {
		out = append(out, s.Via+" "+s.What+" "+string(s.Native))
	}
	return strings.Join(out, "\n")
}

// TestRefuseAgreesWithTheUpdater holds every prediction against the verdict of
// the simulated updater, which is written from its sources on its own.
func TestRefuseAgreesWithTheUpdater(t *testing.T) {
	m, _ := catalog.Lookup("Force10-S6000")
	small := *m
	small.Ports = m.Ports[:2]
	for _, release := range native.Releases() {
		for _, chip := range []string{"td2", ""} {
			t.Run(release+"/"+chip, func(t *testing.T) {
				t.Parallel()
				so := simsonic.ForModel("sw1", &small)
				so.Release, so.ASIC, so.NoSSH, so.TLS = release, chip, true, identity().tls
				so.Config = simsonic.FactoryConfig(&small)
				s, err := simsonic.New(so)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Start(); err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				b := &box{Switch: s, t: t, pace: quick(drivertest.Options{})}
				b.target = drivers.Target{Name: "sw1", Release: release}
				b.target.GNMI.Address, b.target.GNMI.TLS.Insecure = s.GNMIAddr(), true
				d := b.open()
				c, err := d.client(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				rel, _ := native.LookupRelease(release)
				before := b.config()
				rapid.Check(t, func(t *rapid.T) {
					// From the factory's configuration, with or without more.
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
					after := now.Clone()
					o.apply(after)
					if string(after.AppendJSON(nil)) == string(now.AppendJSON(nil)) {
						return // nothing to judge
					}
					_, ok := refuse(o, now, rel, chip)
					err := c.Set(context.Background(), setRequest([]op{o}, now))
					if err != nil && strings.Contains(err.Error(), "Validate json patch") {
						t.Fatalf("%s is not valid by itself: %v", o, err)
					}
					if ok != (err == nil) {
						t.Fatalf("%s: predicted ok %v, the updater says %v\nPFC_WD %v", o, ok, err, now[native.TWatchdog])
					}
				})
			})
		}
	}
}

// anyOp draws one op of the kinds that a plan holds.
func anyOp(t *rapid.T, now native.Config) op {
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		key := rapid.SampledFrom([]string{"AZURE_LOSSLESS", "ROCE_x", "ROCE_new"}).Draw(t, "profile")
		row := maps.Clone(now.Row(native.TWRED, "AZURE_LOSSLESS"))
		for _, f := range []string{"green_min_threshold", "green_drop_probability", "yellow_max_threshold", "wred_red_enable"} {
			if rapid.IntRange(0, 2).Draw(t, f) == 0 {
				row[f] = map[string]string{"green_min_threshold": "7", "green_drop_probability": "7", "yellow_max_threshold": "3000000", "wred_red_enable": "false"}[f]
			}
		}
		return op{Table: native.TWRED, Key: key, Row: row}
	case 1:
		return op{Table: native.TWRED, Key: "ROCE_x", Del: true}
	case 2:
		if rapid.Bool().Draw(t, "field") && now.Row(native.TWatchdog, "GLOBAL") != nil {
			return op{Table: native.TWatchdog, Key: "GLOBAL", Field: "POLL_INTERVAL", Value: "300"}
		}
		return op{Table: native.TWatchdog, Key: "GLOBAL", Row: native.Row{"POLL_INTERVAL": "300"}}
	case 3:
		key := rapid.SampledFrom([]string{"Ethernet0", "Ethernet4"}).Draw(t, "port")
		return op{Table: native.TWatchdog, Key: key, Row: native.Row{"action": "forward", "detection_time": "500", "restoration_time": "600"}}
	}
	return op{Table: native.TWatchdog, Key: rapid.SampledFrom([]string{"Ethernet0", "GLOBAL"}).Draw(t, "gone"), Del: true}
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
		s := site{rel: rel, chip: "th5", ssh: true, policy: drivers.Policy{PortGroup: 4, Uplinks: uplinks}}
		b.Run(fmt.Sprintf("ports=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := plan(s, running, &desired); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/port")
		})
	}
}

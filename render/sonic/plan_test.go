package sonic

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

var portNames = []string{"Ethernet0", "Ethernet4", "Ethernet8"}

// anyRunning draws a configuration such as operators, templates and daemons leave behind: keys with
// ranges, ranges that overlap, foreign names and fields.
func anyRunning(t *rapid.T) Config {
	c := Config{}
	c.Put(TMetadata, "localhost", Row{"hwsku": "ACS-MSN4700", "buffer_model": "traditional"})
	identity := Row{}
	for i := range 8 {
		identity[strconv.Itoa(i)] = strconv.Itoa(i)
	}
	for _, name := range []string{"AZURE", "CUSTOM"} {
		for _, tn := range []string{TDSCPToTC, TTCToQueue, TTCToGroup, TPFCToQueue} {
			if rapid.Bool().Draw(t, tn+name) {
				row := maps.Clone(identity)
				row["3"] = rapid.SampledFrom([]string{"3", "1"}).Draw(t, "tc 3")
				c.Put(tn, name, row)
			}
		}
	}
	for _, name := range []string{"scheduler.0", "roce.rdma", "roce.default", "roce.gone"} {
		if rapid.Bool().Draw(t, name) {
			c.Put(TScheduler, name, Row{"type": "DWRR", "weight": rapid.SampledFrom([]string{"14", "60", "40"}).Draw(t, "weight"), "foreign": "kept"})
		}
	}
	for _, name := range []string{"AZURE_LOSSLESS", "ROCE_default", "MINE"} {
		if rapid.Bool().Draw(t, name) {
			row := Row{"ecn": "ecn_all"}
			for _, colour := range []string{"green", "yellow", "red"} {
				row["wred_"+colour+"_enable"], row[colour+"_drop_probability"] = "true", "5"
				row[colour+"_min_threshold"], row[colour+"_max_threshold"] = "1000", rapid.SampledFrom([]string{"2000", "3000"}).Draw(t, "max")
			}
			c.Put(TWRED, name, row)
		}
	}
	for _, name := range []string{"lossy", "lossless", "pg_lossless_400000_5m_profile"} {
		row := Row{"pool": "p", "size": "0", "dynamic_th": "0"}
		if strings.HasPrefix(name, "pg_") {
			row["xoff"] = "1000"
		}
		c.Put(TProfile, name, row)
	}
	names := func(tn string) []string { return append(slices.Sorted(maps.Keys(c[tn])), "") }
	for _, port := range portNames {
		row := Row{"speed": "400000", "mtu": rapid.SampledFrom([]string{"9100", "1500"}).Draw(t, "mtu"), "description": "mine"}
		row["admin_status"] = rapid.SampledFrom([]string{"up", "down"}).Draw(t, "admin")
		c.Put(TPort, port, row)
		if rapid.Bool().Draw(t, "bound") {
			row := Row{"pfc_enable": rapid.SampledFrom([]string{"3,4", "3", "4,3"}).Draw(t, "pfc"), "scheduler": "scheduler.0"}
			for f, tn := range map[string]string{"dscp_to_tc_map": TDSCPToTC, "tc_to_queue_map": TTCToQueue, "tc_to_pg_map": TTCToGroup} {
				if n := rapid.SampledFrom(names(tn)).Draw(t, f); n != "" {
					row[f] = n
				}
			}
			c.Put(TPortQoS, port, row)
		}
		for _, keys := range [][]string{{"0-2", "3-4", "5-6"}, {"3", "4"}, {"0", "3-4", "4-5"}, {"0-7"}, {}}[rapid.IntRange(0, 4).Draw(t, "queues"):][:1] {
			for _, k := range keys {
				row := Row{"foreign": "kept"}
				if n := rapid.SampledFrom(names(TScheduler)).Draw(t, "scheduler"); n != "" {
					row["scheduler"] = n
				}
				if n := rapid.SampledFrom(names(TWRED)).Draw(t, "wred"); n != "" {
					row["wred_profile"] = n
				}
				c.Put(TQueue, port+"|"+k, row)
				c.Put(TBufferQueue, port+"|"+k, Row{"profile": rapid.SampledFrom([]string{"lossy", "lossless"}).Draw(t, "buffer")})
			}
		}
		for _, k := range [][]string{{"0", "3-4"}, {"0", "3", "3-4"}, {"0-2"}, {}}[rapid.IntRange(0, 3).Draw(t, "groups")] {
			c.Put(TGroup, port+"|"+k, Row{"profile": rapid.SampledFrom([]string{"lossy", "pg_lossless_400000_5m_profile"}).Draw(t, "profile")})
		}
		if rapid.Bool().Draw(t, "watchdog") {
			c.Put(TWatchdog, port, Row{"action": rapid.SampledFrom([]string{"drop", "forward"}).Draw(t, "action"), "detection_time": "400", "restoration_time": "400"})
		}
		if rapid.Bool().Draw(t, "cable") {
			if c.Row(TCable, "AZURE") == nil {
				c.Put(TCable, "AZURE", Row{"Ethernet100": "40m"})
			}
			c[TCable]["AZURE"][port] = rapid.SampledFrom([]string{"5m", "40m"}).Draw(t, "length")
		}
	}
	if rapid.Bool().Draw(t, "poll") {
		c.Put(TWatchdog, "GLOBAL", Row{"POLL_INTERVAL": "200"})
	}
	return c
}

// anyDesired draws a model as the renderer makes it, with differences between ports that share
// objects.
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
	d.OwnsGlobals = rapid.Bool().Draw(t, "owns")
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

func TestDeltaReachesTheTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		running, target := anyRunning(t), Target(anyDesired(t))
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
				case tn == TPort && after.Row(tn, key)["description"] != "mine":
					t.Fatalf("%s|%s lost a field of others", tn, key)
				case tn == TCable && after.Row(tn, key)["Ethernet100"] != "40m":
					t.Fatal("the cable of another port is gone")
				case slices.Contains(ranged, tn) && target.Row(TPortQoS, port) == nil && !maps.Equal(row, after.Row(tn, key)):
					t.Fatalf("%s|%s of a port that is not managed became %v", tn, key, after.Row(tn, key))
				case target[tn] == nil && !maps.Equal(row, after.Row(tn, key)):
					t.Fatalf("%s|%s became %v", tn, key, after.Row(tn, key))
				case !slices.Contains(ranged, tn) && target.Row(tn, key) == nil && after.Row(tn, key) == nil && target[tn] != nil:
					if _, named := target[tn][key]; !named {
						t.Fatalf("%s|%s is gone", tn, key)
					}
				}
				if tn != TQueue {
					continue
				}
				// An index that is not managed keeps its whole row.
				from, to, _ := Indexes(idx)
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

// TestEveryChangeIsMadeOrBlocked: every change that a plan lists is made by its steps, derived from
// them by buffermgrd, or marked as blocked; and a plan makes no change that it does not list.
func TestEveryChangeIsMadeOrBlocked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		running, desired := anyRunning(t), anyDesired(t)
		rel, _ := LookupRelease(rapid.SampledFrom(Releases()).Draw(t, "release"))
		s := Site{Release: rel, Chip: rapid.SampledFrom([]string{"", "th5"}).Draw(t, "chip"), SSH: rapid.Bool().Draw(t, "ssh"), Policy: Policy{PortGroup: 2}}
		st := s.Plan(running, desired)
		if desired.Empty() {
			if len(st.Changes)+len(st.Steps) > 0 {
				t.Fatalf("a switch without a port of the intent changes: %v", st.Changes)
			}
			return
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
		for _, step := range st.Steps {
			for _, p := range step.Down {
				flapped[p] = true
			}
		}
		after := running.Clone()
		for _, step := range st.Steps {
			if err := step.Check(desired.Manages); err != nil {
				t.Fatalf("%v\nfrom %s\nsteps %v", err, running.AppendJSON(nil), st.Steps)
			}
			for _, o := range step.Ops {
				o.apply(after)
			}
		}
		if err := Remember(running, st.Steps, s.Policy).Check(desired.Manages); err != nil {
			t.Fatalf("%v\nfrom %s\nsteps %v", err, running.AppendJSON(nil), st.Steps)
		}
		// Repeated, because map iteration order is random.
		for range 4 {
			if again := s.Plan(running, desired); !reflect.DeepEqual(again, st) {
				t.Fatalf("two plans of the same state differ:\n%v\n%v", again, st)
			}
		}
		dev, _ := Decode(after)
		have, _ := Decode(running)
		if others := qos.Others(have, dev, desired); len(others) > 0 {
			t.Fatalf("%v are not in the intent and behave otherwise\nfrom %s\nsteps %v", others, running.AppendJSON(nil), st.Steps)
		}
		for _, c := range qos.Diff(dev, desired) {
			if c.Port == "" && strings.Contains(strings.Join(st.Notes, "\n"), "stays as it is, because of") {
				continue // others use the object
			}
			derived := c.Field.Kind.Of() == qos.OfGroup && (flapped[c.Port] || cable[c.Port] || !after.Up(c.Port) || !running.Up(c.Port))
			if !blocked[c.Path()] && !derived {
				t.Fatalf("%s: %s -> %s is neither made nor blocked\nfrom %s\nchanges %v\nsteps %v", c.Path(), c.Old, c.New, running.AppendJSON(nil), st.Changes, st.Steps)
			}
		}
		for p := range flapped {
			if !listed[p] {
				t.Fatalf("%s goes down and the plan lists no change of it: %v", p, st.Steps)
			}
		}
		for _, c := range st.Changes {
			if s.SSH && c.Blocked != "" && !strings.HasPrefix(c.Blocked, "the switch derives") && !strings.Contains(c.Blocked, "no YANG model") && !strings.Contains(c.Blocked, "the switch has no") {
				t.Fatalf("blocked with ssh: %v", c)
			}
		}
	})
}

// shared returns a switch with two ports, of which one is in the intent. Both use the same objects,
// and their watchdogs share the poll interval of the switch.
func shared() (Config, *qos.Device) {
	cfg := Config{TMetadata: {"localhost": {"hwsku": "ACS-MSN4700", "buffer_model": "traditional"}}, TWatchdog: {"GLOBAL": {"POLL_INTERVAL": "400"}}}
	d := &qos.Device{Ports: map[string]*qos.Port{"Ethernet0": {}}, Classes: []qos.Class{{Name: "rdma", Priority: 3, Queue: 3, Group: 3}}}
	cfg.Put(TScheduler, "scheduler.1", Row{"type": "DWRR", "weight": "15"})
	for _, port := range []string{"Ethernet0", "Ethernet8"} {
		cfg.Put(TPort, port, Row{"admin_status": "up", "speed": "400000"})
		cfg.Put(TQueue, port+"|3", Row{"scheduler": "scheduler.1"})
		cfg.Put(TPortQoS, port, Row{"pfc_enable": "3", "pfcwd_sw_enable": "3"})
		cfg.Put(TWatchdog, port, Row{"action": "drop", "detection_time": "400", "restoration_time": "400"})
	}
	p := d.Ports["Ethernet0"]
	p.Queues[3].Scheduler = qos.Of(qos.Scheduler{Weight: 40})
	p.Speed = qos.Of(units.Rate(100e9)) // no plan changes the speed
	return cfg, d
}

// A value that cannot be changed does not affect the handling of what is left to other ports.
func TestBlockedChangeDoesNotBlockOthers(t *testing.T) {
	cfg, d := shared()
	rel := Newest()
	st := Site{Release: rel, Chip: "spc3", SSH: true, Policy: Policy{PortGroup: 1}}.Plan(cfg, d)
	blocked := slices.ContainsFunc(st.Changes, func(c qos.Change) bool { return c.Field.Kind == qos.KindSpeed && c.Blocked != "" })
	if !blocked || len(st.Steps) == 0 {
		t.Fatalf("%+v", st)
	}
	after := cfg
	for _, s := range st.Steps {
		after = after.After(s.Ops)
	}
	if w := after.Row(TScheduler, "scheduler.1")["weight"]; w != "15" || after.Row(TQueue, "Ethernet8|3")["scheduler"] != "scheduler.1" {
		t.Errorf("the other port has weight %s", w)
	}
	if got := after.Row(TScheduler, after.Row(TQueue, "Ethernet0|3")["scheduler"])["weight"]; got != "40" {
		t.Errorf("the port has weight %s", got)
	}
}

// A plan made after a run that wrote an object but did not bind it yet binds that object.
func TestPlanContinuesAfterACutOffRun(t *testing.T) {
	cfg, d := shared()
	cfg[TQueue]["Ethernet0|3"]["wred_profile"], cfg[TQueue]["Ethernet8|3"]["wred_profile"] = wredName, wredName
	cfg.Put(TWRED, wredName, Row{"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "1000", "green_max_threshold": "2000", "green_drop_probability": "5"})
	d.Ports["Ethernet0"].Queues[3].ECN = qos.Of(qos.ECN{Enabled: true, Min: 3000, Max: 9000, Probability: 10})
	run := func(from Config, only ...string) Config {
		for _, s := range (Site{Release: Newest(), Chip: "spc3", SSH: true, Policy: Policy{PortGroup: 1}}).Plan(from, d).Steps {
			from = from.After(slices.DeleteFunc(s.Ops, func(o Op) bool { return len(only) > 0 && !slices.Contains(only, o.Table) }))
		}
		return from
	}
	want := run(cfg)
	if name := want.Row(TQueue, "Ethernet0|3")["wred_profile"]; name == wredName || want.Row(TWRED, name) == nil {
		t.Fatalf("the port shares %q", name)
	}
	if got := run(run(cfg, TWRED, TScheduler)); !bytes.Equal(got.AppendJSON(nil), want.AppendJSON(nil)) {
		t.Errorf("after a cut run: %s\nwant %s", got.AppendJSON(nil), want.AppendJSON(nil))
	}
}

// A poll interval that other ports use as well stays if the watchdogs of the intent work with it.
// Otherwise the change is blocked; the message names the ports and the workaround.
func TestThePollIntervalOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		detect        time.Duration
		owns, blocked bool
		left          bool
	}{
		"it will do":   {detect: 400 * time.Millisecond, left: true},
		"too slow":     {detect: 200 * time.Millisecond, blocked: true},
		"globals: own": {detect: 200 * time.Millisecond, owns: true},
	} {
		cfg, d := shared()
		d.OwnsGlobals = c.owns
		d.WatchdogPoll = qos.Of(200 * time.Millisecond)
		d.Ports["Ethernet0"].Watchdog = qos.Of(qos.Watchdog{Enabled: true, Priorities: qos.Priorities(3), Action: qos.ActionDrop, Detect: c.detect, Restore: 400 * time.Millisecond})
		st := Site{Release: Newest(), Chip: "spc3", SSH: true, Policy: Policy{PortGroup: 1}}.Plan(cfg, d)
		at := slices.IndexFunc(st.Changes, func(c qos.Change) bool { return c.Field.Kind == qos.KindWatchdogPoll })
		switch {
		case c.left:
			if at >= 0 || !strings.Contains(strings.Join(st.Notes, " "), "PFC_WD|GLOBAL stays as it is, because of 1 port that the intent does not name: Ethernet8") {
				t.Errorf("%s: %v %v", name, st.Changes, st.Notes)
			}
		case at < 0 || (st.Changes[at].Blocked != "") != c.blocked || c.blocked && !strings.Contains(st.Changes[at].Blocked, "Ethernet8; with globals: own"):
			t.Errorf("%s: %+v", name, st.Changes)
		}
		for _, s := range st.Steps {
			if (c.left || c.blocked) && slices.ContainsFunc(s.Ops, func(o Op) bool { return o.Table == TWatchdog && o.Key == "GLOBAL" }) {
				t.Errorf("%s: the poll interval changes: %v", name, s.Ops)
			}
		}
	}
}

// The queues of a chassis are not written: their keys have a different form.
func TestQueuesOfAChassisAreNotWritten(t *testing.T) {
	cfg, d := shared()
	cfg[TMetadata]["localhost"]["switch_type"] = "voq"
	st := Site{Release: Newest(), Chip: "spc3", SSH: true, Policy: Policy{PortGroup: 1}}.Plan(cfg, d)
	for _, s := range st.Steps {
		if slices.ContainsFunc(s.Ops, func(o Op) bool { return o.Table == TQueue }) {
			t.Errorf("%v", s.Ops)
		}
	}
	if !slices.ContainsFunc(st.Changes, func(c qos.Change) bool { return strings.Contains(c.Blocked, "chassis") }) {
		t.Errorf("%v", st.Changes)
	}
}

// A plan becomes stale when someone shuts a port of the intent or brings it up, because the way its
// rows are written depends on that. Other ports do not matter.
func TestDigestHasTheAdminState(t *testing.T) {
	with := func(port, status string) Config {
		c := Config{}
		for _, name := range portNames {
			c.Put(TPort, name, Row{"speed": "400000", "admin_status": "up", "mtu": "9100"})
		}
		c[TPort][port]["admin_status"] = status
		return c
	}
	desired := &qos.Device{Ports: map[string]*qos.Port{portNames[0]: {PFC: qos.Of(qos.Priorities(3)), MTU: qos.Of(9100)}}}
	planned := Digest(with(portNames[0], "up"), desired)
	if Digest(with(portNames[0], "down"), desired) == planned {
		t.Error("a port that was shut has the digest of one that is up")
	}
	if Digest(with(portNames[1], "down"), desired) != planned {
		t.Error("a port outside of the intent changes the digest")
	}
}

package cumulus

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// plain returns a device with three classes as the compiler makes it: RDMA in priority 3, CNPs
// in 6 and the rest in 0.
func plain(ports ...string) *qos.Device {
	d := &qos.Device{Name: "leaf1", Ports: map[string]*qos.Port{}, WatchdogPoll: qos.Of(200 * time.Millisecond), PollUsual: true}
	m := qos.UnmappedMaps()
	m.Unmanage(qos.PCPToTC, qos.PFCToGroup)
	for i := range m.DSCPToTC {
		m.DSCPToTC[i] = 0
	}
	m.DSCPToTC[26], m.DSCPToTC[48] = 3, 6
	for i := range qos.NumPriorities {
		m.TCToQueue[i], m.TCToGroup[i], m.PFCToQueue[i] = int8(i), 0, int8(i)
	}
	m.TCToGroup[3] = 3
	for _, name := range ports {
		p := &qos.Port{MTU: qos.Of(9216), Trust: qos.Of(qos.TrustDSCP), Maps: qos.Of(m), PFC: qos.Of(qos.Priorities(3)), Cable: qos.Of(units.Length(30)),
			PFCAsymmetric: qos.Of(false), LinkPause: qos.Of(false),
			Watchdog: qos.Of(qos.Watchdog{Enabled: true, Priorities: qos.Priorities(3), Action: qos.ActionDrop, Detect: 400 * time.Millisecond, Restore: 400 * time.Millisecond})}
		p.Queues[0] = qos.Queue{Scheduler: qos.Of(qos.Scheduler{Weight: 40}), ECN: qos.Of(qos.ECN{})}
		p.Queues[3] = qos.Queue{Scheduler: qos.Of(qos.Scheduler{Weight: 60}), ECN: qos.Of(qos.ECN{Enabled: true, Min: 200_000, Max: 2_000_000, Probability: 10})}
		p.Queues[6] = qos.Queue{Scheduler: qos.Of(qos.Scheduler{Strict: true}), ECN: qos.Of(qos.ECN{})}
		d.Ports[name] = p
	}
	Fit(d)
	return d
}

func parse(t testing.TB, text string) *Config {
	t.Helper()
	c, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

// settles checks that a change reaches the desired state, that a second change is empty, and
// that the undo restores every value.
func settles(t *testing.T, have *Config, want *qos.Device) Edit {
	t.Helper()
	e := Change(have, want)
	after := e.Apply(have)
	running, _ := Decode(after)
	for _, c := range qos.Diff(running, want) {
		t.Errorf("%s: %s after the change, want %s", c.Path(), c.Old, c.New)
	}
	if again := Change(after, want); len(again) > 0 {
		t.Errorf("a second change is not empty: %v", again)
	}
	undo := e.Undo(have)
	if got := undo.Within(after).Apply(after); !got.Tree.Equal(have.Tree) {
		t.Errorf("after the undo:\n%s\nbefore the change:\n%s\nundo: %v", got.Tree.JSON(), have.Tree.JSON(), undo)
	}
	if err := e.Check(nil); err != nil {
		t.Error(err)
	}
	if err := e.CheckUndo(undo); err != nil {
		t.Error(err)
	}
	if left := undo.Within(have); len(left) > 0 {
		t.Errorf("nothing is to be undone before the change, but %v", left)
	}
	var back Edit
	if b, err := json.Marshal(e); err != nil || json.Unmarshal(b, &back) != nil || !back.Apply(have).Tree.Equal(after.Tree) {
		t.Errorf("an edit that was written and read is another one: %s, %v", b, err)
	}
	return e
}

// A switch with the preset, one without, and one configured by profiles all reach the same
// state.
func TestChangeFromAnyStart(t *testing.T) {
	ports := "interface:\n  swp1-4:\n    type: swp\n"
	starts := map[string]string{
		"nothing":        ports,
		"preset":         ports + "qos:\n  roce: {enable: 'on', mode: lossless}\n",
		"renamed preset": ports + "qos:\n  roce:\n    state: enabled\n",
		"lossy preset":   ports + "qos:\n  roce: {mode: lossy}\n",
		"many classes":   ports + "qos:\n  roce: {mode: lossy-multi-tc}\n",
		"one pool":       ports + "qos:\n  roce: {state: enabled, mode: lossless-single-ipool, cable-length: 50}\n  traffic-pool: {default-lossy: {memory-percent: 10}, roce-lossless: {memory-percent: 90}}\n",
		"profiles":       ports + "    qos:\n      pfc: {profile: p}\n      congestion-control: {profile: e}\n      egress-scheduler: {profile: s}\n      mapping: {profile: m}\nqos:\n  pfc: {p: {switch-priority: {3,4: {}}, xoff-threshold: 9000}}\n  congestion-control: {e: {traffic-class: {1,3: {min-threshold: 40000, max-threshold: 200000, red: enable}}}}\n  egress-scheduler: {s: {traffic-class: {0-5: {mode: dwrr, bw-percent: 10}, 6: {mode: strict}}}}\n  mapping: {m: {trust: l3, dscp: {24-31: {switch-priority: 3}}}}\n",
		"globals":        ports + "qos:\n  pfc: {default-global: {switch-priority: {0: {}}, rx: disable}}\n  egress-queue-mapping: {default-global: {switch-priority: {3: {traffic-class: 7}}}}\n  pfc-watchdog: {polling-interval: 200, robustness: 5}\n  mapping: {default-global: {trust: port, port-default-sp: 3}}\n",
	}
	for name, text := range starts {
		for _, release := range Releases() {
			for _, own := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%t", name, release, own), func(t *testing.T) {
					have := parse(t, text)
					have.Release, _ = ReleaseOf(release)
					want := plain("swp1", "swp2", "swp3")
					want.OwnsGlobals = own
					before, _ := Decode(have)
					e := settles(t, have, want)
					if len(e) == 0 {
						t.Fatal("nothing changes")
					}
					after, _ := Decode(e.Apply(have))
					if others := qos.Others(before, after, want); len(others) > 0 && !slices.ContainsFunc(e, func(s Setting) bool { return s.Path[1] == "egress-queue-mapping" || s.Path[1] == "traffic-pool" }) {
						t.Errorf("ports %v change with them", others)
					}
					if was, is := PresetOf(have), PresetOf(e.Apply(have)); (was == nil) != (is == nil) || was != nil && was.Mode != is.Mode {
						t.Error("the preset is another one")
					}
				})
			}
		}
	}
}

// Encoded configuration means the same with the preset on, in any mode, or off.
func TestEncodeDoesNotDependOnThePreset(t *testing.T) {
	want := plain("swp1", "swp2s0")
	for _, release := range Releases() {
		rel, _ := ReleaseOf(release)
		c := Encode(want, rel)
		for _, preset := range []string{"", Lossless, Lossy, LosslessSinglePool, LossyMultiTC} {
			with := *c
			with.Tree = c.Tree.Clone()
			if preset != "" {
				with.Tree.Put(text(preset), "qos", "roce", "mode")
			}
			got, _ := Decode(&with)
			for _, d := range qos.Diff(got, want) {
				t.Errorf("%s, preset %q: %s: %s after a round trip, want %s", release, preset, d.Path(), d.Old, d.New)
			}
		}
		for name, text := range map[string]string{"JSON": string(c.Tree.JSON()), "YAML": string(c.Tree.YAML()), "commands": strings.Join(c.Tree.Commands(), "\n")} {
			back := parse(t, text)
			back.Release = rel
			got, _ := Decode(back)
			for _, d := range qos.Diff(got, want) {
				t.Errorf("%s as %s: %s: %s after a round trip, want %s", release, name, d.Path(), d.Old, d.New)
			}
		}
	}
}

// The profiles of a member are bound to its bond. If members want different profiles, the bond
// gets those of the first, and no path is set twice. A bond with a member outside the intent is
// left alone.
func TestBonds(t *testing.T) {
	have := parse(t, "nv set interface bond1 bond member swp1-2\nnv set interface bond2 bond member swp3-4")
	want := plain("swp1", "swp2", "swp3")
	want.Ports["swp2"].Cable = qos.Of(units.Length(5))
	seen := map[string]bool{}
	e := Change(have, want)
	for _, s := range e {
		if seen[s.Path.String()] {
			t.Errorf("%s is set twice", s.Path)
		}
		seen[s.Path.String()] = true
	}
	for path, is := range map[string]bool{
		"interface bond1 qos pfc profile": true, "interface bond1 qos mapping profile": true, "interface bond2 qos pfc profile": false,
		"interface swp1 qos pfc profile": false, "interface swp1 link mtu": false, "interface swp3 qos pfc-watchdog state": true,
	} {
		if seen[path] != is {
			t.Errorf("%s: set is %t", path, seen[path])
		}
	}
	after, _ := Decode(e.Apply(have))
	if p := after.Ports["swp2"]; p.PFC.V != qos.Priorities(3) || p.Cable.V != 30 || after.Ports["swp4"].PFC.V != 0 {
		t.Errorf("swp2 has %v, swp4 %v", p.Cable, after.Ports["swp4"].PFC)
	}
	want.OwnsGlobals = true
	if after, _ := Decode(Change(have, want).Apply(have)); after.Ports["swp4"].PFC.V != qos.Priorities(3) {
		t.Error("with globals: own, the other member of bond2 is left as it was")
	}
}

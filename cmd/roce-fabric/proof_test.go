package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/netx"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim/eos"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// proof is a lab of an example that runs as intended.
type proof struct {
	*lab.Lab
	t    *testing.T
	file string
	dial netx.Dialer // network of the lab; nil for the machine's
}

func newProof(t *testing.T, example string) *proof {
	t.Helper()
	p := startProof(t, example, lab.Options{})
	p.must("apply", "--yes", "--allow", "traffic-loss", "--gate", "off", "--state", p.state())
	return p
}

// startProof starts the lab of an example in its factory state.
func startProof(t *testing.T, example string, o lab.Options) *proof {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", example, "fabric.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// The faults change objects under their usual names, which other ports also use.
	file := filepath.Join(t.TempDir(), "fabric.yaml")
	if err := os.WriteFile(file, append(text, "\nglobals: own\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load(file, intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Start(f, t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &proof{Lab: l, t: t, file: file}
}

// dir returns the folder of the lab, state that of its journal.
func (p *proof) dir() string   { return filepath.Dir(p.CA) }
func (p *proof) state() string { return filepath.Join(p.dir(), "state") }

func (p *proof) run(args ...string) (status int, stdout, stderr string) {
	p.t.Helper()
	return runOver(p.t, p.dial, append(args, "-f", p.file, "--lab", lab.Path(p.dir()))...)
}

func (p *proof) must(args ...string) string {
	p.t.Helper()
	status, out, errOut := p.run(args...)
	if status != exitOK {
		p.t.Fatalf("%v: status %d\n%s%s", args, status, out, errOut)
	}
	return out
}

// found returns validate's findings above info, except the one that all hosts of a lab have:
// that no boot unit is installed.
func (p *proof) found() []checks.Finding {
	p.t.Helper()
	_, out, errOut := p.run("validate", "--output", "json")
	var r struct{ Findings []checks.Finding }
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		p.t.Fatalf("%v\n%s%s", err, out, errOut)
	}
	return slices.DeleteFunc(r.Findings, func(f checks.Finding) bool { return f.Severity == checks.Info || f.ID == "NIC-05" })
}

func (p *proof) sonic(name string) *sonic.Switch { return p.Switches[name].(*sonic.Switch) }
func (p *proof) eos(name string) *eos.EOS        { return p.Switches[name].(*eos.EOS) }
func (p *proof) host(name string) *host.Host     { return p.Servers[name] }

// runningFault breaks one thing and repairs it.
type runningFault struct {
	id, place string
	layer     string // config, applied, saved
	// inject breaks it and returns the repair.
	inject func(p *proof) (fix func())
}

// row changes fields of a row of leaf1's CONFIG_DB, which may be the scheduler "of queue 3"; the
// value "-" removes a field. The repair also removes what the daemons derived from the fault.
func row(table, key string, fields ...string) func(p *proof) func() {
	return func(p *proof) func() {
		box := p.sonic("leaf1")
		before, back := box.Config(), box.Keep() // restoring a row would leave the daemons' state
		key := key
		if queue, ok := strings.CutPrefix(key, "of queue "); ok {
			key = before["QUEUE"]["Ethernet0|"+queue]["scheduler"]
		}
		now := maps.Clone(before[table][key])
		if now == nil {
			p.t.Fatalf("leaf1 has no %s|%s", table, key)
		}
		for _, f := range fields {
			k, v, _ := strings.Cut(f, "=")
			if v == "-" {
				delete(now, k)
			} else {
				now[k] = v
			}
		}
		box.DelRow(table, key)
		if len(fields) > 0 {
			box.SetRow(table, key, now)
		}
		return back
	}
}

// gone removes a row of CONFIG_DB.
func gone(table, key string) func(p *proof) func() { return row(table, key) }

// typed enters lines on a switch, and other lines as the repair.
func typed(name, lines, fix string) func(p *proof) func() {
	return func(p *proof) func() {
		box := p.Switches[name].(interface{ Configure(string) error })
		do := func(lines string) {
			if err := box.Configure(lines); err != nil {
				p.t.Fatalf("%s: %v", name, err)
			}
		}
		do(lines)
		return func() { do(fix) }
	}
}

// programmed changes an attribute in leaf1's ASIC_DB, in all objects of a kind, so that it
// differs from the configuration.
func programmed(kind, attribute string) func(p *proof) func() {
	return func(p *proof) func() {
		box := p.sonic("leaf1")
		changed := map[string]map[string]string{}
		for key, row := range box.DB("ASIC_DB")["ASIC_STATE"] {
			for name := range row {
				if strings.Contains(key, kind) && strings.HasSuffix(name, attribute) {
					changed[key] = maps.Clone(row)
					now := maps.Clone(row)
					now[name] = "7"
					box.SetDBRow("ASIC_DB", "ASIC_STATE", key, now)
				}
			}
		}
		if len(changed) == 0 {
			p.t.Fatalf("leaf1 has no %s in a %s", attribute, kind)
		}
		return func() {
			for key, row := range changed {
				box.SetDBRow("ASIC_DB", "ASIC_STATE", key, row)
			}
		}
	}
}

// recabled makes LLDP show another neighbour at a port.
func recabled(at, now, before string) func(p *proof) func() {
	return func(p *proof) func() {
		set := func(neighbour string) {
			here, port, _ := strings.Cut(at, "/")
			device, remote, _ := strings.Cut(neighbour, "/")
			p.Switches[here].(interface{ SetNeighbor(_, _, _ string) }).SetNeighbor(port, device, remote)
		}
		set(now)
		return func() { set(before) }
	}
}

// corrupted changes the DCB state of gpu1's NIC.
func corrupted(f func(*dcb.State)) func(p *proof) func() {
	return func(p *proof) func() {
		k := p.host("gpu1").Kernel()
		old := k.State("ens1f0np0")
		k.Corrupt("ens1f0np0", f)
		return func() { k.Corrupt("ens1f0np0", func(s *dcb.State) { *s = *old }) }
	}
}

// written writes a file of gpu1's kernel.
func written(path, value, fix string) func(p *proof) func() {
	return func(p *proof) func() {
		k := p.host("gpu1").Kernel()
		k.Put(path, value)
		return func() { k.Put(path, fix) }
	}
}

var runningFaults = []runningFault{
	// SONiC: leaf1
	{"PFC-01", "leaf1 Ethernet240", "config", row("PORT_QOS_MAP", "Ethernet240", "pfc_enable=3,4")},
	{"PFC-02", "leaf1 Ethernet0", "config", row("PORT_QOS_MAP", "Ethernet0", "pfc_enable=-")},
	{"CLS-02", "leaf1 Ethernet0,Ethernet8,Ethernet240,Ethernet248", "config", row("DSCP_TO_TC_MAP", "AZURE", "26=0")},
	{"CLS-01", "leaf1 Ethernet0,Ethernet8,Ethernet240,Ethernet248", "config", row("DSCP_TO_TC_MAP", "AZURE", "48=0")},
	{"CLS-03", "leaf1 Ethernet0,Ethernet8,Ethernet240,Ethernet248", "config", row("DSCP_TO_TC_MAP", "AZURE", "27=3")},
	{"CLS-05", "leaf1 Ethernet0,Ethernet8,Ethernet240,Ethernet248", "config", row("MAP_PFC_PRIORITY_TO_QUEUE", "AZURE", "3=4")},
	{"PFC-03", "leaf1 Ethernet0,Ethernet8,Ethernet240,Ethernet248", "config", row("TC_TO_PRIORITY_GROUP_MAP", "AZURE", "3=0")},
	{"ECN-08", "leaf1 Ethernet0,Ethernet8,Ethernet240,Ethernet248", "config", row("WRED_PROFILE", "AZURE_LOSSLESS", "ecn=ecn_none")},
	{"ECN-09", "leaf1 Ethernet0,Ethernet8,Ethernet240,Ethernet248", "config", row("WRED_PROFILE", "AZURE_LOSSLESS", "wred_green_enable=false")},
	{"ECN-01", "leaf1 Ethernet0", "config", row("QUEUE", "Ethernet0|3", "wred_profile=-")},
	{"CLS-09", "leaf1 Ethernet0,Ethernet8,Ethernet240,Ethernet248", "config", row("SCHEDULER", "of queue 6", "type=DWRR", "weight=5")},
	{"SCH-03", "leaf1 Ethernet0,Ethernet8,Ethernet240,Ethernet248", "config", row("SCHEDULER", "of queue 3", "weight=30")},
	{"MTU-02", "leaf1 Ethernet240", "config", row("PORT", "Ethernet240", "mtu=1500")},
	{"MTU-03", "leaf1 Ethernet0", "config", row("PORT", "Ethernet0", "mtu=8000")},
	{"WD-01", "leaf1 Ethernet0", "config", gone("PFC_WD", "Ethernet0")},
	{"WD-02", "leaf1 Ethernet240", "config", gone("PFC_WD", "Ethernet240")},
	{"WD-03", "leaf1 Ethernet0", "config", row("PORT_QOS_MAP", "Ethernet0", "pfcwd_sw_enable=4")},
	{"WD-05", "leaf1 Ethernet0", "config", row("PFC_WD", "Ethernet0", "detection_time=600")},
	{"BUF-02", "leaf1 Ethernet240", "config", row("CABLE_LENGTH", "AZURE", "Ethernet240=5m")},
	{"BUF-07", "leaf1 Ethernet0", "config", row("BUFFER_QUEUE", "Ethernet0|3-4", "profile=egress_lossy_profile")},
	{"BUF-08", "leaf1 Ethernet0,Ethernet8,Ethernet240,Ethernet248", "config", row("BUFFER_PROFILE", "egress_lossless_profile", "static_th=1000000")},
	{"TOP-07", "leaf1 Ethernet240", "config", recabled("leaf1/Ethernet240", "spine2/Ethernet1/1", "spine1/Ethernet1/1")},
	// A port that the switch has but the intent does not name.
	{"TOP-07", "spine1 Ethernet1/1", "config", recabled("spine1/Ethernet1/1", "leaf1/Ethernet16", "leaf1/Ethernet240")},
	{"TOP-07", "leaf1 Ethernet240", "config", recabled("leaf1/Ethernet240", "spine1/Ethernet60/1", "spine1/Ethernet1/1")},
	{"TOP-07", "leaf1 Ethernet0", "config", recabled("leaf1/Ethernet0", "gpu1/ens2f0np0", "gpu1/ens1f0np0")},
	{"PFC-10", "leaf1 Ethernet0", "applied", func(p *proof) func() {
		box := p.sonic("leaf1")
		key := "SAI_OBJECT_TYPE_PORT:" + box.DB("COUNTERS_DB")["COUNTERS_PORT_NAME_MAP"][""]["Ethernet0"]
		old := maps.Clone(box.DB("ASIC_DB")["ASIC_STATE"][key])
		now := maps.Clone(old)
		now["SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL"] = "0"
		box.SetDBRow("ASIC_DB", "ASIC_STATE", key, now)
		return func() { box.SetDBRow("ASIC_DB", "ASIC_STATE", key, old) }
	}},

	{"OPS-02", "leaf1 Ethernet0,Ethernet8,Ethernet240,Ethernet248", "applied", programmed("SCHEDULER:", "_SCHEDULING_WEIGHT")},
	{"OPS-02", "leaf1 Ethernet0,Ethernet8,Ethernet240,Ethernet248", "applied", programmed("BUFFER_PROFILE:", "_STATIC_TH")},
	{"BUF-15", "leaf1 Ethernet0,Ethernet8", "applied", programmed("BUFFER_PROFILE:", "_XOFF_TH")},

	// EOS: spine1
	{"PRT-01", "spine1 Ethernet1/1", "config", typed("spine1", "interface Ethernet1/1\nno service-profile", "interface Ethernet1/1\nservice-profile ROCE-FABRIC")},
	{"PFC-01", "spine1 Ethernet1/1,Ethernet2/1", "config", typed("spine1", "qos profile ROCE-FABRIC\nno priority-flow-control priority 3", "qos profile ROCE-FABRIC\npriority-flow-control priority 3 no-drop")},
	{"CLS-04", "spine1 Ethernet1/1,Ethernet2/1,Ethernet33/1,Ethernet34/1", "config", typed("spine1", "qos profile ROCE-FABRIC\nqos trust cos", "qos profile ROCE-FABRIC\nqos trust dscp")},
	{"CLS-02", "spine1 Ethernet1/1,Ethernet2/1,Ethernet33/1,Ethernet34/1", "config", typed("spine1", "qos map dscp 26 to traffic-class 0", "qos map dscp 26 to traffic-class 3")},
	{"MTU-02", "spine1 Ethernet1/1", "config", typed("spine1", "interface Ethernet1/1\nmtu 1500", "interface Ethernet1/1\nmtu 9100")},
	{"PFC-05", "spine1 Ethernet1/1", "config", typed("spine1", "interface Ethernet1/1\nflowcontrol receive on", "interface Ethernet1/1\nno flowcontrol receive")},
	{"SCH-03", "spine1 Ethernet1/1,Ethernet2/1,Ethernet33/1,Ethernet34/1", "config", typed("spine1", "qos profile ROCE-FABRIC\nuc-tx-queue 3\nbandwidth percent 20", "qos profile ROCE-FABRIC\nuc-tx-queue 3\nbandwidth percent 60")},
	{"WD-02", "spine1 Ethernet1/1,Ethernet2/1,Ethernet33/1,Ethernet34/1", "config", typed("spine1", "no priority-flow-control pause watchdog default timeout", "priority-flow-control pause watchdog default timeout 0.4")},
	{"ECN-05", "spine1 Ethernet1/1,Ethernet2/1,Ethernet33/1,Ethernet34/1", "config", typed("spine1", "qos profile ROCE-FABRIC\nuc-tx-queue 3\nrandom-detect ecn minimum-threshold 300000 bytes maximum-threshold 1500000 bytes max-mark-probability 10", "qos profile ROCE-FABRIC\nuc-tx-queue 3\nrandom-detect ecn minimum-threshold 150000 bytes maximum-threshold 1500000 bytes max-mark-probability 10")},
	{"OPS-01", "spine1", "saved", func(p *proof) func() {
		typed("spine1", "interface Ethernet1/1\nmtu 9000", "")(p)
		p.eos("spine1").Save()
		typed("spine1", "interface Ethernet1/1\nmtu 9100", "")(p)
		return p.eos("spine1").Save
	}},

	// NX-OS: pod2-leaf1
	{"CLS-02", "pod2-leaf1 Ethernet1/1,Ethernet1/2,Ethernet1/29,Ethernet1/30", "config", typed("pod2-leaf1", "class-map type qos match-any ROCE-FABRIC-RDMA\nno match dscp 26", "class-map type qos match-any ROCE-FABRIC-RDMA\nmatch dscp 26")},
	{"CLS-01", "pod2-leaf1 Ethernet1/1,Ethernet1/2,Ethernet1/29,Ethernet1/30", "config", typed("pod2-leaf1", "class-map type qos match-any ROCE-FABRIC-CNP\nno match dscp 48", "class-map type qos match-any ROCE-FABRIC-CNP\nmatch dscp 48")},
	{"PFC-10", "pod2-leaf1 Ethernet1/29", "config", typed("pod2-leaf1", "interface Ethernet1/29\npriority-flow-control mode off", "interface Ethernet1/29\npriority-flow-control mode on")},
	{"MTU-02", "pod2-leaf1 Ethernet1/29", "config", typed("pod2-leaf1", "interface Ethernet1/29\nmtu 1500", "interface Ethernet1/29\nmtu 9100")},
	{"ECN-08", "pod2-leaf1 Ethernet1/1,Ethernet1/2,Ethernet1/29,Ethernet1/30", "config", typed("pod2-leaf1", "policy-map type queuing ROCE-FABRIC-OUT\nclass type queuing c-out-8q-q3\nrandom-detect minimum-threshold 150000 bytes maximum-threshold 1500000 bytes drop-probability 10 weight 0", "policy-map type queuing ROCE-FABRIC-OUT\nclass type queuing c-out-8q-q3\nrandom-detect minimum-threshold 150000 bytes maximum-threshold 1500000 bytes drop-probability 10 weight 0 ecn")},
	{"PFC-10", "pod2-leaf1 Ethernet1/1", "applied", typed("pod2-leaf1", "interface Ethernet1/1\npriority-flow-control mode auto", "interface Ethernet1/1\npriority-flow-control mode on")},

	// The NIC of gpu1
	{"PFC-02", "gpu1 ens1f0np0", "config", corrupted(func(s *dcb.State) { s.PFC.Enabled = qos.Priorities(3, 4) })},
	{"NIC-02", "gpu1 ens1f0np0", "config", corrupted(func(s *dcb.State) {
		for i := range s.Apps {
			if s.Apps[i].Protocol == 26 {
				s.Apps[i].Priority = 0
			}
		}
	})},
	{"SCH-04", "gpu1 ens1f0np0", "config", corrupted(func(s *dcb.State) { ets := *s.ETS; ets.Bandwidth = [8]uint8{0: 60, 3: 40}; s.ETS = &ets })},
	{"PFC-05", "gpu1 ens1f0np0", "config", func(p *proof) func() {
		p.host("gpu1").Kernel().SetPause("ens1f0np0", local.Pause{RX: true, TX: true})
		return func() { p.host("gpu1").Kernel().SetPause("ens1f0np0", local.Pause{}) }
	}},
	{"MTU-04", "gpu1 ens1f0np0", "config", written("class/net/ens1f0np0/mtu", "1500\n", "9000\n")},
	{"DCB-02", "gpu1", "config", func(p *proof) func() {
		p.host("gpu1").Kernel().Process(4711, "lldpad")
		return func() { p.host("gpu1").Kernel().Process(4711, "sleep") }
	}},
}

// places returns the places of the findings of a check, and on each device that of all of them: a
// cause that breaks more rules at some of its ports has a finding for each of these groups of ports.
func places(fs []checks.Finding, id string) (out []string) {
	var devices ordered.Groups[string, string]
	for _, f := range fs {
		if f.About(id) {
			out = append(out, f.Place())
			devices.Add(f.Device, f.Ports...)
		}
	}
	for device, ports := range devices.All() {
		out = append(out, checks.Finding{Device: device, Ports: natural.Sorted(ports)}.Place())
	}
	return out
}

// In the mixed fabric, each fault of the running state is found with its ID at its place, and
// there is no other error.
func TestRunningFaults(t *testing.T) {
	t.Parallel()
	p := newProof(t, "mixed")
	if fs := p.found(); len(fs) > 0 {
		t.Fatalf("the untouched fabric: %s", spell(fs))
	}
	layers := map[string]bool{}
	for i, f := range runningFaults {
		layers[f.layer] = true
		if !sharedtest.Nightly() && i%4 != 0 {
			continue
		}
		fix := f.inject(p)
		fs := p.found()
		fix()
		hit := slices.Contains(places(fs, f.id), f.place)
		others := slices.DeleteFunc(slices.Clone(fs), func(x checks.Finding) bool { return x.About(f.id) || x.Severity != checks.Error })
		if !hit || len(others) > 0 {
			t.Errorf("fault %d, %s at %s: found %v; all: %s", i, f.id, f.place, hit, spell(fs))
		}
		if !sharedtest.Nightly() {
			continue // a remaining error shows up with the next fault
		}
		if fs := p.found(); len(fs) > 0 {
			t.Fatalf("fault %d, %s at %s, was mended: %s", i, f.id, f.place, spell(fs))
		}
	}
	if fs := p.found(); len(fs) > 0 {
		t.Errorf("every fault was mended: %s", spell(fs))
	}
	if len(runningFaults) < 40 || len(layers) < 3 {
		t.Errorf("%d faults on layers %v", len(runningFaults), layers)
	}
}

func spell(fs []checks.Finding) string {
	var b strings.Builder
	for _, f := range fs {
		fmt.Fprintf(&b, "\n\t%s %s at %s: %s", f.Severity, f.ID, f.Place(), f.What)
	}
	return b.String()
}

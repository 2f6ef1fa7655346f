package validate

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/known"
)

// TestKnownFaultsAreSourced checks the file of published faults.
func TestKnownFaultsAreSourced(t *testing.T) {
	of := map[string]int{}
	for i, f := range known.Faults {
		of[f.Of]++
		if want := fmt.Sprintf("KNOWN-%02d", i+1); f.ID != want {
			t.Errorf("%s comes after %d others: IDs are never reused, and new ones go to the end", f.ID, i)
		}
		if u, err := url.Parse(f.Link); err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http") {
			t.Errorf("%s: the link %q", f.ID, f.Link)
		}
		if f.Severity != checks.Info && f.Severity != checks.Warning {
			t.Errorf("%s is of severity %s", f.ID, f.Severity)
		}
		if f.Title == "" || f.Effect == "" || f.Fix == "" || len(f.Releases) == 0 || len(f.When) == 0 {
			t.Errorf("%s is incomplete", f.ID)
		}
		if (f.Of == known.Host) != (f.Part != "") || f.Of != known.Host && intent.SystemOf(f.Of).Name == "" {
			t.Errorf("%s is of %q, %q", f.ID, f.Of, f.Part)
		}
		for _, r := range f.Releases {
			if r.Before != "" && r.Through != "" {
				t.Errorf("%s has a range with two upper ends", f.ID)
			}
		}
	}
	if len(known.Faults) < 40 || len(of) != len(intent.Systems())+1 {
		t.Errorf("%d faults of %v", len(known.Faults), of)
	}
}

// conditions maps each condition of a switch to an edit with which it is met, and one with which it
// is not; nil for a fabric that meets it, or one that cannot fail it.
var conditions = map[string]struct{ on, off func(*knownCase) }{
	"managed":      {},
	"ports-twelve": {off: func(c *knownCase) { c.ports = 4 }},
	"pfc":          {off: eachOf(func(p *qos.Port) { p.PFC.V = 0 })},
	"pfc-2-3":      {on: eachOf(func(p *qos.Port) { p.PFC.V = qos.Priorities(2, 3) })},
	"pfc-breakout": {on: eachOf(func(p *qos.Port) { p.Breakout = qos.Of("4x100G") })},
	"pfc-shut":     {on: eachOf(func(p *qos.Port) { p.AdminUp = qos.Of(false) })},
	"pfc-down":     {on: inState(func(s *drivers.PortState) { s.OperUp = qos.Of(false) })},
	"down":         {on: inState(func(s *drivers.PortState) { s.OperUp = qos.Of(false) })},
	"watchdog":     {off: eachOf(func(p *qos.Port) { p.Watchdog = qos.Of(qos.Watchdog{}) })},
	"watchdog-drops": {
		on:  eachOf(func(p *qos.Port) { p.Watchdog.V.Action = qos.ActionDrop }),
		off: eachOf(func(p *qos.Port) { p.Watchdog.V.Action = qos.ActionAlert }),
	},
	"watchdogs-two": {off: func(c *knownCase) {
		for _, name := range natural.Keys(c.have.Ports)[1:] {
			c.have.Ports[name].Watchdog = qos.Of(qos.Watchdog{})
		}
	}},
	"watchdog-below-poll": {on: eachOf(func(p *qos.Port) { p.Watchdog.V.Detect = 1 })},
	"macsec":              {on: eachOf(func(p *qos.Port) { p.MACsec = true })},
	"pfc-macsec":          {off: eachOf(func(p *qos.Port) { p.PFC.V = 0 })},
	"watchdog-macsec":     {off: eachOf(func(p *qos.Port) { p.Watchdog = qos.Of(qos.Watchdog{}) })},
	"ecn": {off: eachOf(func(p *qos.Port) {
		for i := range p.Queues {
			p.Queues[i].ECN = qos.Of(qos.ECN{})
		}
	})},
	"ecn-lag":        {on: eachOf(func(p *qos.Port) { p.LAG = qos.Of("PortChannel1") })},
	"ecn-colors":     {on: eachOf(func(p *qos.Port) { p.Queues[3].ECN.V.Other = "yellow_min_threshold 1" })},
	"static-buffers": {on: buffersComputed(false), off: buffersComputed(true)},
	"roce-mode":      {on: func(c *knownCase) { c.have.Platform.RoCEMode = true }},
	"lag":            {on: eachOf(func(p *qos.Port) { p.LAG = qos.Of("bond1") })},
	"lag-of-two-speeds": {on: func(c *knownCase) {
		eachOf(func(p *qos.Port) { p.LAG = qos.Of("bond1") })(c)
		c.first().Speed = qos.Of(units.Rate(10e9))
	}},
	"25g-without-fec": {on: eachOf(func(p *qos.Port) { p.Speed, p.FEC = qos.Of(units.Rate(25e9)), qos.Of("none") }),
		off: eachOf(func(p *qos.Port) { p.Speed, p.FEC = qos.Of(units.Rate(25e9)), qos.Of("rs") })},
	"400g-forced": {on: func(c *knownCase) {
		eachOf(func(p *qos.Port) { p.Speed = qos.Of(units.Rate(400e9)) })(c)
		inState(func(s *drivers.PortState) { s.Autoneg = qos.Of(false) })(c)
	}, off: inState(func(s *drivers.PortState) { s.Autoneg = qos.Of(true) })},
	"four-of-two-speeds": {on: func(c *knownCase) { c.first().Speed = qos.Of(units.Rate(10e9)) }},
	"adaptive":           {on: func(c *knownCase) { c.settings = "loadBalancing: {mode: packet}" }},
	"tunnel":             {on: func(c *knownCase) { c.have.Tunnels = map[string]qos.Tunnel{"a": {Kind: "ip-in-ip"}} }},
	"vxlan": {on: func(c *knownCase) { c.have.Tunnels = map[string]qos.Tunnel{"a": {Kind: "vxlan"}} },
		off: func(c *knownCase) { c.have.Tunnels = map[string]qos.Tunnel{"a": {Kind: "ip-in-ip"}} }},
}

// knownCase is a running switch that meets the conditions of a fault, or all but one. Edits that
// change ports or settings run before have is made.
type knownCase struct {
	ports    int
	settings string
	have     *qos.Device
	state    checks.State
}

func (c *knownCase) first() *qos.Port { return c.have.Ports[natural.Keys(c.have.Ports)[0]] }

func eachOf(edit func(*qos.Port)) func(*knownCase) {
	return func(c *knownCase) {
		for _, p := range c.have.Ports {
			edit(p)
		}
	}
}

func inState(edit func(*drivers.PortState)) func(*knownCase) {
	return func(c *knownCase) {
		for _, s := range c.state.Ports {
			edit(s)
		}
	}
}

func buffersComputed(on bool) func(*knownCase) {
	return func(c *knownCase) { c.have.Platform.DynamicBuffers = on }
}

// found returns the published faults that a switch has that meets all conditions but one; "" for
// all.
func (c *knownCase) found(t *testing.T, f *known.Fault, model, release, without string) []string {
	t.Helper()
	edit := func() {
		for _, name := range f.When {
			e, ok := conditions[name]
			if !ok {
				t.Fatalf("%s: the test has no fabric for the condition %s", f.ID, name)
			}
			switch {
			case name == without && e.off != nil:
				e.off(c)
			case name != without && e.on != nil:
				e.on(c)
			}
		}
	}
	c.ports, c.have = 12, &qos.Device{Ports: map[string]*qos.Port{"a": {}, "b": {}}}
	edit()
	names := []string{}
	if m, ok := catalog.ModelOf(f.Of, model); ok {
		for _, p := range m.Ports {
			names = append(names, p.Name)
		}
	}
	port := func(i int) string {
		switch {
		case i < len(names):
			return names[i]
		case f.Of == "cumulus":
			return fmt.Sprintf("swp%d", i+1)
		}
		return fmt.Sprintf("Ethernet1/%d", i+1)
	}
	stated := []string{"os: " + f.Of, "model: " + model}
	if release != "" {
		stated = append(stated, fmt.Sprintf("release: %q", release))
	}
	if c.settings != "" {
		stated = append(stated, c.settings)
	}
	text := strings.Replace(knownBase, "MODEL", strings.Join(stated, ", "), 1)
	for i := range c.ports {
		text += fmt.Sprintf("  - {a: leaf1/%s, b: peer/Ethernet%d, cable: 3m, speed: 100G}\n", port(i), 4*i)
	}
	comp := compile(t, text)
	d := comp.Device(comp.Fabric().Switch("leaf1"))
	c.have, c.state.Ports = d.Desired.Copy(), map[string]*drivers.PortState{}
	for name, p := range c.have.Ports {
		p.Watchdog = qos.Of(qos.Watchdog{Enabled: true, Priorities: p.PFC.V, Detect: 4e8, Action: qos.ActionDrop})
		p.AdminUp = qos.Of(true)
		c.state.Ports[name] = &drivers.PortState{OperUp: qos.Of(true)}
	}
	c.have.WatchdogPoll = qos.Of(200 * time.Millisecond)
	edit()
	return ofKnown(Switch(d, c.have, checks.Running, &c.state).outcome.Findings.List)
}

func ofKnown(fs []checks.Finding) (ids []string) {
	for _, f := range fs {
		if strings.HasPrefix(f.ID, "KNOWN-") {
			ids = append(ids, f.ID)
		}
	}
	return slices.Compact(natural.Sorted(ids))
}

const knownBase = `apiVersion: roce-fabric/v1
kind: Fabric
name: published
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
switches:
  leaf1: {MODEL}
  peer: {os: sonic}
links:
`

// modelOf returns a model that has a fault, and one that has not; "" if any has it.
func modelOf(t *testing.T, f *known.Fault) (with, without string) {
	t.Helper()
	for _, name := range catalog.ModelsOf(f.Of) {
		m, _ := catalog.ModelOf(f.Of, name)
		has := len(f.ASICs) == 0 || slices.Contains(f.ASICs, m.ASICID)
		if len(f.Models) > 0 {
			has = has && slices.ContainsFunc(f.Models, func(p string) bool { ok, _ := path.Match(p, name); return ok })
		}
		if has && with == "" && (len(m.Ports) == 0 || len(m.Ports) >= 12) {
			with = name
		}
		if !has && without == "" && len(m.Ports) >= 12 {
			without = name
		}
	}
	if with == "" && len(f.Models) > 0 { // the catalogue has none of the models
		with = regexp.MustCompile(`[*?]`).ReplaceAllString(f.Models[0], "X")
	}
	if with == "" {
		t.Fatalf("%s: no model has it", f.ID)
	}
	return with, without
}

// releasesOf returns a release that has a fault, and one that has not; "" if any has it.
func releasesOf(f *known.Fault) (with, without string) {
	r := f.Releases[0]
	late := regexp.MustCompile(`\d+`).ReplaceAllStringFunc
	switch {
	case r.From != "":
		with = r.From
	case r.Through != "":
		with = r.Through
	case r.Before != "":
		with = "1.0"
	default:
		return "202511", ""
	}
	if f.Of == "sonic" && with == "1.0" {
		with = "202311"
	}
	last := f.Releases[len(f.Releases)-1]
	switch {
	case last.Before != "":
		without = last.Before
	case last.Through != "":
		without = late(last.Through, func(string) string { return "999999" })
	default: // no release is known to be without it but older ones
		without = "1"
	}
	return with, without
}

// TestKnownFaults checks for each published fault of a switch that it is found where release,
// hardware and conditions are seen, and not where any one of them is not.
func TestKnownFaults(t *testing.T) {
	for i := range known.Faults {
		f := &known.Faults[i]
		if f.Of == known.Host {
			continue
		}
		model, other := modelOf(t, f)
		release, fixed := releasesOf(f)
		has := func(what, model, release, without string, want bool) {
			t.Helper()
			if got := new(knownCase).found(t, f, model, release, without); slices.Contains(got, f.ID) != want {
				t.Errorf("%s, %s (%s %s): found %v", f.ID, what, model, release, got)
			}
		}
		has("where all is seen", model, release, "", true)
		has("without a release", model, "", "", false)
		if fixed != "" {
			has("in another release", model, fixed, "", false)
		}
		if other != "" && len(f.ASICs)+len(f.Models) > 0 {
			has("on another model", other, release, "", false)
		}
		for _, name := range f.When {
			if name != "managed" {
				has("without "+name, model, release, name, false)
			}
		}
	}
}

// TestKnownFaultsOfHosts does the same for hosts.
func TestKnownFaultsOfHosts(t *testing.T) {
	meets := map[string][2]func(*nic.Host, *nic.Port){ // met, and not met
		"pfc":         {func(_ *nic.Host, p *nic.Port) { p.PFC = qos.Of(qos.Priorities(3)) }, func(_ *nic.Host, p *nic.Port) { p.PFC = qos.Of(qos.PrioritySet(0)) }},
		"buffers":     {func(_ *nic.Host, p *nic.Port) { p.Buffers = qos.Of(nic.Buffers{}) }, func(_ *nic.Host, p *nic.Port) { p.Buffers.Set = false }},
		"trust-dscp":  {func(_ *nic.Host, p *nic.Port) { p.Trust = qos.Of(qos.TrustDSCP) }, func(_ *nic.Host, p *nic.Port) { p.Trust = qos.Of(qos.TrustPCP) }},
		"ecn":         {func(_ *nic.Host, p *nic.Port) { p.ECN = qos.Of(qos.Priorities(3)) }, func(_ *nic.Host, p *nic.Port) { p.ECN = qos.Of(qos.PrioritySet(0)) }},
		"ecn-of-some": {func(_ *nic.Host, p *nic.Port) { p.ECN = qos.Of(qos.Priorities(3)) }, func(_ *nic.Host, p *nic.Port) { p.ECN = qos.Of(^qos.PrioritySet(0)) }},
		"ets":         {func(_ *nic.Host, p *nic.Port) { p.ETS = qos.Of(nic.ETS{TSA: [8]nic.TSA{nic.TSAETS}}) }, func(_ *nic.Host, p *nic.Port) { p.ETS.Set = false; p.ETS.V = nic.ETS{} }},
		"bond": {func(h *nic.Host, p *nic.Port) {
			h.Uppers = map[string]*nic.Upper{"bond0": {Kind: nic.UpperBond, On: []string{p.Name}}}
		}, func(h *nic.Host, _ *nic.Port) { h.Uppers = nil }},
		"pairs-unread": {func(_ *nic.Host, p *nic.Port) { p.Missing[nic.FieldPairs] = "invalid argument" }, func(_ *nic.Host, p *nic.Port) { delete(p.Missing, nic.FieldPairs) }},
	}
	for i := range known.Faults {
		f := &known.Faults[i]
		if f.Of != known.Host {
			continue
		}
		release, fixed := releasesOf(f)
		has := func(what, driver, release, without string, want bool) {
			t.Helper()
			h := newHostCase(t, hostBase)
			p := h.running.Ports["eth0"]
			delete(h.running.Ports, "eth1")
			p.Driver, p.Firmware, p.DriverVersion, h.running.Kernel = driver, "1.2.3", "1.2-3", "1.2.3"
			switch f.Part {
			case known.Kernel:
				h.running.Kernel = release
			case known.Driver:
				p.DriverVersion = release
			case known.Firmware:
				p.Firmware = release
			}
			for _, name := range f.When {
				met := 0
				if name == without {
					met = 1
				}
				meets[name][met](h.running, p)
			}
			if got := ofKnown(h.findings()); slices.Contains(got, f.ID) != want {
				t.Errorf("%s, %s (%s): found %v", f.ID, what, release, got)
			}
		}
		has("where all is seen", f.Drivers[0], release, "", true)
		has("with another driver", nic.DriverBNXT, release, "", false)
		has("in another release", f.Drivers[0], fixed, "", false)
		has("without a release", f.Drivers[0], "", "", false)
		for _, name := range f.When {
			has("without "+name, f.Drivers[0], release, name, false)
		}
	}
	// A driver of the kernel has the kernel's version, which is not one of a driver package.
	h := newHostCase(t, hostBase)
	h.running.Kernel, h.running.Ports["eth0"].DriverVersion = "5.6.1", "5.6.1"
	if got := ofKnown(h.findings()); slices.ContainsFunc(got, func(id string) bool { return strings.Contains(Lookup(id).Rule(), "the driver of") }) {
		t.Errorf("a driver of the kernel: %v", got)
	}
}

package validate

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	nics "github.com/roce-fabric/roce-fabric/validate/checks/nic"
)

// notSettings lists checks whose fix is not a NIC setting, with the kind of fix.
var notSettings = map[string]string{
	"NIC-04": "a name in the intent, or a card", "NIC-05": "the boot unit, which has a command of its own", "NIC-08": "versions of firmware and drivers", "NIC-19": "versions of firmware and drivers",
	"NIC-10": "the way in which the host is read", "READ": "the way in which the host is read", "NIC-11": "a cable", "PRT-04": "a cable",
	"NIC-12": "another program's setting", "DCB-02": "another program", "NIC-14": "an address", "NIC-15": "a slot", "NIC-17": "a slot", "NIC-18": "a cable", "NIC-13": "a module, a link or a card", "NIC-06": "a setting of applications", "NIC-16": "a setting of applications", "NIC-21": "a setting of applications", "NIC-22": "a setting of applications", "NIC-25": "a route",
}

// bySetting matches a fix that names a program or place to set a NIC.
var bySetting = regexp.MustCompile(`(?:set|turn|raise|look at) .*(?:devlink|mlxconfig|ethtool|niccli|nicctl|mlnx_qos|setpci|ip link set|debugfs|sysfs|NVM|in the firmware)`)

var intoIntent = regexp.MustCompile(`(?:list (\S+) in nics of the host in the intent, )?write (\S+: .+?) (?:for (the NIC|these NICs|the host) into the intent|there)`)

// TestFixesAreAppliedOrNamedManual checks that a recommended NIC setting can be written in the
// intent and is then applied, or that applying the intent fixes it, or that the text says that
// this tool does not set it.
func TestFixesAreAppliedOrNamedManual(t *testing.T) {
	seen := map[string]bool{}
	judge := func(h *hostCase, f checks.Finding) {
		t.Helper()
		seen[f.ID] = true
		before := nic.Diff(h.running, h.desired)
		switch is := intoIntent.FindStringSubmatch(f.Fix); {
		case is != nil:
			after := nic.Diff(h.running, h.with(t, is[1], is[2], is[3]))
			fresh := slices.DeleteFunc(after, func(c nic.Change) bool { return slices.Contains(before, c) || !c.Writable() })
			if len(fresh) == 0 {
				t.Errorf("%s: %q is in the intent, and an apply does nothing about it: %+v", f.ID, is[2], after)
			}
		case strings.Contains(f.Fix, "apply the intent to"), strings.Contains(f.Fix, "apply it to these hosts"):
			if !slices.ContainsFunc(before, func(c nic.Change) bool {
				return c.Writable() && (len(f.Ports) == 0 || slices.Contains(f.Ports, c.Port))
			}) {
				t.Errorf("%s: the fix is %q, and an apply changes nothing of it: %+v", f.ID, f.Fix, before)
			}
		case strings.Contains(f.Fix, "this tool"), strings.Contains(f.Fix, "reset the card") && !bySetting.MatchString(f.Fix):
		case notSettings[f.ID] == "":
			t.Errorf("%s: the fix %q can neither be written in the intent nor applied, and does not say so", f.ID, f.Fix)
		case bySetting.MatchString(f.Fix):
			t.Errorf("%s: the fix %q sets something that this tool does not, and does not say so", f.ID, f.Fix)
		}
	}
	for _, c := range hostCases() {
		h := newHostCase(t, hostBase)
		// Large enough for every buffer that a case needs.
		for _, p := range h.running.Ports {
			p.Buffers.V.Total = 1 << 20
		}
		c.edit(h)
		for _, f := range h.findings() {
			judge(h, f)
		}
	}
	for _, edit := range []func(*nic.Port){
		func(p *nic.Port) { p.DCQCN["rp_ai_rate"] = 10 }, func(p *nic.Port) { p.DCQCN["odd"] = 10 },
		func(p *nic.Port) { p.Driver, p.DCQCN["odd"] = nic.DriverIonic, 10 }, func(p *nic.Port) { p.Firmware = "1" }, func(p *nic.Port) { p.MTU.V, p.ActiveMTU.V = 1500, 1024 },
	} {
		one, other := newHostCase(t, hostBase), newHostCase(t, hostBase)
		edit(one.running.Ports["eth0"])
		other.running.Name, other.running.Ports["eth0"].DCQCN["odd"], other.running.Ports["eth0"].Driver = "gpu2", 1, one.running.Ports["eth0"].Driver
		delete(other.running.Ports, "eth1")
		for _, f := range Hosts(nil, []*nic.Host{one.running, other.running}, nil) {
			judge(one, f)
		}
	}
	hs := railHosts()
	hs[0].Ports["eth1"] = railPort("10.2.1.1")
	for _, f := range Hosts(compile(t, rails).Fabric(), hs, nil) {
		judge(newHostCase(t, hostBase), f)
	}
	for _, c := range nics.Checks {
		if !seen[c.ID] && len(c.FoldedIn) == 0 {
			t.Errorf("no fix of %s was looked at", c.ID)
		}
	}
}

// with returns the desired state of the host if the intent has one more setting.
func (h *hostCase) with(t *testing.T, more, key, of string) *nic.Host {
	t.Helper()
	at, text := "gpu1: {", hostBase
	if of == "the NIC" || of == "these NICs" {
		at = "eth0: {"
	}
	if more != "" {
		text = strings.Replace(text, "nics: {", "nics: {"+more+": {}, ", 1)
	}
	f := compile(t, strings.Replace(text, at, at+key+", ", 1)).Fabric()
	want, problems := nic.Desired(f, f.Host("gpu1"))
	if len(problems) > 0 {
		t.Errorf("%s: %+v", key, problems)
	}
	return want
}

package nic

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// versions compares the firmware and driver versions with the baseline of the intent.
func (p *portCheck) versions() {
	if p.have.VF { // the PCI IDs of a VF do not identify the card
		return
	}
	firmware, driver := p.fabric.Baseline(p.have.Vendor, p.have.Device)
	p.version("firmware", nic.LayerFirmware, firmware, p.have.Firmware)
	p.version("driver", nic.LayerDriver, driver, p.have.DriverVersion)
}

func (p *portCheck) version(what string, layer nic.Layer, want *intent.Versions, have string) {
	if want == nil {
		return
	}
	wanted, ok := want.Exact, have == want.Exact
	if want.Exact == "" {
		wanted, ok = want.Min+" or newer", natural.Compare(have, want.Min) >= 0
	}
	switch {
	case have == "" || want.Min != "" && (have[0] < '0' || have[0] > '9'): // cannot be compared
		p.c.Add(checks.Finding{ID: "NIC-19", Severity: checks.Info, Device: p.host.Name, Where: want.Pos.String(), Unchecked: "the version of the " + what, Because: "the host does not show it",
			What: fmt.Sprintf("the host does not show a version of the %s, the baseline is %s (layer %s)", what, wanted, layer), Fix: "load the RDMA driver of the card, or look at the card with the vendor's tool"}, p.name)
	case !ok:
		p.add("NIC-19", checks.Warning, p.name, want.Pos.String(), fmt.Sprintf("install %s %s: this tool installs none", what, wanted), "the %s is %s, the baseline is %s (layer %s)", what, term.CleanLine(have), wanted, layer)
	}
}

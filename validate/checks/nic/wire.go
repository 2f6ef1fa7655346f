package nic

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// fec compares the forward error correction of a NIC with the intent's if it states one for the
// link, otherwise with the running FEC of the switch port.
func (p *portCheck) fec() {
	const fix = "set FEC to the same on both ends, with 'ethtool --set-fec' on the host: this tool does not set that of NICs"
	have := p.have.FEC
	if !have.Set || !p.have.Carrier.V || p.sw == nil {
		return
	}
	if want := drivers.FECOf(p.sw.FEC.V); want.Set && want.V != "auto" {
		if have.V != want.V {
			p.add("PRT-04", checks.Warning, p.name, p.sw.FEC.From.String(), fix, "the link runs with FEC %s, the intent says %s", term.CleanLine(have.V), want.V)
		}
		return
	}
	if w := p.far.Wire; w.Known && w.Up && w.FEC != "" && w.FEC != have.V {
		p.c.Add(checks.Finding{ID: "PRT-06", Severity: checks.Warning, Device: p.host.Name, Where: p.want.From[nic.FieldPort], Fix: fix, Peers: []string{p.end.String()},
			What: fmt.Sprintf("the NIC runs with FEC %s, the switch port with %s", term.CleanLine(have.V), w.FEC)}, p.name)
	}
}

// received reports broken frames received at any time; only a window shows whether they
// continue.
func (p *portCheck) received(at string) {
	r := p.have.Received.V
	says := gate.Broken(r.Errors, r.Frames)
	if r.LostWords > 0 {
		if says != "" {
			says += ", and "
		}
		says += words.Count(int(min(r.LostWords, 1<<31)), "code word") + " that forward error correction could not correct"
	}
	if says != "" {
		p.add("NIC-18", checks.Info, p.name, at, "check with --window whether they continue; if so, clean or replace cable and transceivers, and compare FEC at both ends",
			"since its driver was loaded, the NIC has received %s", says)
	}
}

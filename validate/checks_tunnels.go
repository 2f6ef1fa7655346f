package validate

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// tunnelRules are the rules of tunnel checks: a tunnel may carry traffic other than RDMA, and
// only the intent tells.
var tunnelRules = []Rule{{Error, "where the intent has traffic in a tunnel from the switch"}, {Warning, "else"}}

var tunnelChecks = []Check{
	{
		ID: "TUN-01", Title: "a tunnel hides the DSCP of the inner packet",
		Rules: tunnelRules, Scope: ScopeSwitch, Reads: ReadsRunning,
		Why: "the underlay treats RDMA as best effort", Fix: "copy the DSCP to the outer header (uniform mode)",
		Sources: []string{"RFC 2983"},
		device:  observed(eachTunnel(hiddenDSCP)),
	},
	{
		ID: "TUN-02", Title: "a tunnel loses ECN marks",
		Rules: tunnelRules, Scope: ScopeSwitch, Reads: ReadsRunning,
		Why: "senders do not see the congestion of the underlay", Fix: "propagate ECN both ways (RFC 6040){how}",
		Sources: []string{"RFC 6040"},
		device:  observed(eachTunnel(lostMarks)),
	},
	{
		ID: "TUN-03", Title: "the two ends of a tunnel treat DSCP differently",
		Rules: always(Warning), Scope: ScopeFabric, Reads: ReadsRunning,
		Why: "packets of one connection have different classes in each direction", Fix: "use the same mode on all tunnel ends",
		device: observed(eachTunnel(tunnelMode)), outliers: otherTunnelMode,
	},
}

// eachTunnel runs a check on each tunnel of a switch with lossless ports.
func eachTunnel(check func(*deviceRun, string, qos.Tunnel)) func(*deviceRun) {
	return func(r *deviceRun) {
		if !slices.ContainsFunc(r.d.Switch.Ports, func(p *intent.Port) bool { return r.lossless(p.Settings) != 0 }) {
			return
		}
		for _, name := range natural.Keys(r.cfg.Tunnels) {
			check(r, name, r.cfg.Tunnels[name])
		}
	}
}

func (r *deviceRun) ofTunnel(what string) {
	s := Warning
	if slices.ContainsFunc(r.d.Fabric.Routing.Tunnels, func(t *intent.Tunnel) bool { return t.From == r.d.Switch }) {
		s = Error
	}
	r.found(Finding{Severity: s, What: what}, "")
}

func hiddenDSCP(r *deviceRun, name string, t qos.Tunnel) {
	if t.Encap.V != qos.DSCPPipe {
		return
	}
	outer := "one of its own"
	if t.OuterDSCP.Set {
		outer = fmt.Sprintf("DSCP %d", t.OuterDSCP.V)
	}
	r.ofTunnel(fmt.Sprintf("tunnel %s gives every outer header %s, whatever the DSCP of the inner packet", term.CleanLine(name), outer))
}

func lostMarks(r *deviceRun, name string, t qos.Tunnel) {
	into, out := t.ECNEncap.Set && !t.ECNEncap.V, t.ECNDecap.Set && !t.ECNDecap.V
	what := ""
	switch {
	case into && out:
		what = "does not copy ECN to the outer header, nor marks back to the inner one"
	case into:
		what = "does not copy ECN to the outer header, so that the underlay cannot mark"
	case out:
		what = "does not copy marks of the underlay to the inner packet"
	default:
		return
	}
	r.ofTunnel("tunnel " + term.CleanLine(name) + " " + what)
}

func tunnelMode(r *deviceRun, _ string, t qos.Tunnel) {
	for way, mode := range map[string]qos.Opt[qos.DSCPMode]{"encapsulation": t.Encap, "decapsulation": t.Decap} {
		if mode.Set {
			r.trait(way+" of "+t.Kind+" tunnels", string(mode.V), "", r.d.Switch.Pos.String())
		}
	}
}

func otherTunnelMode(o *outlierRun) {
	o.found(Finding{Severity: Warning, What: fmt.Sprintf("the DSCP mode at %s is %s, that of %d of %d is %s", o.group, o.value, o.share, o.of, o.usual)})
}

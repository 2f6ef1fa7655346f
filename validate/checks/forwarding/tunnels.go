package forwarding

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// tunnelRules are the rules of tunnel checks: a tunnel may carry traffic other than RDMA, and
// only the intent tells.
var tunnelRules = []checks.Rule{{Severity: checks.Error, When: "where the intent has traffic in a tunnel from the switch"}, {Severity: checks.Warning, When: "else"}, {Severity: checks.Info, When: "where the switch does not show it, at an end of vxlan in the intent"}}

var tunnelChecks = []checks.Check{
	{
		ID: "TUN-01", Title: "a tunnel hides the DSCP of the inner packet",
		Rules: tunnelRules, Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why: "the underlay treats RDMA as best effort", Fix: "copy the DSCP to the outer header (uniform mode)",
		Sources: []string{"RFC 2983"},
		Switch:  checks.OnlyObserved(eachTunnel(hiddenDSCP)),
	},
	{
		ID: "TUN-02", Title: "a tunnel loses ECN marks",
		Rules: tunnelRules, Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why: "senders do not see the congestion of the underlay", Fix: "propagate ECN both ways (RFC 6040){how}",
		Sources: []string{"RFC 6040"},
		Switch:  checks.OnlyObserved(eachTunnel(lostMarks)),
	},
	{
		ID: "TUN-03", Title: "the two ends of a tunnel treat DSCP differently",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsRunning,
		Why: "packets of one connection have different classes in each direction", Fix: "use the same mode on all tunnel ends",
		Switch: checks.OnlyObserved(eachTunnel(tunnelMode)), Outliers: otherTunnelMode,
	},
	{
		ID: "TUN-04", Title: "a switch ends VXLAN tunnels, and the intent does not say so, or the reverse",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why: "the checks of MTUs count the headers of tunnels on the wrong links", Fix: "list in vxlan.ends of the intent the switches that end tunnels",
		State: tunnelEnds,
	},
}

// tunnelEnds compares the ends of VXLAN tunnels with those of the intent, if it states them.
func tunnelEnds(r *checks.Switch) {
	v := r.Device.Fabric.VXLAN
	if v == nil {
		return
	}
	stated, name := v.EndsAt(r.Device.Switch), vxlanOf(r.Config)
	switch where := v.Pos.String(); {
	case stated && name == "":
		r.Found(checks.Finding{Severity: checks.Warning, Where: where, What: "the intent lists it as an end of VXLAN tunnels, and its configuration has none"}, "")
	case !stated && name != "":
		r.Found(checks.Finding{Severity: checks.Warning, Where: where, What: fmt.Sprintf("its configuration has VXLAN tunnel %s, and the intent does not list it as an end", term.CleanLine(name))}, "")
	}
}

// vxlanOf returns the name of the first VXLAN tunnel of a device; "" if it has none.
func vxlanOf(d *qos.Device) string {
	for _, name := range natural.Keys(d.Tunnels) {
		if d.Tunnels[name].Kind == qos.TunnelVXLAN {
			return name
		}
	}
	return ""
}

// isEnd reports whether the intent lists the switch as an end of VXLAN tunnels, of which t is one.
func isEnd(r *checks.Switch, t qos.Tunnel) bool {
	return t.Kind == qos.TunnelVXLAN && r.Device.Fabric.VXLAN.EndsAt(r.Device.Switch)
}

// notShown adds that a check of a tunnel of the intent could not be made.
func notShown(r *checks.Switch, t qos.Tunnel, what, text string) {
	if isEnd(r, t) {
		r.Found(checks.Finding{Severity: checks.Info, Where: r.Device.Fabric.VXLAN.Pos.String(), What: text, Fix: "look for it in the documentation of the switch, or capture packets of the underlay",
			Unchecked: what, Because: "the switch does not show it"}, "")
	}
}

// eachTunnel runs a check on each tunnel of a switch with lossless ports, or of an end of VXLAN in the
// intent.
func eachTunnel(check func(*checks.Switch, string, qos.Tunnel)) func(*checks.Switch) {
	return func(r *checks.Switch) {
		if !r.Device.Fabric.VXLAN.EndsAt(r.Device.Switch) && !slices.ContainsFunc(r.Device.Switch.Ports, func(p *intent.Port) bool { return r.Lossless(p.Settings) != 0 }) {
			return
		}
		for _, name := range natural.Keys(r.Config.Tunnels) {
			check(r, name, r.Config.Tunnels[name])
		}
	}
}

func ofTunnel(r *checks.Switch, t qos.Tunnel, what string) {
	s := checks.Warning
	if isEnd(r, t) || slices.ContainsFunc(r.Device.Fabric.Routing.Tunnels, func(t *intent.Tunnel) bool { return t.From == r.Device.Switch }) {
		s = checks.Error
	}
	r.Found(checks.Finding{Severity: s, What: what}, "")
}

func hiddenDSCP(r *checks.Switch, name string, t qos.Tunnel) {
	if !t.Encap.Set {
		notShown(r, t, "DSCP of packets in VXLAN", "the switch does not show which DSCP the outer headers of its VXLAN tunnels have")
	}
	if t.Encap.V != qos.DSCPPipe {
		return
	}
	outer := "one of its own"
	if t.OuterDSCP.Set {
		outer = fmt.Sprintf("DSCP %d", t.OuterDSCP.V)
	}
	ofTunnel(r, t, fmt.Sprintf("tunnel %s gives every outer header %s, whatever the DSCP of the inner packet", term.CleanLine(name), outer))
}

func lostMarks(r *checks.Switch, name string, t qos.Tunnel) {
	into, out := t.ECNEncap.Set && !t.ECNEncap.V, t.ECNDecap.Set && !t.ECNDecap.V
	what := ""
	switch {
	case into && out:
		what = "does not copy ECN to the outer header, nor marks back to the inner one"
	case into:
		what = "does not copy ECN to the outer header, so that the underlay cannot mark"
	case out:
		what = "does not copy marks of the underlay to the inner packet"
	case t.ECNEncap.Set && t.ECNDecap.Set:
		return
	default:
		notShown(r, t, "ECN of packets in VXLAN", "the switch does not show whether its VXLAN tunnels copy ECN to the outer header, and marks back to the inner one")
		return
	}
	ofTunnel(r, t, "tunnel "+term.CleanLine(name)+" "+what)
}

func tunnelMode(r *checks.Switch, _ string, t qos.Tunnel) {
	for way, mode := range map[string]qos.Opt[qos.DSCPMode]{"encapsulation": t.Encap, "decapsulation": t.Decap} {
		if mode.Set {
			r.Trait(way+" of "+t.Kind+" tunnels", string(mode.V), "", r.Device.Switch.Pos.String())
		}
	}
}

func otherTunnelMode(o *checks.Outlier) {
	o.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("the DSCP mode at %s is %s, that of %d of %d is %s", o.Group, o.Value, o.Share, o.Of, o.Usual)})
}

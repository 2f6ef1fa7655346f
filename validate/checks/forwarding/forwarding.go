package forwarding

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Checks are the checks of trimming, load balancing and tunnels.
var Checks = slices.Concat(steeringChecks, hashChecks, tunnelChecks)

var steeringChecks = []checks.Check{
	{
		ID: "TRM-01", Title: "packet trimming contradicts the classes",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent,
		Why:    "packets are not trimmed, or the trimmed ones are lost or paused too",
		Fix:    "trim only lossy classes, and give trimmed packets a DSCP of another lossy class that is served first",
		Switch: checks.OnlyIntended(trimmed),
	},
	{
		ID: "TRM-02", Title: "trimmed packets leave with a different DSCP than on other switches",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent,
		Why: "receivers recognise trimmed packets by one DSCP", Fix: "state one trimming.dscp in the whole fabric",
		Switch: checks.OnlyIntended(trimmedDSCP), Outliers: otherTrimmedDSCP,
	},
	{
		ID: "LB-01", Title: "load balancing contradicts itself, or reorders RDMA",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where keys contradict each other, or switches of one role differ"}, {Severity: checks.Info, When: "where packets of a connection may overtake one another"}},
		Scope: checks.ScopeFabric, Reads: checks.ReadsIntent,
		Why:    "a NIC treats out-of-order packets as lost, unless it is set to accept them",
		Fix:    "use one mode on all switches of a role; with mode: packet, set the NICs to accept packets out of order",
		Switch: checks.OnlyIntended(balancing), Outliers: otherBalancing,
	},
}

func trimmed(r *checks.Switch) {
	t := r.Device.Switch.Trimming
	if t == nil || t.Off {
		return
	}
	found := func(port, where, format string, args ...any) {
		r.Found(checks.Finding{Severity: checks.Warning, Where: where, What: fmt.Sprintf(format, args...)}, port)
	}
	for p := range r.Ports() {
		for _, k := range p.Settings.Classes {
			if k.Lossless.V && slices.Contains(t.Classes, k.Name) {
				found(p.Name, t.Pos.String(), "class %s is lossless here: PFC pauses its senders before a packet is cut", k.Name)
			}
		}
	}
	s := r.Device.Switch.Settings
	at := slices.IndexFunc(s.Classes, func(k *intent.Class) bool { return slices.Contains(k.DSCP.V, t.DSCP.V) })
	switch {
	case at < 0: // no class names it
	case slices.Contains(t.Classes, s.Classes[at].Name):
		found("", t.DSCP.From.String(), "trimmed packets have DSCP %d, of class %s, which is trimmed itself: they queue where there is no room", t.DSCP.V, s.Classes[at].Name)
	case s.Classes[at].Lossless.V:
		found("", t.DSCP.From.String(), "trimmed packets have DSCP %d, of lossless class %s: congestion of lossy classes makes it pause", t.DSCP.V, s.Classes[at].Name)
	}
	if largest := s.MTU.RDMA.V + intent.RDMAOverhead; int64(t.Size.V) >= int64(largest) {
		r.Found(checks.Finding{Severity: checks.Warning, Where: t.Size.From.String(), Fix: "lower trimming.size",
			What: fmt.Sprintf("packets are trimmed to %d B, and the largest RDMA packet has %d B: none is trimmed", int64(t.Size.V), largest)}, "")
	}
}

func trimmedDSCP(r *checks.Switch) {
	if t := r.Device.Switch.Trimming; t != nil && !t.Off {
		r.Trait("trimming", fmt.Sprint(t.DSCP.V), "", t.DSCP.From.String())
	}
}

func otherTrimmedDSCP(o *checks.Outlier) {
	o.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("trimmed packets leave with DSCP %s, on %d of %d switches with %s", o.Value, o.Share, o.Of, o.Usual)})
}

func balancing(r *checks.Switch) {
	b := r.Device.Switch.LoadBalancing
	if b == nil {
		return
	}
	r.Trait(r.Device.Switch.OS+" of "+checks.RoleOf(r.Device.Switch), string(b.Mode.V), "", b.Mode.From.String())
	if b.Mode.V != intent.BalancePacket {
		return
	}
	if b.QueuePair.V {
		r.Found(checks.Finding{Severity: checks.Warning, Where: b.QueuePair.From.String(), Fix: "remove queuePair, or choose mode: flow or flowlet",
			What: "the hash includes the queue pair, but mode: packet balances without a hash"}, "")
	}
	if slices.ContainsFunc(r.Device.Switch.Settings.Classes, (*intent.Class).RDMA) {
		r.Found(checks.Finding{Severity: checks.Info, Where: b.Mode.From.String(), Fix: "set the NICs to accept packets out of order; this tool does not set it",
			What: "packets of one RDMA connection take different paths and may arrive out of order"}, "")
	}
}

func otherBalancing(o *checks.Outlier) {
	o.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("load balancing is by %s, on %d of %d switches (%s) by %s", o.Value, o.Share, o.Of, o.Group, o.Usual)})
}

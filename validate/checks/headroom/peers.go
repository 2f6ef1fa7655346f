package headroom

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/headroom"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// slowPeers finds peers that stop later than the standard allows, and speeds for which neither
// the standard nor the intent states the time.
func slowPeers(r *checks.Switch) {
	for _, p := range checks.LosslessPorts(r) {
		in := r.Memory.HeadroomInput(p)
		standard, ok := headroom.ResponseBytes(p.Speed.V)
		peer, linked := p.Peer()
		who := "the host"
		if p.Uplink() {
			who = "the other switch"
		}
		switch {
		case !ok && in.PeerBytes == 0 && linked:
			r.FoundTowards(peer, checks.Finding{Severity: checks.Info, Where: p.Link.Pos.String(), Unchecked: "response of peers to a pause", Fix: "state its buffers.pauseResponse, or pauseResponse of the host, by its data sheet",
				What: fmt.Sprintf("no standard says how soon a peer obeys a pause at %s, and the intent does not say it of %s", p.Speed.V, who)}, p.Name)
		case linked && in.PeerBytes == 0 && render.SlowPeer(r.Device.Fabric, p) != nil:
			lateModel(r, p)
		case ok && linked && in.PeerBytes > standard:
			r.FoundTowards(peer, checks.Finding{Severity: checks.Warning, Where: p.Link.Pos.String(),
				What: fmt.Sprintf("%s sends up to %d B after a pause at %s, the standard allows %d B", who, in.PeerBytes, p.Speed.V, standard)}, p.Name)
		}
	}
}

// unknownPeers lists, once for the fabric, the peers of lossless ports of which nobody says how soon
// they obey a pause. BUF-01 assumes the standard, to which they may not keep.
func unknownPeers(r *checks.Fabric) {
	var hosts, switches []string
	where := ""
	for _, sw := range r.Intent.Switches {
		for _, p := range sw.Ports {
			peer, linked := p.Peer()
			if !linked || !r.Added(sw.Name) || p.Settings.Lossless() == 0 || p.Cable.V == 0 || responseKnown(r.Intent, p) {
				continue
			}
			to := &hosts
			if p.Uplink() {
				to = &switches
			}
			*to, where = append(*to, peer.Device), cmp.Or(where, p.Link.Pos.String())
		}
	}
	var who, fix []string
	for _, k := range []struct {
		kind, key string
		names     []string
	}{{"hosts", "pauseResponse", hosts}, {"switches", "buffers.pauseResponse", switches}} {
		if names := slices.Compact(natural.Sorted(k.names)); len(names) > 0 {
			who, fix = append(who, k.kind), append(fix, k.key+" of "+natural.Fold(names))
		}
	}
	if len(who) == 0 {
		return
	}
	// The text names no device, so that it is the same finding when links come and go.
	r.Found(checks.Finding{Severity: checks.Info, Where: where, Fix: "state " + strings.Join(fix, " and ") + " where the maker or a measurement gives it; or accept BUF-16",
		What: fmt.Sprintf("it is not known how soon %s of lossless links obey a pause: for headroom towards them, BUF-01 assumes the longest time that IEEE 802.3 allows", strings.Join(who, " and "))})
}

// responseKnown reports whether the need of a port towards its peer is known: the intent states how
// soon the peer obeys a pause or what was measured, or its model is known to be late. It is true as
// well where no standard has a time to compare with: slowPeers says so.
func responseKnown(f *intent.Fabric, p *intent.Port) bool {
	if _, ok := headroom.ResponseBytes(p.Speed.V); !ok {
		return true
	}
	r := render.PeerResponse(f, p)
	m := p.Switch.Measurement(p.Speed.V, p.Cable.V)
	return !r.V.IsZero() || render.SlowPeer(f, p) != nil || m != nil && m.Headroom > 0
}

// lateModel compares the headroom of a port with what another switch was found to need towards a
// peer of the same model. Its speed, if another, changes the need in proportion: the peer is late by
// a time.
func lateModel(r *checks.Switch, p *intent.Port) {
	slow := render.SlowPeer(r.Device.Fabric, p)
	need := int64(float64(slow.XOFF) / float64(slow.Speed) * float64(p.Speed.V))
	xoff, known := r.Memory.Headroom(p).XOFF()
	if !known || xoff >= need {
		return
	}
	peer, _ := p.Peer()
	r.FoundTowards(peer, checks.Finding{Severity: checks.Warning, Where: p.Link.Pos.String(), Fix: fmt.Sprintf("raise xoff for this peer, or state its buffers.pauseResponse once it is measured (%s)", slow.Source),
		What: fmt.Sprintf("the other switch is of a model that obeys a pause late: at %s, neighbours needed %d B of headroom, and xoff is %d B", p.Speed.V, need, xoff)}, p.Name)
}

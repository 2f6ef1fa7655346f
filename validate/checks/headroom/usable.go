package headroom

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// usableHeadroom returns how much of its xoff a group can hold, and describes it. Where no pool has
// the headroom, it is part of the group's own size: on NVIDIA's chips what xon leaves of it
// (sonic-swss cfgmgr/buffer_headroom_mellanox.lua, size = xon + xoff), on others all of it.
func usableHeadroom(r *checks.Switch, p *intent.Port, g int, h qos.Headroom) (xoff int64, what string) {
	own := h.Size
	if m := r.Device.Model; m != nil && m.ASIC().Vendor == catalog.NVIDIA {
		own -= h.XON
	}
	if _, pool, ok := r.Memory.PoolOf(p.Name, g); !ok || pool.XOFF > 0 || own >= h.XOFF || r.Memory.SharedHeadroom() {
		return h.XOFF, fmt.Sprintf("priority group %d has xoff %d B", g, h.XOFF)
	}
	own = max(own, 0)
	return own, fmt.Sprintf("priority group %d has xoff %d B, of which its size of %d B with xon %d B holds %d B, and no pool has headroom", g, h.XOFF, h.Size, h.XON, own)
}

// fillsTooLittle reports headroom that is as large as the model asks for, where a group can fill
// less of it before the chip drops packets. The chip's maker tests this with the smallest packets;
// nobody states it for others, so it is an information.
func fillsTooLittle(r *checks.Switch, p *intent.Port, xoff int64, what string, attrs ...qos.Attr) {
	need, u := r.Memory.Headroom(p).Reference, r.Memory.Usable(p, xoff)
	if need == nil || u == nil || xoff < need.XOFF || u.Least >= need.XOFF {
		return
	}
	r.Found(checks.Finding{Severity: checks.Info, Where: r.Device.Switch.Model.From.String(),
		What: fmt.Sprintf("%s%d B above the %s model (%d B), and by the chip maker's own test a group fills only %d B of it before packets are lost", what, xoff-need.XOFF, need.Model, need.XOFF, u.Least),
		Fix:  "let the ports share their headroom (buffers.overSubscription), use a shorter cable, or check the response time of the peer; 'roce-fabric explain' shows the sums"}, p.Name, attrs...)
}

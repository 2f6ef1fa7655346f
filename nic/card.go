package nic

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// card sets the desired card settings that the intent states.
func (b *builder) card() {
	n, p := b.nic, b.port
	if n.KeepDCBX.V {
		p.DCBX = qos.Opt[Owner]{}
	}
	if !n.KeepDCBX.IsDefault() {
		b.from(n.KeepDCBX.From, FieldDCBX)
	}
	if n.MaxReadRequest.V != 0 {
		p.MaxReadRequest = qos.Of(n.MaxReadRequest.V)
		b.from(n.MaxReadRequest.From, FieldMaxReadRequest)
	}
	if len(n.DCQCN.V) > 0 {
		p.DCQCN = make(map[string]uint64, len(n.DCQCN.V))
		for name, v := range n.DCQCN.V {
			p.DCQCN[name] = uint64(v)
		}
		b.from(n.DCQCN.From, FieldDCQCN)
	}
	if n.RelaxedOrdering.V {
		p.RelaxedOrdering = qos.Of(true)
		b.from(n.RelaxedOrdering.From, FieldRelaxedOrdering)
	}
}

// DCQCNLimit explains why this tool cannot set a congestion control parameter with the given
// driver; "" if it can.
func DCQCNLimit(driver, name string) string {
	nvidia := strings.HasPrefix(name, "rp_") || strings.HasPrefix(name, "np_")
	switch {
	case driver == DriverMLX5 && nvidia, driver == DriverBNXT && !nvidia:
		return ""
	case driver == DriverMLX5:
		return "it is a parameter of Broadcom's cards: those of mlx5 begin with rp_ and np_"
	case driver == DriverBNXT:
		return "it is a parameter of NVIDIA's cards"
	case driver == DriverIonic:
		return "this tool does not set the parameters of AMD's cards: use 'nicctl update dcqcn', not the intent"
	}
	return cmp.Or(clean(driver), "the driver") + " has no parameters of congestion control that can be set while it runs: take it out of the intent"
}

// dcqcn compares the congestion control parameters that the intent states.
func (d *differ) dcqcn() {
	for _, name := range slices.Sorted(maps.Keys(d.want.DCQCN)) {
		want := d.want.DCQCN[name]
		have, shown := d.have.DCQCN[name]
		c := Change{Field: FieldDCQCN + "[" + name + "]", Kind: KindDrift, Old: qos.Absent, New: strconv.FormatUint(want, 10), Blocked: DCQCNLimit(d.have.Driver, name)}
		why := clean(d.missing[FieldDCQCN])
		if d.have.VF {
			c.Blocked = cmp.Or(c.Blocked, "a VF uses the setting of its physical function: set it there")
		}
		switch {
		case c.Blocked != "":
		case shown && have == want:
			continue
		case shown:
			c.Old = strconv.FormatUint(have, 10)
		case why != "" && why != NotInDriver:
			c.Kind, c.Blocked = KindUnknown, why
		case d.have.Driver == DriverBNXT && len(d.have.DCQCN) == 0:
			c.Blocked = "the driver does not have it: use Broadcom's own bnxt_re, or a kernel from 6.13 on; or take it out of the intent"
		default:
			c.Blocked = "the driver or the firmware of the card does not have it: take it out of the intent"
		}
		d.add(c)
	}
}

// diffRelaxedOrdering reports relaxed ordering as blocked on cards that are not NVIDIA's. On NVIDIA
// cards it is a firmware setting; see [differ.nv].
func (d *differ) diffRelaxedOrdering() {
	if d.want.RelaxedOrdering.Or(false) && d.have.Driver != DriverMLX5 {
		d.add(Change{Field: FieldRelaxedOrdering, Kind: KindDrift, Old: qos.Absent, New: onOff(true),
			Blocked: "only NVIDIA cards have this setting: remove it from the intent"})
	}
}

// diffMaxReadRequest compares the maximum PCIe read request size.
func (d *differ) diffMaxReadRequest() {
	if d.want.MaxReadRequest.Set && d.missing[FieldMaxReadRequest] == NotInDriver {
		why := "this interface has no readable PCIe configuration space: remove maxReadRequest from the intent"
		if d.have.VF {
			why = "a VF uses the setting of its physical function: set it there"
		}
		d.add(Change{Field: FieldMaxReadRequest, Kind: KindDrift, Old: qos.Absent, New: strconv.Itoa(d.want.MaxReadRequest.V), Blocked: why})
		return
	}
	diffField(d, FieldMaxReadRequest, d.have.MaxReadRequest, d.want.MaxReadRequest, equal, strconv.Itoa, Change{Kind: KindDrift, How: "setpci"})
}

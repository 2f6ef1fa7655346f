package nic

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Functions are the virtual and scalable functions of a port.
type Functions struct {
	// VFs is the number of VFs; unset if the device has no SR-IOV. MaxVFs is the number that the
	// device offers; running only.
	VFs    qos.Opt[int] `json:"vfs,omitzero"`
	MaxVFs int          `json:"max_vfs,omitempty"`
	// VFTrust says whether the VFs are trusted: "on", "off", or a list of the trusted ones.
	VFTrust qos.Opt[string] `json:"vf_trust,omitzero"`
	// VFTag is the VLAN tag of all VFs; desired only. Each lists the VFs, in their order; running
	// only.
	VFTag qos.Opt[Tag] `json:"vf_tag,omitzero"`
	Each  []VF         `json:"each_vf,omitempty"`
	// Representors reports whether the card's switch is in switchdev mode.
	Representors qos.Opt[bool] `json:"representors,omitzero"`
	// SFs is the number of active scalable functions on this host; unset if the driver has none.
	// MaxSFs is the number that the card offers, if its driver shows it; running only.
	SFs    qos.Opt[int] `json:"sfs,omitzero"`
	MaxSFs qos.Opt[int] `json:"max_sfs,omitzero"`
}

// functions sets the desired virtual functions that the intent states.
func (b *builder) functions(v intent.VFs) {
	p := b.port
	if v.Count.V > 0 {
		p.VFs = qos.Of(v.Count.V)
		b.from(v.Count.From, FieldVFs)
	}
	if v.Trust.V != "" {
		p.VFTrust = qos.Of(v.Trust.V)
		b.from(v.Trust.From, FieldVFTrust)
	}
	if v.VLAN.V != nil {
		p.VFTag = qos.Of(b.vfTag(v))
		b.from(v.VLAN.From, FieldVFTag)
	}
	if v.Representors.V != "" {
		p.Representors = qos.Of(v.Representors.V == "on")
		b.from(v.Representors.From, FieldRepresentors)
	}
}

// vfTag returns the tag of VFs: with the stated PCP, or else that of the class of RDMA.
func (b *builder) vfTag(v intent.VFs) Tag {
	t := Tag{VLAN: *v.VLAN.V}
	switch k := firstRDMA(b.settings); {
	case t.VLAN == 0:
	case v.PCP.V != nil:
		t.Priority = *v.PCP.V
	case k != nil:
		t.Priority, _ = pcpOf(k)
	}
	return t
}

// functions compares the virtual functions.
func (d *differ) functions() {
	have, want := d.have, d.want
	made := false
	switch {
	case !want.VFs.Set:
	case d.missing[FieldVFs] != "":
		d.unknown(FieldVFs, strconv.Itoa(want.VFs.V))
	case have.VFs.V != want.VFs.V || !have.VFs.Set:
		c := Change{Field: FieldVFs, Kind: KindDrift, Old: strconv.Itoa(have.VFs.V), New: strconv.Itoa(want.VFs.V), Blocked: vfLimit(have, want.VFs.V)}
		// Drivers other than mlx5 may stop sending while VFs are created.
		if have.Driver != DriverMLX5 {
			c.Impact = qos.ImpactLoss
		}
		made = c.Blocked == ""
		d.add(c)
	}
	switch {
	case made && want.VFTrust.Set && want.VFTrust.V == "on":
		d.add(Change{Field: FieldVFTrust, Kind: KindDrift, Old: qos.Absent, New: want.VFTrust.V})
	case have.VFs.V == 0: // there are no VFs, and new ones are not trusted
	default:
		diffField(d, FieldVFTrust, have.VFTrust, want.VFTrust, equal, clean, drift)
	}
	d.tags(made)
	diffField(d, FieldRepresentors, have.Representors, want.Representors, equal, onOff, Change{Kind: KindDrift, Blocked: d.eswitch()})
}

// vfLimit explains why VFs cannot be created; "" if they can.
func vfLimit(have *Port, want int) string {
	switch {
	case have.VFs.V > 0:
		return fmt.Sprintf("changing the number removes all %d VFs first, even those in use: stop what uses them, write 0 to /sys/class/net/%s/device/sriov_numvfs, and apply again", have.VFs.V, clean(have.Name))
	case have.Driver == DriverMLX5 && have.MaxVFs < want:
		return fmt.Sprintf("the firmware offers %d VFs: set SRIOV_EN=1 and NUM_OF_VFS=%d with mlxconfig, and reset the card; in some servers SR-IOV is off in the BIOS", have.MaxVFs, want)
	case have.MaxVFs < want:
		return fmt.Sprintf("the device offers %d VFs: turn SR-IOV on in the BIOS, and raise their number in the firmware of the card", have.MaxVFs)
	}
	return ""
}

// eswitch explains how to change the mode of the card's switch.
func (d *differ) eswitch() string {
	mode := "legacy"
	if d.want.Representors.V {
		mode = "switchdev"
	}
	return "changing the mode recreates the interface and removes its VFs: " + eswitchTo(d.have, mode)
}

// eswitchTo returns the instructions for changing the switch mode by hand.
func eswitchTo(p *Port, mode string) string {
	return fmt.Sprintf("with no VF in use, 'devlink dev eswitch set pci/%s mode %s', and apply again", cmp.Or(clean(p.PCI), "ADDRESS"), mode)
}

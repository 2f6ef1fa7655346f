package nic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// VF is a virtual function as the kernel holds it for the physical function; running only.
type VF struct {
	Number int `json:"number"`
	Tag
	Trust qos.Opt[bool] `json:"trust,omitzero"`
	// MaxRate limits what it sends, in Mbit/s; 0 for no limit.
	MaxRate int `json:"max_rate,omitempty"`
	// Down says that its link is down whatever the state of the port ('ip link set NIC vf N state
	// disable').
	Down bool `json:"down,omitempty"`
	// Interface is its network interface in this network namespace, "" if there is none, and MTU is
	// that of the interface, in bytes. Up says that the interface is up.
	Interface string `json:"interface,omitempty"`
	MTU       int    `json:"mtu,omitempty"`
	Up        bool   `json:"up,omitempty"`
	// User says what uses the VF, such as a driver for guests; "" if nothing is known to.
	User string `json:"user,omitempty"`
}

// Tag is the VLAN tag that the card adds to all frames of a VF. VLAN 0 with priority 0 stands for no
// tag.
type Tag struct {
	VLAN     int `json:"vlan,omitempty"`     // VLAN ID, 0..4094
	Priority int `json:"priority,omitempty"` // PCP, 0..7
}

// String prints "VLAN 100, priority 3" or "no tag".
func (t Tag) String() string {
	if t == (Tag{}) {
		return "no tag"
	}
	return fmt.Sprintf("VLAN %d, priority %d", t.VLAN, t.Priority)
}

// tagsText prints the tags of VFs: one for all, or "VF 0-2 VLAN 100, priority 3; VF 3 no tag".
func tagsText(vfs []VF) string {
	var tags ordered.Groups[string, int]
	for _, v := range vfs {
		tags.Add(v.Tag.String(), v.Number)
	}
	var out []string
	for tag, of := range tags.All() {
		if len(of) == len(vfs) {
			return tag
		}
		out = append(out, "VF "+qos.FoldInts(of)+" "+tag)
	}
	return strings.Join(out, "; ")
}

// tags compares the tags of the VFs. made says that the VFs are to be created.
func (d *differ) tags(made bool) {
	have, want := d.have, d.want
	if !want.VFTag.Set || !made && have.VFs.V == 0 { // without VFs, nothing has a tag
		return
	}
	c := Change{Field: FieldVFTag, Kind: KindDrift, Old: qos.Absent, New: want.VFTag.V.String()}
	switch {
	case made && want.VFTag.V == Tag{}: // new VFs have none
		return
	case made:
	case d.missing[FieldVFTag] != "":
		d.unknown(FieldVFTag, c.New)
		return
	case !slices.ContainsFunc(have.Each, func(v VF) bool { return v.Tag != want.VFTag.V }):
		return
	default:
		c.Old, c.Impact = tagsText(have.Each), qos.ImpactLoss
	}
	if have.Representors.Or(false) {
		c.Blocked = "in switchdev mode the card takes no tag for a VF: have the switch of the host tag it at its representor, or remove it from the intent"
	}
	d.add(c)
}

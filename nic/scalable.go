package nic

import (
	"fmt"
	"strconv"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// scalable sets the desired scalable functions that the intent states.
func (b *builder) scalable(count intent.Value[int]) {
	if count.V > 0 {
		b.port.SFs = qos.Of(count.V)
		b.from(count.From, FieldSFs)
	}
}

// scalable compares the scalable functions.
func (d *differ) scalable() {
	have, want := d.have.SFs, d.want.SFs
	switch {
	case !want.Set:
	case d.missing[FieldSFs] != "":
		d.unknown(FieldSFs, strconv.Itoa(want.V))
	case have != want:
		d.add(Change{Field: FieldSFs, Kind: KindDrift, Old: strconv.Itoa(have.V), New: strconv.Itoa(want.V), Blocked: sfLimit(d.have, want.V)})
	}
}

// sfLimit explains why scalable functions cannot be created; "" if they can.
func sfLimit(have *Port, want int) string {
	switch {
	case have.Driver != DriverMLX5:
		return "SFs are supported only on NVIDIA's cards (driver mlx5_core): remove sfs from the intent"
	case have.SFs.V > 0:
		return fmt.Sprintf("changing the number would delete SFs, possibly some in use: stop what uses them, run 'devlink port del' for each port of flavour pcisf that 'devlink port show' lists for pci/%s, and apply again", clean(have.PCI))
	case !have.Representors.V: // Linux, mlx5/core/sf/devlink.c
		return "SFs need switchdev mode; changing the mode recreates the interface and removes its VFs: " + eswitchTo(have, "switchdev") + "; have the host do so at boot, before its boot unit"
	case have.MaxSFs.Set && have.MaxSFs.V < want:
		return fmt.Sprintf("the card offers %d SFs: set PER_PF_NUM_SF=1 and PF_TOTAL_SF=%d with mlxconfig, and reset the card", have.MaxSFs.V, want)
	}
	return ""
}

package lines

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	native "github.com/roce-fabric/roce-fabric/render/lines"
)

// Prove works out the edit for what is allowed of desired, see [drivers.Prove].
// It returns the changes with those that cannot be made blocked, the edit, and
// what the device will be.
func (m *Machine) Prove(have, desired *qos.Device, changes []qos.Change, cfg *native.Config, variant int, change func(allowed *qos.Device) native.Edit) ([]qos.Change, native.Edit, *qos.Device) {
	var edit native.Edit
	why := "cannot be changed on " + m.System + " by this tool; set it on the switch, or take it out of the intent"
	changes, after := drivers.Prove(have, desired, changes, why, func(allowed *qos.Device) *qos.Device {
		edit = change(allowed)
		return m.decode(edit.Apply(cfg), variant)
	})
	return changes, edit, after
}

// BlockPorts marks the changes of ports that the switch does not have, and of
// the aggregates that ports belong to, as the system calls them.
func BlockPorts(changes []qos.Change, aggregates string) {
	for i := range changes {
		switch c := &changes[i]; c.Field.Kind {
		case qos.KindPort:
			c.Blocked = "the switch has no such port; correct the name in the intent, or state the port's breakout on the switch first"
		case qos.KindLAG:
			c.Blocked = "this tool does not move ports between " + aggregates + "; set channel-group on the switch, or correct the intent"
		}
	}
}

// ModelNotes says where the intent states another model than the switch.
func ModelNotes(f drivers.Facts, desired *qos.Device) []string {
	if m := desired.Platform.Model; m != "" && f.Model != "" && !strings.EqualFold(m, f.Model) {
		return []string{fmt.Sprintf("the intent says model %s, the switch says %s", m, f.Model)}
	}
	return nil
}

// WideNote says which ports outside of the intent are concerned by things that
// the whole switch has one of.
func (m *Machine) WideNote(things, ports []string) string {
	return fmt.Sprintf("%s has one %s for the whole switch: the change also concerns %s that the intent does not name: %s",
		m.System, strings.Join(things, " and one "), words.Count(len(ports), "port"), natural.Fold(ports))
}

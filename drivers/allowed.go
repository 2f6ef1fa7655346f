package drivers

import "github.com/roce-fabric/roce-fabric/intent/qos"

// Allowed returns desired with every value that a change is blocked for
// replaced by the one that the device holds. desired is not changed.
func Allowed(have, desired *qos.Device, changes []qos.Change) *qos.Device {
	var blocked []qos.Place
	for _, c := range changes {
		if c.Blocked != "" {
			blocked = append(blocked, c.Place())
		}
	}
	return desired.Keeping(have, blocked)
}

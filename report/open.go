package report

import "github.com/roce-fabric/roce-fabric/validate"

// Open is something that was not judged, and where.
type Open = validate.Open

// Open lists what was not judged and is not accepted to be, each thing once.
func (r Report) Open() []Open { return validate.Opened(r.Findings, r.kinds()) }

// kinds are the devices that were looked at, or that findings leave open, by name.
func (r Report) kinds() map[string]DeviceKind {
	out := map[string]DeviceKind{}
	for _, d := range r.Devices {
		out[d.Name] = d.Kind
	}
	for _, f := range r.Findings {
		if f.Device == "" || out[f.Device] != "" || !f.Inconclusive() {
			continue
		}
		out[f.Device] = SwitchDevice
		if r.Intent != nil && r.Intent.Host(f.Device) != nil || r.Command == "nic validate" {
			out[f.Device] = HostDevice
		}
	}
	return out
}

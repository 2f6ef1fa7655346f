package report

import "github.com/roce-fabric/roce-fabric/validate/checks"

// Open is something that could not be checked, and where.
type Open = checks.Open

// Open lists each thing that could not be checked and is not suppressed, once.
func (r Report) Open() []Open { return checks.Opened(r.Findings, r.kinds()) }

// kinds maps the name of each device in the report, or in an inconclusive finding, to its kind.
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

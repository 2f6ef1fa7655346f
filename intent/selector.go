package intent

import (
	"strconv"
	"strings"
)

// Selector identifies one NIC of a host by its hardware and location instead of its interface
// name. All stated fields must match; the zero value selects nothing.
type Selector struct {
	Vendor string `json:"vendor,omitempty"` // "nvidia", or a PCI number: "15b3"
	Model  string `json:"model,omitempty"`  // "ConnectX-7", or a PCI number: "1021"
	Part   string `json:"part,omitempty"`   // part number of the card's vital product data
	Serial string `json:"serial,omitempty"` // serial number in the vital product data
	PCI    string `json:"pci,omitempty"`    // "0000:3b:00.0"
	Port   int    `json:"port,omitempty"`   // port number on its card, from 1
	Rail   int    `json:"rail,omitempty"`   // index among the NICs that match the other fields, from 1, ordered by PCI address
}

// String returns "vendor nvidia, rail 3".
func (s Selector) String() string {
	var parts []string
	for _, p := range []struct{ key, value string }{
		{"vendor", s.Vendor}, {"model", s.Model}, {"part", s.Part}, {"serial", s.Serial}, {"pci", s.PCI}, {"port", positive(s.Port)}, {"rail", positive(s.Rail)},
	} {
		if p.value != "" {
			parts = append(parts, p.key+" "+p.value)
		}
	}
	return strings.Join(parts, ", ")
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

type rawSelector struct {
	Pos    Pos
	Vendor opt[string] `key:"vendor" rule:"pciVendor" loose:"true" doc:"nvidia, broadcom, intel or amd, or the number of the PCI vendor, such as 15b3."`
	Model  opt[string] `key:"model" rule:"model" loose:"true" doc:"Kind of card: a name of NVIDIA's, such as ConnectX-7 or BlueField-3, or the number of the PCI device, such as 1021."`
	Part   opt[string] `key:"part" rule:"model" loose:"true" doc:"Part number of the card, as its vital product data has it: 'lspci -vv' shows it as root."`
	Serial opt[string] `key:"serial" rule:"model" loose:"true" doc:"Serial number of the card, likewise."`
	PCI    opt[string] `key:"pci" rule:"pci" doc:"PCI address: 0000:3b:00.0."`
	Port   opt[int]    `key:"port" min:"1" max:"8" doc:"Which port of its card, from 1 in the order of PCI functions."`
	Rail   opt[string] `key:"rail" rule:"rail" loose:"true" doc:"Which of the NICs that the other keys choose, from 1 in the order of PCI addresses; a range runs in step with the name's. The host must have as many of them as the highest rail that is stated, so that a card that is missing does not renumber the others."`
}

// maxRail is the highest rail number of a host.
const maxRail = 999

// selectors resolves the selector of a NIC line for each of its names; nil if none is stated or
// it is invalid.
func (r *resolver) selectors(raw *rawSelector, names []string) []Selector {
	if raw == nil {
		return nil
	}
	base := Selector{Vendor: strings.ToLower(raw.Vendor.V), Model: raw.Model.V, Part: raw.Part.V, Serial: raw.Serial.V, PCI: pciAddress(raw.PCI.V), Port: raw.Port.V}
	rails := r.inStep(raw.Rail, len(names), "rail", true)
	if base == (Selector{}) && !raw.Rail.Stated {
		// A key with an invalid value is already reported.
		if !raw.Vendor.Stated && !raw.Model.Stated && !raw.Part.Stated && !raw.Serial.Stated && !raw.PCI.Stated && !raw.Port.Stated {
			r.problems.addf(raw.Pos, "write vendor, model, part, serial, pci, port or rail", "select states nothing to choose a NIC by")
		}
		return nil
	}
	if raw.Rail.Stated && rails == nil { // already reported
		return nil
	}
	out := make([]Selector, len(names))
	for i := range names {
		out[i] = base
		if rails == nil {
			continue
		}
		n, err := strconv.Atoi(rails[i])
		if err != nil || n < 1 || n > maxRail {
			r.problems.addf(raw.Rail.Pos, "", "rail must be 1 to %d, not %s", maxRail, brief(rails[i]))
			return nil
		}
		out[i].Rail = n
	}
	return out
}

// pciAddress returns a PCI address as the kernel prints it: lower case, with a domain.
func pciAddress(s string) string {
	if strings.Count(s, ":") == 1 {
		s = "0000:" + s
	}
	return strings.ToLower(s)
}

// selected declares the selector of a NIC and reports another NIC of the host with the same
// selector. pos is the position of the selector.
func (r *resolver) selected(first map[Selector]owner, s Selector, name string, pos Pos) Value[Selector] {
	if o, taken := first[s]; taken {
		r.problems.addf(pos, "", "NIC %q is chosen by %s, and so is NIC %q at %s", name, s, o.name, o.pos)
	}
	first[s] = owner{name, pos}
	return Value[Selector]{V: s, From: Origin{Pos: pos}}
}

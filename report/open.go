package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Open is something that was not judged, and where.
type Open struct {
	What    string     `json:"what" doc:"what was not judged"`
	Why     string     `json:"why,omitempty" doc:"why not, in a few words"`
	Kind    DeviceKind `json:"kind,omitempty" doc:"of the devices; none for the whole fabric" enum:"switch,host"`
	Devices []string   `json:"devices,omitempty" doc:"on which it was not judged"`
	Of      int        `json:"of,omitempty" doc:"of how many devices of the kind"`
	Checks  []string   `json:"checks,omitempty" doc:"ids of the checks that were not made there"`
}

// String says it with its count: "2 of 6 switches (leaf1,leaf2): headroom not checked,
// the model is unknown".
func (o Open) String() string {
	text := o.What + " not checked"
	if o.Why != "" {
		text += ", " + o.Why
	}
	if o.Of == 0 {
		return text
	}
	one, many := "switch", "switches"
	if o.Kind == HostDevice {
		one, many = "host", "hosts"
	}
	at := fmt.Sprintf("%d of %s", len(o.Devices), words.Plural(o.Of, one, many))
	if names := natural.Fold(o.Devices); len(names) <= textWidth/2 {
		at += " (" + names + ")"
	}
	return at + ": " + text
}

// Open lists what was not judged and is not accepted to be, each thing once.
func (r Report) Open() []Open {
	type key struct {
		what, why string
		kind      DeviceKind
	}
	kinds := r.kinds()
	var open ordered.Map[key, Open]
	for _, f := range r.Findings {
		if !f.Inconclusive() {
			continue
		}
		o := open.At(key{f.Unchecked, f.Because, kinds[f.Device]})
		if f.Device != "" {
			o.Devices = append(o.Devices, f.Device)
		}
		o.Checks = append(o.Checks, f.NotMade...)
	}
	count := map[DeviceKind]int{}
	for _, kind := range kinds {
		count[kind]++
	}
	out := []Open{}
	for k, o := range open.All() {
		o.What, o.Why, o.Kind = k.what, k.why, k.kind
		o.Devices, o.Checks = slices.Compact(natural.Sorted(o.Devices)), slices.Compact(natural.Sorted(o.Checks))
		if len(o.Devices) > 0 {
			o.Of = count[o.Kind]
		}
		out = append(out, o)
	}
	return out
}

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

// maxOpen bounds how many things the verdict names that were not checked; the findings
// have all.
const maxOpen = 4

// unchecked says what was not checked, and where; "" for nothing.
func (r Report) unchecked() string {
	var out []string
	open := r.Open()
	for _, o := range open {
		if len(out) == maxOpen {
			return fmt.Sprintf("%s; and %d more not checked", strings.Join(out, "; "), len(open)-maxOpen)
		}
		out = append(out, o.String())
	}
	return strings.Join(out, "; ")
}

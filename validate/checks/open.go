package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// DeviceKind is a kind of device.
type DeviceKind string

// The kinds of device.
const (
	SwitchDevice DeviceKind = "switch"
	HostDevice   DeviceKind = "host"
)

// Open is something that could not be checked, and where.
type Open struct {
	What    string     `json:"what" doc:"what was not judged"`
	Why     string     `json:"why,omitempty" doc:"why not, in a few words"`
	Kind    DeviceKind `json:"kind,omitempty" doc:"of the devices; none for the whole fabric" enum:"switch,host"`
	Devices []string   `json:"devices,omitempty" doc:"on which it was not judged"`
	Of      int        `json:"of,omitempty" doc:"of how many devices of the kind"`
	Checks  []string   `json:"checks,omitempty" doc:"ids of the checks that were not made there"`
}

// maxNames is the longest list of device names in a headline, in bytes.
const maxNames = 40

// String formats it with the number of devices: "2 of 6 switches (leaf1,leaf2): headroom not
// checked, the model is unknown".
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
	if names := natural.Fold(o.Devices); len(names) <= maxNames {
		at += " (" + names + ")"
	}
	return at + ": " + text
}

// Opened summarizes the inconclusive findings that the intent does not accept, without
// repetition. kinds lists all devices that were checked.
func Opened(found []Finding, kinds map[string]DeviceKind) []Open {
	type key struct {
		what, why string
		kind      DeviceKind
	}
	var open ordered.Map[key, Open]
	for _, f := range found {
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

// maxOpen is the most unchecked things that a headline names.
const maxOpen = 4

// OpenText returns the end of a headline: what was not checked, and where; "" if everything
// was. It does not repeat for devices what is not checked for the whole fabric.
func OpenText(open []Open) string {
	whole := map[string]bool{}
	for _, o := range open {
		whole[o.What] = whole[o.What] || o.Of == 0
	}
	open = slices.DeleteFunc(slices.Clone(open), func(o Open) bool { return o.Of > 0 && whole[o.What] })
	var out []string
	for _, o := range open {
		if len(out) == maxOpen {
			return fmt.Sprintf("%s; and %d more not checked", strings.Join(out, "; "), len(open)-maxOpen)
		}
		out = append(out, o.String())
	}
	return strings.Join(out, "; ")
}

// Package starter writes the first intent of a fabric: a short one with comments, for
// switches of the catalogue, cabled port by port.
//
// What it writes passes the checks of an intent. Names of devices and NICs are those of
// the examples, for the operator to replace; nothing is read from devices.
package starter

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// The shapes of a fabric.
const (
	Clos = "clos" // leaves and spines, each with each
	Rail = "rail" // NIC r of every server of a group at leaf r of that group
	Pair = "pair" // two switches with links between them
)

// Shapes returns the names of all shapes.
func Shapes() []string { return []string{Clos, Rail, Pair} }

// Options say what fabric is wanted. A count of -1 is one that was not chosen.
type Options struct {
	Name, Shape          string
	OS, Model            string       // of the leaves, or of the pair
	SpineOS, SpineModel  string       // "" is as the leaves
	Leaves, Spines       int          // of a pair: neither
	Hosts                int          // servers of the fabric
	Rails                int          // NICs of a server of a rail fabric
	Links                int          // between the switches of a pair
	HostCable, LeafCable units.Length // leaf to host, and leaf to spine or other leaf

	fields []*Field
}

// New returns options of which nothing is chosen but what has one usual value.
func New() *Options {
	o := &Options{Name: "pod1", Leaves: -1, Spines: -1, Hosts: 8, Rails: 8, Links: 2, HostCable: 5, LeafCable: 40}
	o.fields = []*Field{
		{Name: "shape", Help: "shape of the fabric: clos (leaves and spines), rail (rail-optimised pod) or pair (two switches)",
			Required: true, Usual: fixed(Clos), value: oneOf{&o.Shape, Shapes()}},
		{Name: "os", Help: "system of the leaves: " + strings.Join(intent.Systems(), ", "),
			Required: true, Usual: fixed(intent.SONiC.Name), value: oneOf{&o.OS, intent.Systems()}},
		{Name: "model", Help: "model of the leaves, as docs/models.md names it",
			Required: true, Usual: func() string { return usualModel[o.OS] }, value: text{&o.Model}, values: func() []string { return modelsOf(o.OS) },
			valid: func() error { return known(o.OS, o.Model) }},
		{Name: "rails", Help: "NICs of a server, and leaves of a group, in a rail fabric",
			Usual: func() string { return strconv.Itoa(o.Rails) }, value: count{&o.Rails, 1}, none: func() bool { return o.Shape != Rail }},
		{Name: "leaves", Help: "leaves (default: 2, or one a rail)",
			Usual: func() string { return strconv.Itoa(o.leaves()) }, value: count{&o.Leaves, 1}, none: func() bool { return o.Shape == Pair }},
		{Name: "spines", Help: "spines, each with a link to every leaf (default: 2); a rail fabric may have 0",
			Usual: func() string { return strconv.Itoa(o.spines()) }, value: count{&o.Spines, 0}, none: func() bool { return o.Shape == Pair }},
		{Name: "spine-os", Help: "system of the spines (default: that of the leaves)",
			Usual: func() string { return o.OS }, value: oneOf{&o.SpineOS, intent.Systems()}, none: o.noSpines},
		{Name: "spine-model", Help: "model of the spines (default: that of the leaves)", Usual: o.usualSpine, value: text{&o.SpineModel},
			values: func() []string { return modelsOf(o.spineOS()) },
			valid:  func() error { return known(o.spineOS(), o.SpineModel) }, none: o.noSpines},
		{Name: "links", Help: "links between the two switches of a pair",
			Usual: func() string { return strconv.Itoa(o.Links) }, value: count{&o.Links, 1}, none: func() bool { return o.Shape != Pair }},
		{Name: "hosts", Help: "servers of the fabric", Usual: func() string { return strconv.Itoa(o.Hosts) }, value: count{&o.Hosts, 1}},
		{Name: "host-cable", Help: "length of the cables to the servers", Usual: func() string { return o.HostCable.String() }, value: length{&o.HostCable}},
		{Name: "fabric-cable", Help: "length of the cables between switches", Usual: func() string { return o.LeafCable.String() }, value: length{&o.LeafCable},
			none: func() bool { return o.Shape == Rail && o.Spines == 0 }},
		{Name: "name", Help: "name of the fabric", Usual: func() string { return o.Name }, value: text{&o.Name},
			valid: func() error {
				if !intent.IsName(o.Name) {
					return fmt.Errorf("%.80q is not a valid name for a fabric", o.Name)
				}
				return nil
			}},
	}
	return o
}

// usualModel is the model that is offered, by system.
var usualModel = map[string]string{
	intent.SONiC.Name:   "DellEMC-Z9332f-O32",
	intent.EOS.Name:     "DCS-7060DX5-64S",
	intent.NXOS.Name:    "N9K-C9332D-GX2B",
	intent.Cumulus.Name: "SN5400",
}

func fixed(s string) func() string { return func() string { return s } }

// modelsOf returns the names of the models of a system, of all systems for "", that a
// fabric can be made of.
func modelsOf(os string) (names []string) {
	for _, each := range intent.Systems() {
		if os != "" && os != each {
			continue
		}
		for _, name := range catalog.ModelsOf(each) {
			if known(each, name) == nil {
				names = append(names, name)
			}
		}
	}
	return names
}

func (o *Options) noSpines() bool { return o.Shape == Pair || o.Shape == Rail && o.Spines == 0 }

func (o *Options) spineOS() string {
	if o.SpineOS != "" {
		return o.SpineOS
	}
	return o.OS
}

// usualSpine is the model of the leaves, where it fits the system of the spines.
func (o *Options) usualSpine() string {
	if o.spineOS() == o.OS {
		return o.Model
	}
	return usualModel[o.spineOS()]
}

func (o *Options) leaves() int {
	switch {
	case o.Shape == Pair:
		return 2
	case o.Leaves >= 0:
		return o.Leaves
	case o.Shape == Rail:
		return o.Rails
	}
	return 2
}

func (o *Options) spines() int {
	switch {
	case o.Shape == Pair:
		return 0
	case o.Spines >= 0:
		return o.Spines
	}
	return 2
}

// known returns why there is no intent for a model: its ports are not known, or it has no
// lossless buffers as it is published.
func known(os, name string) error {
	m, ok := catalog.ModelOf(os, name)
	switch {
	case !ok:
		err := fmt.Errorf("the ports of %s model %q are not known", os, name)
		if near := catalog.Suggest(os, name); near != "" {
			return hint.With(err, "did you mean "+near+"?")
		}
		return hint.With(err, "docs/models.md lists the models that are known")
	case !slices.ContainsFunc(m.Ports, func(p catalog.Port) bool { return intent.IsSpeed(p.Speed) }):
		return hint.With(fmt.Errorf("the speeds of the ports of %s model %q are not known", os, name), "take a model like it, and correct its name and ports in the intent")
	}
	if _, pool := m.Pool(catalog.IngressPool); m.Template != "" && !pool {
		return hint.With(fmt.Errorf("the buffer template of %s has no %s, so the switch makes no lossless priority group", name, catalog.IngressPool), "take another model")
	}
	return nil
}

// Field is one thing to choose: a flag, and a question to who has not set it.
type Field struct {
	Name, Help string
	Required   bool          // there is no usual value without a person who agrees to it
	Usual      func() string // what is meant where nothing is said
	value      interface {
		String() string
		Set(string) error
		Type() string
	}
	values func() []string // that there are, by the others; nil: value says
	valid  func() error    // of a value that others bear on; nil for none
	none   func() bool     // the shape has no such thing; nil: each has
}

// Fields returns what there is to choose, in the order in which to ask.
func (o *Options) Fields() []*Field { return o.fields }

// String, Set and Type make a field the value of a flag.
func (f *Field) String() string {
	if f == nil || f.value == nil {
		return ""
	}
	return f.value.String()
}

// Set reads a value.
func (f *Field) Set(s string) error { return f.value.Set(s) }

// Type names what kind of value it is.
func (f *Field) Type() string { return f.value.Type() }

// Values returns the values that there are, by what was chosen so far; nil where there
// is no list of them.
func (f *Field) Values() []string {
	if f.values != nil {
		return f.values()
	}
	return f.Fixed()
}

// Fixed returns the values that there are whatever was chosen; nil where there is no list
// of them.
func (f *Field) Fixed() []string {
	if v, ok := f.value.(oneOf); ok {
		return v.values
	}
	return nil
}

// Question is its help, without what the usual answer says.
func (f *Field) Question() string {
	q, _, _ := strings.Cut(f.Help, " (default")
	return strings.ToUpper(q[:1]) + q[1:]
}

// Asked reports whether the shape has such a thing.
func (f *Field) Asked() bool { return f.none == nil || !f.none() }

// Answer sets a value and checks it by those that were set before.
func (f *Field) Answer(s string) error {
	if err := f.Set(s); err != nil {
		return err
	}
	return f.Valid()
}

// Valid checks a value by the others.
func (f *Field) Valid() error {
	if f.valid == nil || !f.Asked() {
		return nil
	}
	return f.valid()
}

type text struct{ v *string }

func (t text) String() string     { return *t.v }
func (t text) Set(s string) error { *t.v = s; return nil }
func (t text) Type() string       { return "string" }

type oneOf struct {
	v      *string
	values []string
}

func (t oneOf) String() string { return *t.v }
func (t oneOf) Type() string   { return strings.Join(t.values, "|") }
func (t oneOf) Set(s string) error {
	if !slices.Contains(t.values, s) {
		return fmt.Errorf("%q is none of %s", s, strings.Join(t.values, ", "))
	}
	*t.v = s
	return nil
}

// maxCount is more than a fabric has of anything.
const maxCount = 100_000

type count struct {
	v     *int
	least int
}

func (c count) Type() string { return "int" }

// String is empty for a count that was not chosen.
func (c count) String() string {
	if *c.v < 0 {
		return ""
	}
	return strconv.Itoa(*c.v)
}

func (c count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < c.least || n > maxCount {
		return fmt.Errorf("%q is no number from %d to %d", s, c.least, maxCount)
	}
	*c.v = n
	return nil
}

type length struct{ v *units.Length }

func (l length) String() string { return l.v.String() }
func (l length) Type() string   { return "length" }
func (l length) Set(s string) error {
	v, err := units.ParseLength(s)
	if err == nil && v <= 0 {
		err = errors.New("a cable has a length")
	}
	if err == nil {
		*l.v = v
	}
	return err
}

// Package starter writes the first intent of a fabric: a short one with comments, for switch
// models of the catalogue, cabled port by port.
//
// The intent passes the checks. Its device and NIC names are those of the examples, for the
// operator to replace; nothing is read from devices.
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
	Clos = "clos" // every leaf linked to every spine
	Rail = "rail" // NIC r of every server in a group is linked to leaf r of that group
	Pair = "pair" // two switches linked to each other
)

// Shapes returns the names of all shapes.
func Shapes() []string { return []string{Clos, Rail, Pair} }

// Options describe the fabric to write. A count of -1 is not set.
type Options struct {
	Name, Shape          string
	OS, Model            string       // of the leaves, or of the pair
	SpineOS, SpineModel  string       // "" means as for the leaves
	Leaves, Spines       int          // unused for a pair
	Hosts                int          // number of servers
	Rails                int          // NICs per server of a rail fabric
	Links                int          // links between the switches of a pair
	HostCable, LeafCable units.Length // leaf to host, and leaf to spine or other leaf

	fields []*Field
}

// New returns options in which only fields with a fixed usual value are set.
func New() *Options {
	o := &Options{Name: "pod1", Leaves: -1, Spines: -1, Hosts: 8, Rails: 8, Links: 2, HostCable: 5, LeafCable: 40}
	o.fields = []*Field{
		{Name: "shape", Help: "shape of the fabric: clos (leaves and spines), rail (rail-optimised pod) or pair (two switches)",
			Required: true, Usual: fixed(Clos), value: oneOf{&o.Shape, Shapes()}},
		{Name: "os", Help: "system of the leaves: " + strings.Join(intent.Systems(), ", "),
			Required: true, Usual: fixed(intent.Systems()[0]), value: oneOf{&o.OS, intent.Systems()}},
		{Name: "model", Help: "model of the leaves, as docs/models.md names it",
			Required: true, Usual: func() string { return intent.SystemOf(o.OS).UsualModel }, value: text{&o.Model}, values: func() []string { return modelsOf(o.OS) },
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

func fixed(s string) func() string { return func() string { return s } }

// modelsOf returns the names of the models of an OS ("" for every OS) for which an intent can be
// written.
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

// usualSpine returns the model of the leaves if the spines run the same OS, else the suggested
// model for their OS.
func (o *Options) usualSpine() string {
	if o.spineOS() == o.OS {
		return o.Model
	}
	return intent.SystemOf(o.spineOS()).UsualModel
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

// known returns an error if no intent can be written for a model: its ports or their speeds are
// not known, or the published data gives it no lossless buffers.
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

// Field is one choice: a command-line flag, and a question if the flag is not set.
type Field struct {
	Name, Help string
	Required   bool          // a person must confirm the usual value
	Usual      func() string // value that applies if none is given
	value      interface {
		String() string
		Set(string) error
		Type() string
	}
	values func() []string // valid values, given the other choices; nil means value decides
	valid  func() error    // checks a value that depends on other choices; nil for none
	none   func() bool     // reports that the shape has no such option; nil means every shape has it
}

// Fields returns the choices in the order in which to ask for them.
func (o *Options) Fields() []*Field { return o.fields }

// String returns the value as text. String, Set and Type make a field usable as a flag value.
func (f *Field) String() string {
	if f == nil || f.value == nil {
		return ""
	}
	return f.value.String()
}

// Set parses and stores a value.
func (f *Field) Set(s string) error { return f.value.Set(s) }

// Type returns the type of the value for help texts.
func (f *Field) Type() string { return f.value.Type() }

// Values returns the valid values, given the choices made so far; nil if they are not a list.
func (f *Field) Values() []string {
	if f.values != nil {
		return f.values()
	}
	return f.Fixed()
}

// Fixed returns the valid values that do not depend on other choices; nil if they are not a
// list.
func (f *Field) Fixed() []string {
	if v, ok := f.value.(oneOf); ok {
		return v.values
	}
	return nil
}

// Question returns the help text as a question, without the note on the default.
func (f *Field) Question() string {
	q, _, _ := strings.Cut(f.Help, " (default")
	return strings.ToUpper(q[:1]) + q[1:]
}

// Asked reports whether the shape has this option.
func (f *Field) Asked() bool { return f.none == nil || !f.none() }

// Answer sets a value and checks it against the values set before.
func (f *Field) Answer(s string) error {
	if err := f.Set(s); err != nil {
		return err
	}
	return f.Valid()
}

// Valid checks the value against the values of other fields.
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
		return fmt.Errorf("%q is not one of %s", s, strings.Join(t.values, ", "))
	}
	*t.v = s
	return nil
}

// maxCount is the upper limit of every count.
const maxCount = 100_000

type count struct {
	v     *int
	least int
}

func (c count) Type() string { return "int" }

// String returns "" if the count is not set.
func (c count) String() string {
	if *c.v < 0 {
		return ""
	}
	return strconv.Itoa(*c.v)
}

func (c count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < c.least || n > maxCount {
		return fmt.Errorf("%q is not a number from %d to %d", s, c.least, maxCount)
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

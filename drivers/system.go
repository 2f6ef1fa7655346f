package drivers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/telemetry"
)

// System is one operating system of switches: all that the tool asks of it. A
// system that it reads is one such record.
type System struct {
	intent.System
	// Fit brings a compiled switch into the shape that the system has.
	Fit func(*qos.Device)
	// Encode returns the name and text of the file of what a switch should hold.
	Encode func(*render.Device) (file string, text []byte)
	// Refused returns what of a switch the system does not take, and what it
	// can only do in another way than the intent says.
	Refused func(*render.Device) (refused []render.Refusal, adapted []string)
	// Clues tell its configurations from others; Identify reads what one says of its
	// switch.
	Clues    []Clue
	Identify func(text []byte) Identity
	// Telemetry is what a collector can subscribe to.
	Telemetry telemetry.Source
	// YANG reads a folder of the system's own models and returns what holds a
	// switch against them; nil where it has none. Notes are what of the models
	// cannot be used.
	YANG func(dir string) (check func(*render.Device) []Violation, notes []string, err error)
	// Open makes a driver for a target, without I/O: the device is dialled by the first
	// call that needs it.
	Open func(Target) (Driver, error)
	// Saved makes a driver of a switch that has started on a configuration which was saved,
	// or which a switch shows. It dials nothing, and reads and plans what that switch would.
	Saved func(text []byte, t Target) (*Saved, error)
}

// Violation is a row that breaks a rule of the system's own models; Where is the line
// of the intent.
type Violation struct{ What, Where string }

// Systems are the systems that the tool works with.
type Systems []System

// Find returns the system of a name; ok is false where there is none.
func (all Systems) Find(name string) (s System, ok bool) {
	i := slices.IndexFunc(all, func(s System) bool { return s.Name == name })
	if i < 0 {
		return System{}, false
	}
	return all[i], true
}

// Names are their names, sorted.
func (all Systems) Names() []string {
	var out []string
	for _, s := range all {
		out = append(out, s.Name)
	}
	slices.Sort(out)
	return out
}

// Fits are what brings each into its shape, for the compiler.
func (all Systems) Fits() render.Fits {
	out := render.Fits{}
	for _, s := range all {
		out[s.Name] = s.Fit
	}
	return out
}

// Open makes the driver for a target.
func (all Systems) Open(t Target) (Driver, error) {
	s, ok := all.Find(t.OS)
	if !ok {
		return nil, fmt.Errorf("%w: no driver for os %q", ErrUnsupported, t.OS)
	}
	return s.Open(t)
}

// hostname is how systems that are configured by lines say it.
var hostname = lazyre.New(`(?m)^hostname (\S{1,255})`)

// HostnameIn returns what the lines of a configuration say it is; "" for nothing.
func HostnameIn(text []byte) string {
	if m := hostname.FindSubmatch(Head(text)); m != nil {
		return strings.Trim(string(m[1]), `"`)
	}
	return ""
}

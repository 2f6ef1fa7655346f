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

// System describes a switch operating system: everything that the tool needs to support it.
type System struct {
	intent.System
	// Fit adapts a compiled switch to the limits and form of the system.
	Fit func(*qos.Device)
	// Encode returns the file name and text of the configuration for a switch.
	Encode func(*render.Device) (file string, text []byte)
	// Refused returns the settings of a switch that the system does not support, and descriptions
	// of those that it can only do differently than the intent says.
	Refused func(*render.Device) (refused []render.Refusal, adapted []string)
	// Clues recognize configurations of the system. Identify extracts what a configuration says
	// about its switch.
	Clues    []Clue
	Identify func(text []byte) Identity
	// Defaults lists what the decoder of the system assumes where a configuration has no line; nil if
	// it assumes nothing.
	Defaults []render.Usual
	// Whole says which text is a whole configuration, for people.
	Whole string
	// Shows matches a command at a prompt that shows a configuration, Configures one that
	// configures without a configuration mode; nil if there are none of their own.
	Shows, Configures *lazyre.Regexp
	// Join combines the configurations in several files of one switch as the switch would. It
	// returns nil for texts whose lines follow one another, as they do without it.
	Join func(files []string, texts [][]byte) ([]byte, error)
	// Releases lists the supported releases; nil if they do not matter.
	Releases []string
	// NeedsSSH is true if a switch can only be read over SSH, and AsksFirst if it may ask whether
	// to go on with a change.
	NeedsSSH, AsksFirst bool
	// Telemetry lists the data that a collector can subscribe to.
	Telemetry telemetry.Source
	// YANG reads a folder of the system's YANG models and returns a function that checks a switch
	// against them; nil if the system has no models. notes lists the unusable parts of the
	// models.
	YANG func(dir string) (check func(*render.Device) []Violation, notes []string, err error)
	// Open creates a driver for a target without I/O: the first call that needs the device
	// connects to it.
	Open func(Target) (Driver, error)
	// Saved creates a driver for a configuration that was saved, or that a switch shows. It
	// connects to nothing, and reads and plans as for a switch with this configuration.
	Saved func(text []byte, t Target) (*Saved, error)
}

// Violation is a row that violates a rule of the system's YANG models; Where is the line of the
// intent.
type Violation struct{ What, Where string }

// Systems are the systems that the tool supports.
type Systems []System

// Find returns the system with this name; ok is false if there is none.
func (all Systems) Find(name string) (s System, ok bool) {
	i := slices.IndexFunc(all, func(s System) bool { return s.Name == name })
	if i < 0 {
		return System{}, false
	}
	return all[i], true
}

// Names returns the names of the systems, sorted.
func (all Systems) Names() []string {
	var out []string
	for _, s := range all {
		out = append(out, s.Name)
	}
	slices.Sort(out)
	return out
}

// Titles lists the systems for which has is true, for people.
func (all Systems) Titles(has func(System) bool) string {
	var out []string
	for _, s := range all {
		if has(s) {
			out = append(out, s.Title)
		}
	}
	return strings.Join(out, ", ")
}

// Fits returns the Fit functions by system name, for the compiler.
func (all Systems) Fits() render.Fits {
	out := render.Fits{}
	for _, s := range all {
		out[s.Name] = s.Fit
	}
	return out
}

// Open creates the driver for a target.
func (all Systems) Open(t Target) (Driver, error) {
	s, ok := all.Find(t.OS)
	if !ok {
		return nil, fmt.Errorf("%w: no driver for os %q", ErrUnsupported, t.OS)
	}
	return s.Open(t)
}

// hostname matches the host name line of line-based configurations, also one that was typed.
var hostname = lazyre.New(`(?m)^(?:\S{1,64}\(config\)#)?[ \t]*(?:hostname|switchname) (\S{1,255})`)

// HostnameIn returns the host name in a line-based configuration; "" if there is none.
func HostnameIn(text []byte) string {
	if m := hostname.FindSubmatch(Head(text)); m != nil {
		return strings.Trim(string(m[1]), `"`)
	}
	return ""
}

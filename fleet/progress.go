package fleet

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// Phase is a part of the work of a plan or a run.
type Phase string

// The phases.
const (
	Planning Phase = "plan"
	Checking Phase = "check" // all devices are compared with their plans, before the first write
	Writing  Phase = "write"
)

// EventKind says what an [Event] is about.
type EventKind int

// The kinds of events.
const (
	PhaseBegins EventKind = iota
	PhaseEnds
	DeviceBegins
	DeviceEnds
	StepBegins
	WaveBegins
	GateSays
	DeviceSays
)

// Event is progress of a plan or a run.
type Event struct {
	Kind    EventKind
	Phase   Phase
	Devices int    // of the phase, when it begins
	Device  string // that begins, ends, or has a step
	Error   *Error // why it failed, when it ends
	State   State  // of a device that was written to, when it ends
	Step    drivers.Step
	I, N    int    // the number of the step or wave, from 0, and how many there are
	Text    string // what the gate says, or what there is to say of a device
}

// eventNames are the kinds of events in JSON.
var eventNames = [...]string{
	PhaseBegins: "phase-begins", PhaseEnds: "phase-ends", DeviceBegins: "device-begins", DeviceEnds: "device-ends", StepBegins: "request-begins", WaveBegins: "wave-begins", GateSays: "gate", DeviceSays: "note",
}

// MarshalJSON writes an event for programs.
func (e Event) MarshalJSON() ([]byte, error) {
	out := struct {
		Event   string `json:"event"`
		Phase   Phase  `json:"phase"`
		Devices int    `json:"devices,omitempty"`
		Device  string `json:"device,omitempty"`
		Request string `json:"request,omitempty"`
		I       int    `json:"i,omitempty"` // from 1
		N       int    `json:"n,omitempty"`
		State   State  `json:"state,omitempty"`
		Text    string `json:"text,omitempty"`
		*Error
	}{Event: eventNames[e.Kind], Phase: e.Phase, Devices: e.Devices, Device: e.Device, Request: e.Step.What, N: e.N, State: e.State, Text: e.Text}
	if e.Kind == StepBegins || e.Kind == WaveBegins {
		out.I = e.I + 1
	}
	if e.Error != nil {
		fault := *e.Error
		fault.Device = ""
		out.Error = &fault
	}
	return json.Marshal(out)
}

// Progress is called with each event. Devices are worked on side by side, and so
// is it.
type Progress func(Event)

func (p Progress) report(e Event) {
	if p != nil {
		p(e)
	}
}

// phase reports the begin of a phase. The returned function reports its end.
func (p Progress) phase(ph Phase, devices int) (end func()) {
	p.report(Event{Kind: PhaseBegins, Phase: ph, Devices: devices})
	return func() { p.report(Event{Kind: PhaseEnds, Phase: ph}) }
}

// sayEvery is how often work that goes on for long is said again: silence is taken for a
// hang.
const sayEvery = time.Minute

// long says what is done on a device, with the reason where there is one, each part of it
// that its driver tells, and every minute what still goes on, until the returned function is
// called.
func (p Progress) long(ph Phase, drv drivers.Driver, device, what, why string) (end func()) {
	if p == nil {
		return func() {}
	}
	say := func(text string) { p.report(Event{Kind: DeviceSays, Phase: ph, Device: device, Text: text}) }
	parts, done, ended := make(chan string, 1), make(chan struct{}), make(chan struct{})
	if n, ok := drv.(drivers.Narrator); ok {
		n.Narrate(func(part string) {
			select {
			case parts <- part:
			case <-done:
			}
		})
	}
	first := what
	if why != "" {
		first += ": " + why
	}
	say(first)
	go func() {
		defer close(ended)
		begun, tick := time.Now(), time.NewTicker(sayEvery)
		defer tick.Stop()
		for now := what; ; {
			select {
			case part := <-parts:
				now = what + ": " + part
				say(now)
			case <-tick.C:
				say(fmt.Sprintf("%s, still, after %s", now, drivers.Spell(time.Since(begun).Round(time.Minute))))
			case <-done:
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(done); <-ended })
}

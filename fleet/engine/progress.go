package engine

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// Phase is a phase of a plan or a run.
type Phase string

// The phases.
const (
	Planning Phase = "plan"
	Checking Phase = "check" // compare all devices with their plans, before the first write
	Writing  Phase = "write"
)

// EventKind is the kind of an [Event].
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

// Event reports progress of a plan or a run.
type Event struct {
	Kind    EventKind
	Phase   Phase
	Devices int    // number of devices of the phase (PhaseBegins)
	Device  string // the device that the event is about
	Error   *Error // why the device failed (DeviceEnds)
	State   State  // state of a device that was written to (DeviceEnds)
	Step    drivers.Step
	I, N    int    // index of the step or wave, from 0, and their number
	Text    string // message of the gate (GateSays) or about a device (DeviceSays)
}

// eventNames holds the names of the kinds of events in JSON.
var eventNames = [...]string{
	PhaseBegins: "phase-begins", PhaseEnds: "phase-ends", DeviceBegins: "device-begins", DeviceEnds: "device-ends", StepBegins: "request-begins", WaveBegins: "wave-begins", GateSays: "gate", DeviceSays: "note",
}

// MarshalJSON implements [json.Marshaler].
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

// Progress is called with each event, also concurrently, because devices are worked on in
// parallel.
type Progress func(Event)

func (p Progress) Report(e Event) {
	if p != nil {
		p(e)
	}
}

// Phase reports the start of a phase. The returned function reports its end.
func (p Progress) Phase(ph Phase, devices int) (end func()) {
	p.Report(Event{Kind: PhaseBegins, Phase: ph, Devices: devices})
	return func() { p.Report(Event{Kind: PhaseEnds, Phase: ph}) }
}

// sayEvery is how often long-running work is reported again, because users take silence for
// a hang.
const sayEvery = time.Minute

// ReportLongWork reports what is being done on a device, with the reason why unless it is "". Until
// the returned function is called, it also reports each part of the work that the driver
// announces, and every minute what is still in progress.
func (p Progress) ReportLongWork(ph Phase, drv drivers.Driver, device, what, why string) (end func()) {
	if p == nil {
		return func() {}
	}
	say := func(text string) { p.Report(Event{Kind: DeviceSays, Phase: ph, Device: device, Text: text}) }
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

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
	"github.com/roce-fabric/roce-fabric/validate/whatif"
)

// Report is the result of a run of check, validate or nic validate. All six output forms are
// written from it.
type Report struct {
	Command string // "check", "validate" or "nic validate"
	Version string // version of this program
	Fabric  string // name of the fabric
	Time    time.Time
	// Intent is the fabric that was checked; nil if it is not available. It supplies only the
	// places of findings and the map of the fabric.
	Intent *intent.Fabric
	// Devices are the devices that were checked or could not be read, in natural order.
	Devices []Device
	Links   int // number of links that were checked
	Ports   int // number of host ports that were read
	// Counted holds the port counters of the measuring window; empty without a window.
	Counted []gate.PortWindow
	// Pauses are the sources of the PFC pauses in that window.
	Pauses []gate.Source
	// Watermarks are what the lossless groups of switches held at most in that window.
	Watermarks []gate.Watermark
	// History holds the rounds of a watch of this fabric, oldest first; empty outside a watch.
	History []Round
	// If compares the fabric with the present one; nil for the present one itself. Fabric then ends
	// with the changes.
	If *whatif.Comparison
	// Alone is set if the configurations were checked without an intent.
	Alone bool
	// Findings are in the order of [checks.Sort].
	Findings []checks.Finding
}

// Device is a device in a report.
type Device struct {
	Name   string     `json:"name" doc:"name in the intent"`
	Kind   DeviceKind `json:"kind" enum:"switch,host"`
	OS     string     `json:"os,omitempty" doc:"system of a switch"`
	Source Source     `json:"source" doc:"where what was looked at comes from" enum:"intent,saved,running,failed"`
	File   string     `json:"file,omitempty" doc:"of a saved configuration"`
	Error  string     `json:"error,omitempty" doc:"why it could not be read"`
	Hint   string     `json:"hint,omitempty" doc:"what to do about that"`
	Looked string     `json:"looked,omitempty" doc:"what of a saved configuration was looked at"`
}

// CheckedWithoutIntent returns the report for saved configurations that were checked without an
// intent.
func CheckedWithoutIntent(js []fleet.Judged, found []checks.Finding) Report {
	r := Report{Command: "check", Alone: true, Findings: found}
	var names []string
	for _, j := range js {
		names = append(names, j.Name)
		r.Devices = append(r.Devices, Device{Name: j.Name, Kind: SwitchDevice, OS: j.OS, Source: FromSaved, File: j.File, Looked: j.String()})
	}
	if r.Fabric = natural.Fold(names); len(r.Fabric) > textWidth/2 {
		r.Fabric = words.Plural(len(names), "switch", "switches")
	}
	return r
}

// MarkSaved records that a device was checked from a saved configuration file.
func MarkSaved(devices []Device, name, file string) {
	for i := range devices {
		if devices[i].Name == name {
			devices[i].Source, devices[i].File = FromSaved, file
		}
	}
}

// ToImport suggests the import command for configurations that were checked without an intent;
// "" if there are more than three.
func (r *Report) ToImport() string {
	const few = 3
	if len(r.Devices) > few {
		return ""
	}
	next := "roce-fabric import"
	for _, d := range r.Devices {
		next += " --config " + d.Name + "=" + d.File
	}
	return next + " writes the intent that says the same"
}

// DevicesFrom lists switches and hosts as devices with the given source. It marks a device as
// failed if a finding says that it could not be read.
func DevicesFrom(switches []*intent.Switch, hosts []*intent.Host, source Source, found []checks.Finding) []Device {
	var out []Device
	for _, sw := range switches {
		out = append(out, Device{Name: sw.Name, Kind: SwitchDevice, OS: sw.OS, Source: source})
	}
	for _, h := range hosts {
		out = append(out, Device{Name: h.Name, Kind: HostDevice, Source: source})
	}
	failed := map[string]checks.Finding{}
	for _, f := range found {
		if f.ID == unreadCheck && f.Severity == checks.Error {
			failed[f.Device] = f
		}
	}
	for i := range out {
		if f, ok := failed[out[i].Name]; ok {
			out[i].Source, out[i].Error, out[i].Hint = FromNowhere, f.What, f.Fix
		}
	}
	return out
}

// Validated returns the report for a validation of the devices of f.
func Validated(f *fleet.Fabric, found []checks.Finding, counted []gate.PortWindow, pauses []gate.Source) Report {
	return Report{
		Command: "validate", Fabric: f.Fabric().Name, Intent: f.Fabric(), Links: len(f.Fabric().Links),
		Devices: DevicesFrom(f.Switches, f.Hosts, FromRunning, found), Findings: found, Counted: counted, Pauses: pauses,
	}
}

// DeviceKind is the kind of a device.
type DeviceKind = checks.DeviceKind

// The device kinds.
const (
	SwitchDevice = checks.SwitchDevice
	HostDevice   = checks.HostDevice
)

// Source is where a checked configuration comes from.
type Source string

// The sources.
const (
	FromIntent  Source = "intent"  // generated from the intent
	FromSaved   Source = "saved"   // read from a saved configuration file
	FromRunning Source = "running" // read from the device
	FromNowhere Source = "failed"  // the device could not be read
)

// Counts returns the number of findings by severity.
func (r Report) Counts() checks.Counts { return checks.Count(r.Findings) }

// Failed lists the devices that could not be read.
func (r Report) Failed() []Device {
	var out []Device
	for _, d := range r.Devices {
		if d.Error != "" {
			out = append(out, d)
		}
	}
	return out
}

// Status is the result of a run.
type Status string

// The statuses, worst first.
const (
	Failing      Status = "failed"       // errors, an unread device, or a window that proves nothing
	Inconclusive Status = "inconclusive" // no errors, but something could not be checked
	Passing      Status = "passed"
)

// Status returns the result of the run.
func (r Report) Status() Status {
	switch {
	case checks.Worst(r.Findings) || len(r.Failed()) > 0 || validate.Inconclusive(r.Findings) != nil:
		return Failing
	case r.Counts().Inconclusive > 0:
		return Inconclusive
	}
	return Passing
}

// Accepting returns advice on how to suppress what could not be checked; "" unless the report is
// inconclusive.
func (r Report) Accepting() string {
	var rules []string
	for _, f := range r.Findings {
		if f.Inconclusive() {
			rules = append(rules, fmt.Sprintf("{check: %s, unchecked: true, reason: ...}", f.ID))
		}
	}
	if r.Status() != Inconclusive || len(rules) == 0 {
		return ""
	}
	slices.Sort(rules)
	return "add 'suppress: [" + strings.Join(slices.Compact(rules), ", ") + "]' to the intent to accept what cannot be checked; faults are still reported"
}

// Passed reports whether there are no errors, every device was read, and everything could be
// checked.
func (r Report) Passed() bool { return r.Status() == Passing }

// Checks lists, sorted by ID, the checks that were made: those that read something that the run
// examined.
func (r Report) Checks() []*checks.Check {
	var read checks.Reads
	for _, d := range r.Devices {
		switch {
		case d.Source == FromIntent:
			read |= checks.ReadsIntent | checks.ReadsRendered
		case d.Source == FromSaved:
			read |= checks.ReadsIntent | checks.ReadsRendered | checks.ReadsRunning
		case d.Source == FromNowhere:
		case d.Kind == HostDevice:
			read |= checks.ReadsNIC
		default:
			read |= checks.ReadsRunning | checks.ReadsApplied
		}
	}
	if len(r.Counted) > 0 {
		read |= checks.ReadsCounters
	}
	open := r.notMade()
	return slices.DeleteFunc(validate.Checks(), func(c *checks.Check) bool {
		if r.Alone {
			return !validate.MadeAlone(c.ID)
		}
		return !c.Made() || c.Reads&read == 0 || r.nowhere(open[c.ID])
	})
}

// notMade maps the ID of each check to the devices on which it could not be made; the device ""
// stands for the fabric.
func (r Report) notMade() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, f := range r.Findings {
		for _, id := range f.NotMade {
			if out[id] == nil {
				out[id] = map[string]bool{}
			}
			out[id][f.Device] = true
		}
	}
	return out
}

// nowhere reports whether a check could be made neither on the fabric nor on any of its devices,
// given those where it could not be made.
func (r Report) nowhere(open map[string]bool) bool {
	if open[""] || len(open) == 0 {
		return open[""]
	}
	return !slices.ContainsFunc(r.Devices, func(d Device) bool {
		return d.Error == "" && d.Kind == SwitchDevice && !open[d.Name]
	})
}

// Verdict returns the result as a sentence, including what could not be checked.
func (r Report) Verdict() string {
	headline, separator, rest := r.headline()
	return headline + separator + rest
}

// headline returns the parts of the verdict: the findings, and what was examined or could not be
// checked.
func (r Report) headline() (headline, separator, rest string) {
	c := r.Counts()
	rest = r.examined()
	subject, runs := r.Fabric, " runs"
	if r.Command == "nic validate" {
		subject, runs = "the NICs of "+r.Fabric, " run"
	}
	if c == (checks.Counts{Info: c.Info}) && r.Command != "check" { // nothing is left unchecked either
		if r.Command == "validate" && r.compared() > 0 {
			rest += ", and both ends of every link between them agree"
		}
		if c.Info > 0 {
			rest += fmt.Sprintf("; %d info", c.Info)
		}
		return subject + runs + " as the intent says", ": ", rest
	}
	if open := checks.OpenText(r.Open()); open != "" {
		rest += "; " + open
	}
	return subject + ": " + r.tally(), "; ", rest
}

// tally counts the findings of each kind and adds a summary where the numbers alone do not show
// the result.
func (r Report) tally() string {
	c := r.Counts()
	var parts []string
	add := func(n int, text string) {
		if n > 0 {
			parts = append(parts, text)
		}
	}
	var urgent []string
	for _, f := range r.Findings {
		if says := f.Urgent(); says != "" && f.Counts() {
			urgent = append(urgent, says+" at "+f.Place())
		}
	}
	add(len(urgent), words.Some(urgent, 3))
	add(c.Error, words.Count(c.Error, "error"))
	add(c.Warning, words.Count(c.Warning, "warning"))
	switch {
	case c.Error > 0:
		others := slices.DeleteFunc(slices.Clone(r.Findings), validate.Unproven)
		if r.Command != "check" && !checks.Worst(others) && len(r.Failed()) == 0 {
			parts = append(parts, "not everything could be verified")
		}
	case c.Warning > 0:
		parts = append(parts, "no errors")
	case c.Inconclusive > 0 || c.Suppressed > 0:
		parts = append(parts, "no errors or warnings")
	default:
		parts = append(parts, "nothing wrong")
	}
	if c.Error == 0 && validate.Inconclusive(r.Findings) != nil {
		parts = append(parts, "not enough counters to call it a pass")
	}
	add(c.Info, fmt.Sprintf("%d info", c.Info))
	add(c.Suppressed, fmt.Sprintf("%d accepted", c.Suppressed))
	return strings.Join(parts, ", ")
}

// compared counts the links whose two devices were both read.
func (r Report) compared() int {
	if r.Intent == nil {
		return r.Links
	}
	read := map[string]bool{}
	for _, d := range r.Devices {
		read[d.Name] = d.Error == ""
	}
	n := 0
	for _, l := range r.Intent.Links {
		if read[l.A.Device] && read[l.B.Device] {
			n++
		}
	}
	return n
}

// examined describes what was examined: "3 switches, 4 links checked", or "2 of 3 switches and 4
// hosts read".
func (r Report) examined() string {
	var all, read [2]int
	for _, d := range r.Devices {
		i := 0
		if d.Kind == HostDevice {
			i = 1
		}
		all[i]++
		if d.Error == "" {
			read[i]++
		}
	}
	var parts []string
	for i, noun := range [2][2]string{{"switch", "switches"}, {"host", "hosts"}} {
		switch {
		case all[i] == 0:
		case read[i] < all[i]:
			parts = append(parts, fmt.Sprintf("%d of %s", read[i], words.Plural(all[i], noun[0], noun[1])))
		default:
			parts = append(parts, words.Plural(all[i], noun[0], noun[1]))
		}
	}
	if r.Alone {
		return words.Count(len(r.Devices), "configuration") + " checked without an intent"
	}
	if r.Command == "check" {
		return strings.Join(append(parts, words.Count(r.Links, "link")), ", ") + " checked"
	}
	if len(parts) == 0 {
		parts = []string{"no device"}
	}
	text := strings.Join(parts, " and ") + " read"
	if r.Ports > 0 {
		text = strings.Join(parts, " and ") + " with " + words.Count(r.Ports, "port") + " read"
	}
	return text
}

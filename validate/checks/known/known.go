package known

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

//go:embed faults.json
var faultsJSON []byte

// Fault is a published fault.
type Fault struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Of is the operating system of a switch, or [Host].
	Of string `json:"of"`
	// Part is the software of a host that Releases are of.
	Part Part `json:"part,omitempty"`
	// ASICs, Models and Drivers restrict the hardware; nil for any. Models are patterns of
	// [path.Match].
	ASICs    []string `json:"asic,omitempty"`
	Models   []string `json:"model,omitempty"`
	Drivers  []string `json:"driver,omitempty"`
	Releases []Range  `json:"releases"`
	// When names the conditions that must all be seen, on the same ports.
	When     []string        `json:"when"`
	Severity checks.Severity `json:"severity"`
	Effect   string          `json:"effect"`
	Fix      string          `json:"fix"` // the workaround
	Link     string          `json:"link"`
	Ref      string          `json:"ref,omitempty"` // where on the linked page
}

// Host is [Fault.Of] for a fault of a host's software.
const Host = "host"

// Part is a piece of a host's software.
type Part string

// The parts.
const (
	Kernel   Part = "kernel"
	Driver   Part = "driver" // installed apart from the kernel
	Firmware Part = "firmware"
)

// Range is a range of releases. It has no upper end if no release with a fix is known.
type Range struct {
	From    string `json:"from,omitempty"`    // the first release with the fault; "" if not known
	Before  string `json:"before,omitempty"`  // the release that fixed it
	Through string `json:"through,omitempty"` // the last release that is known to have it
}

// Faults are all faults, in the order of the file.
var Faults = load(faultsJSON)

func load(text []byte) (list []Fault) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		panic("faults.json: " + err.Error())
	}
	return list
}

// Checks are the checks for the faults, one each.
var Checks = func() (list []checks.Check) {
	for i := range Faults {
		list = append(list, Faults[i].check())
	}
	return list
}()

// check returns the check for the fault.
func (f *Fault) check() checks.Check {
	c := checks.Check{ID: f.ID, Title: f.Title, Rules: []checks.Rule{{Severity: f.Severity, When: "where " + f.where()}},
		Why: f.Effect, Fix: f.Fix, Sources: []string{strings.TrimSuffix(f.Link+", "+f.Ref, ", ")}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC}
	if f.Of == Host {
		return c
	}
	c.Scope, c.Reads, c.Switch = checks.ScopeSwitch, 0, f.onSwitch
	for _, name := range f.When {
		c.Reads |= conditionOf(switchConditions, name).reads
	}
	return c
}

// where describes releases, hardware and conditions of the fault.
func (f *Fault) where() string {
	var ranges, says []string
	for _, r := range f.Releases {
		ranges = append(ranges, r.String())
	}
	var hardware []string
	for _, id := range f.ASICs {
		if a, ok := catalog.ASICByID(id); ok {
			hardware = append(hardware, a.Name)
		}
	}
	hardware = append(hardware, f.Models...)
	for _, name := range f.When {
		if f.Of == Host {
			says = append(says, conditionOf(portConditions, name).says)
		} else {
			says = append(says, conditionOf(switchConditions, name).says)
		}
	}
	out := f.software() + " is " + strings.Join(ranges, ", or ")
	if len(hardware) > 0 {
		out += ", on " + strings.Join(hardware, " or ")
	}
	return out + ", and " + strings.Join(says, ", and ")
}

// software names the software that the fault is in.
func (f *Fault) software() string {
	switch {
	case f.Of != Host:
		return intent.SystemOf(f.Of).Title
	case f.Part == Kernel:
		return "Linux"
	}
	return "the " + string(f.Part) + " of " + strings.Join(f.Drivers, " or ")
}

// String describes the range: "5.14.0 or newer, before 5.16.0".
func (r Range) String() string {
	var out []string
	if r.From != "" && r.From == r.Through {
		return r.From
	}
	if r.From != "" {
		out = append(out, r.From+" or newer")
	}
	if r.Before != "" {
		out = append(out, "before "+r.Before)
	}
	if r.Through != "" {
		out = append(out, "up to "+r.Through)
	}
	if out == nil {
		return "of any release"
	}
	return strings.Join(out, ", ")
}

// remedy says which release ends the fault, as far as that is known.
func (r Range) remedy() string {
	switch {
	case r.Before != "":
		return "fixed in " + r.Before
	case r.Through != "":
		return r.Through + " is the last release that is known to have it"
	}
	return "no release with a fix is known"
}

var number = regexp.MustCompile(`\d+`)

// numbers returns the numbers of a release: 10, 4 and 3 of "10.4(3)". A release without any, such
// as a development branch, is newer than all others and has none.
func numbers(release string) (out []int) {
	if release == "" || release[0] < '0' || release[0] > '9' {
		return nil
	}
	for _, s := range number.FindAllString(release, -1) {
		n, err := strconv.Atoi(s)
		if err != nil {
			return out // longer than any number of a release
		}
		out = append(out, n)
	}
	return out
}

// compare compares a release with a limit, in as many numbers as the limit has.
func compare(release, limit string) int {
	have, want := numbers(release), numbers(limit)
	if have == nil {
		return 1
	}
	have = append(have, make([]int, len(want))...)
	return slices.Compare(have[:len(want)], want)
}

// rangeOf returns the range of the fault that contains a release.
func (f *Fault) rangeOf(release string) (Range, bool) {
	i := slices.IndexFunc(f.Releases, func(r Range) bool {
		return (r.From == "" || compare(release, r.From) >= 0) && (r.Before == "" || compare(release, r.Before) < 0) && (r.Through == "" || compare(release, r.Through) <= 0)
	})
	if release == "" || i < 0 {
		return Range{}, false
	}
	return f.Releases[i], true
}

// matches reports whether any of the patterns matches a name; no pattern matches every name.
func matches(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

// finding returns the finding of the fault in a release. on is the hardware, "" if it does not
// matter.
func (f *Fault) finding(release string, r Range, on string) checks.Finding {
	subject := f.software() + " " + release
	if on != "" {
		subject += " on " + on
	}
	what := fmt.Sprintf("a published fault of %s: %s; %s", subject, f.Title, r.remedy())
	if f.Part == Kernel {
		what += ", and a distribution may have fixed it in its own kernel"
	}
	return checks.Finding{ID: f.ID, Severity: f.Severity, What: what, Fix: f.Fix}
}

// conditionOf returns the condition with a name.
func conditionOf[C interface{ called() string }](list []C, name string) C {
	return list[slices.IndexFunc(list, func(c C) bool { return c.called() == name })]
}

package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Check is one check of the catalogue: its description and its functions.
type Check struct {
	ID    string `json:"id"`
	Title string `json:"title"` // the fault that it finds
	// Rules are the severities of findings, worst first.
	Rules []Rule `json:"rules"`
	Scope Scope  `json:"scope"`
	Reads Reads  `json:"reads"`
	Why   string `json:"why"` // what happens to traffic
	Fix   string `json:"fix"` // the fix, in general
	// Sources are public documents: standards, papers, source files, issues.
	Sources []string `json:"sources,omitempty"`
	// FoldedIn lists the checks whose finding reports a cause that they share with this one, if it
	// is as severe.
	FoldedIn []string `json:"folded_in,omitempty"`
	// Absent says why this version does not make the check; "" if it makes it.
	Absent string `json:"absent,omitempty"`

	// Needs returns what a switch lacks for Switch and State to run; nil if it lacks nothing.
	// If it lacks something, they do not run, and a finding says so.
	Needs func(*Switch) *Lack `json:"-"`

	Fabric   func(*Fabric)  `json:"-"` // runs once, over the whole intent
	Runs     bool           `json:"-"` // Fabric also runs over the running state
	Plans    bool           `json:"-"` // Switch also runs over the result of a plan
	Switch   func(*Switch)  `json:"-"` // runs on each switch, as intended, saved or running
	State    func(*Switch)  `json:"-"` // runs on each switch whose running state was read
	Link     func(*Link)    `json:"-"` // runs on each link whose ends are both known
	Compares qos.Kind       `json:"-"` // what Link compares at the two ends
	Outliers func(*Outlier) `json:"-"` // runs on the members of a group that differ from most of it
	Port     func(*Port)    `json:"-"` // runs on each port of switches and of saved configurations
	Alone    func(*File)    `json:"-"` // runs on each configuration that is checked without an intent

	// AloneFix is the fix where there is no intent; "" if Fix says it.
	AloneFix string `json:"-"`
	// ByText is set if lines of a configuration, or its differences from others, may fail the check
	// where there is no intent.
	ByText bool `json:"-"`
}

// Rule is a severity and its condition; When is empty if there is only one severity.
type Rule struct {
	Severity Severity `json:"severity"`
	When     string   `json:"when,omitempty"`
}

// Worst is the highest severity of the check's findings.
func (c *Check) Worst() Severity { return c.Rules[0].Severity }

// Rule formats the severity rules: "error below the cable's floor, warning below the model".
func (c *Check) Rule() string {
	var parts []string
	for _, r := range c.Rules {
		parts = append(parts, strings.TrimSpace(string(r.Severity)+" "+r.When))
	}
	return strings.Join(parts, ", ")
}

// MayFind panics if the rules do not have severity s.
func (c *Check) MayFind(s Severity) {
	if !slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.Severity == s }) {
		panic(fmt.Sprintf("%s has no severity %q", c.ID, s))
	}
}

// MadeAlone reports whether the check is made for configurations without an intent.
func (c *Check) MadeAlone() bool { return c.Alone != nil || c.Port != nil || c.ByText }

// FixAlone returns the fix where there is no intent to change or to apply; "" if there is none.
func (c *Check) FixAlone() string {
	if c.AloneFix != "" {
		return c.AloneFix
	}
	fix := strings.TrimSuffix(c.Fix, ": "+ApplyIntent)
	if strings.Contains(fix, ApplyIntent) {
		return ""
	}
	return fix
}

// Made reports whether this version makes the check.
func (c *Check) Made() bool { return c.Absent == "" }

// Always returns the rule of a check whose findings all have one severity.
func Always(s Severity) []Rule { return []Rule{{Severity: s}} }

// Scope is the kind of object that a check looks at.
type Scope string

// The scopes.
const (
	ScopeSwitch Scope = "switch"
	ScopeLink   Scope = "link"     // both ends of a link between switches
	ScopeNIC    Scope = "nic-link" // a switch port and the NIC on it
	ScopeHost   Scope = "host"
	ScopeFabric Scope = "fabric"
	ScopeTime   Scope = "time" // two readings, or a plan
)

// Reads is the set of data that a check needs.
type Reads uint8

// The data that checks read.
const (
	ReadsIntent   Reads = 1 << iota // the intent and the catalogue
	ReadsRendered                   // configuration rendered from them
	ReadsRunning                    // running or saved configuration of a switch
	ReadsApplied                    // state that a switch shows as in force, and its ports
	ReadsNIC                        // a host's NICs
	ReadsCounters
)

var readNames = []string{"intent", "rendered", "running", "applied", "nic", "counters"}

// Names lists the names of the data.
func (r Reads) Names() []string {
	var out []string
	for i, n := range readNames {
		if r&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// String returns the names, as in "intent, running".
func (r Reads) String() string { return strings.Join(r.Names(), ", ") }

// MarshalText returns the text of String.
func (r Reads) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// FixIn returns the fix of a check in a table.
func FixIn(table []Check, id string) string {
	i := slices.IndexFunc(table, func(c Check) bool { return c.ID == id })
	return table[i].Fix
}

package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Check is one check of the catalogue: what it is, and what it does.
type Check struct {
	ID    string `json:"id"`
	Title string `json:"title"` // what is wrong where it finds something
	// Rules says how severe a finding is, worst first.
	Rules []Rule `json:"rules"`
	Scope Scope  `json:"scope"`
	Reads Reads  `json:"reads"`
	Why   string `json:"why"` // what happens to traffic
	Fix   string `json:"fix"` // the fix, in general
	// Sources are public: standards, papers, source files, issues.
	Sources []string `json:"sources,omitempty"`
	// Covers are checks that have no finding where this one has: its findings list
	// them.
	Covers []string `json:"covers,omitempty"`
	// FoldedIn are the checks whose findings may cover this one: the same cause is
	// then told once, under their ids.
	FoldedIn []string `json:"folded_in,omitempty"`
	// Absent is set for a check of the catalogue that this version does not
	// make, and says why.
	Absent string `json:"absent,omitempty"`

	// needs says what device and state lack on a switch to judge it; nil where
	// they lack nothing. One that lacks something is not made, and a finding
	// says so.
	needs func(*deviceRun) *lack

	fabric func(*fabricRun) // once, over the whole intent
	runs   bool             // fabric is made of what runs as well
	plans  bool             // device is made of what a plan leaves as well
	device func(*deviceRun) // over each switch, as intended, saved or running
	state  func(*deviceRun) // over each switch whose running state was read
	link   func(*linkRun)   // over each link whose ends are both known
	odd    func(*oddRun)    // over those of a group that differ from most
}

// lack is why checks of a switch cannot be made.
type lack struct {
	id    string // of the check that says so
	what  string // that is not judged: "buffers and headroom"
	short string // why, for the headline: "the model is unknown"
	why   string
	fix   string
	where string // in the intent; "" for the switch
	near  bool   // it is more likely a slip than a fact: a warning
}

// Rule is a severity and when it holds; When is empty where there is only one.
type Rule struct {
	Severity Severity `json:"severity"`
	When     string   `json:"when,omitempty"`
}

// Worst is the highest severity of the check's findings.
func (c *Check) Worst() Severity { return c.Rules[0].Severity }

// Rule prints the severity rule: "error below the cable's floor, warning below
// the model".
func (c *Check) Rule() string {
	var parts []string
	for _, r := range c.Rules {
		parts = append(parts, strings.TrimSpace(string(r.Severity)+" "+r.When))
	}
	return strings.Join(parts, ", ")
}

// mayFind panics for a severity that the rules do not name.
func (c *Check) mayFind(s Severity) {
	if !slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.Severity == s }) {
		panic(fmt.Sprintf("%s has no severity %q", c.ID, s))
	}
}

// Made reports whether this version makes the check.
func (c *Check) Made() bool { return c.Absent == "" }

func always(s Severity) []Rule { return []Rule{{Severity: s}} }

// Scope is what a check looks at, at once.
type Scope string

// The scopes.
const (
	ScopeSwitch Scope = "switch"
	ScopeLink   Scope = "link"     // both ends of a link between switches
	ScopeNIC    Scope = "nic-link" // a switch port and the NIC at it
	ScopeHost   Scope = "host"
	ScopeFabric Scope = "fabric"
	ScopeTime   Scope = "time" // two readings, or a plan
)

// Reads says what a check needs to have read.
type Reads uint8

// The data that checks read.
const (
	ReadsIntent   Reads = 1 << iota // the intent and the catalogue
	ReadsRendered                   // what is rendered from them
	ReadsRunning                    // the configuration that a switch runs, or that is saved of it
	ReadsApplied                    // what a switch shows that it made of it, and its ports
	ReadsNIC                        // a host's NICs
	ReadsCounters
)

var readNames = []string{"intent", "rendered", "running", "applied", "nic", "counters"}

// Names lists what is read.
func (r Reads) Names() []string {
	var out []string
	for i, n := range readNames {
		if r&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// String prints "intent, running".
func (r Reads) String() string { return strings.Join(r.Names(), ", ") }

// MarshalText writes what String prints.
func (r Reads) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// registry holds all checks, sorted by id.
var registry = assemble(classChecks, pfcChecks, bufferChecks, ecnChecks, schedulerChecks, mtuChecks, nicChecks,
	watchdogChecks, topologyChecks, tunnelChecks, forwardingChecks, portChecks, linkChecks, operationChecks, gateChecks)

func assemble(families ...[]Check) []*Check {
	var all []*Check
	for _, f := range families {
		for i := range f {
			all = append(all, &f[i])
		}
	}
	ordered.Sort(all, func(a, b *Check) int { return natural.Compare(a.ID, b.ID) })
	for i, c := range all {
		if i > 0 && all[i-1].ID == c.ID {
			panic(fmt.Sprintf("two checks are called %s", c.ID))
		}
	}
	return all
}

// Checks lists all checks, by id.
func Checks() []*Check { return slices.Clone(registry) }

// Lookup returns the check of that id, in any case of letters; nil where there
// is none.
func Lookup(id string) *Check {
	for _, c := range registry {
		if strings.EqualFold(c.ID, id) {
			return c
		}
	}
	return nil
}

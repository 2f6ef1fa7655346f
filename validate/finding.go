// Package validate says what is wrong with a fabric: before a device is asked
// ([Static]) and from what the devices run ([Device], [Links]).
//
// A check looks and reports; it never changes anything and never talks to a
// device itself. One cause on many ports is one [Finding] that lists them.
package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Severity says what a finding means for the fabric.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // lossless traffic will be lost, or the device refuses
	Warning Severity = "warning" // a risk, or a departure from what is usual
	Info    Severity = "info"    // worth knowing
)

func (s Severity) rank() int { return slices.Index([]Severity{Error, Warning, Info}, s) }

// Finding is one thing that is wrong, at one place.
type Finding struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Device   string   `json:"device,omitempty"`
	Ports    []string `json:"ports,omitempty"`
	What     string   `json:"what"`            // the fact, with the values that disagree
	Fix      string   `json:"fix,omitempty"`   // what to do
	Where    string   `json:"where,omitempty"` // intent file, line and column
}

// Place returns "leaf1 Ethernet[0-8:8]".
func (f Finding) Place() string {
	if len(f.Ports) == 0 {
		return f.Device
	}
	return f.Device + " " + natural.Fold(f.Ports)
}

// Check describes a check.
type Check struct {
	ID    string
	Title string
	Why   string
}

// Checks lists all checks of this package, by id.
func Checks() []Check {
	all := slices.Concat(checks, hostChecks)
	slices.SortStableFunc(all, func(a, b Check) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(all, func(a, b Check) bool { return a.ID == b.ID })
}

var checks = []Check{
	{"BUF-01", "headroom is too small for the cable", "bytes that arrive after the pause was sent are dropped"},
	{"BUF-03", "the platform has no headroom row for the speed and cable", "SONiC logs an error and makes no lossless priority group"},
	{"BUF-05", "lossless groups share more headroom than declared", "many pauses at the same time overflow the pool"},
	{"CAT-01", "the catalogue does not know the model", "its ports, buffers and headroom cannot be checked"},
	{"CLS-01", "a DSCP belongs to different classes on two ends of a link", "the class changes in the middle of a path, and the lossless part ends silently"},
	{"DRIFT", "the running configuration differs from the intent", "what was checked is not what runs"},
	{"ECN-01", "a lossless queue does not mark", "PFC becomes the only congestion control"},
	{"ECN-06", "an ECN threshold does not fit the speed", "thresholds copied from another speed mark too early or too late"},
	{"MTU-01", "the two ends of a link carry packets of different size", "large packets vanish in one direction"},
	{"OPS-02", "a value is configured and not in force", "the configuration shows one thing and the ASIC does another"},
	{"OPS-04", "the system does not take a value", "the switch refuses it, and with it the request it is in"},
	{"PFC-01", "the two ends of a link pause different priorities", "one side pauses and the other ignores it, and packets are lost"},
	{"PFC-06", "more than two lossless classes", "headroom multiplies and the shared buffer shrinks"},
	{"PFC-12", "priority 6 or 7 is lossless", "control traffic and congestion notifications can be paused"},
	{"READ", "a device could not be read", "nothing is known about it"},
	{"UNKNOWN", "configuration that this tool does not understand", "it is left alone and not checked"},
	{"WD-01", "the PFC watchdog is off towards a host", "one bad NIC can pause the whole fabric"},
	{"WD-02", "the PFC watchdog is off between switches", "a deadlock has no breaker"},
	{"WD-04", "a watchdog time is outside what the system takes", "the switch refuses it, or a queue stays closed"},
	{"YANG", "the rendered configuration is not valid against the models", "the switch refuses it"},
}

// Sort orders findings: worst first, then by device, id and port, and drops
// repetitions.
func Sort(fs []Finding) []Finding {
	slices.SortFunc(fs, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Severity.rank(), b.Severity.rank()),
			natural.Compare(a.Device, b.Device),
			cmp.Compare(a.ID, b.ID),
			natural.Compare(first(a.Ports), first(b.Ports)),
			cmp.Compare(a.What, b.What))
	})
	return slices.CompactFunc(fs, func(a, b Finding) bool {
		return a.ID == b.ID && a.Device == b.Device && a.What == b.What && slices.Equal(a.Ports, b.Ports)
	})
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

// Worst reports whether any finding is of severity error.
func Worst(fs []Finding) bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.Severity == Error })
}

// collector folds findings of one cause into one.
type collector struct {
	list []Finding
	at   map[string]int
}

func (c *collector) add(f Finding, port string) {
	key := fmt.Sprint(f.ID, "|", f.Severity, "|", f.Device, "|", f.What, "|", f.Where)
	if c.at == nil {
		c.at = map[string]int{}
	}
	i, ok := c.at[key]
	if !ok {
		i = len(c.list)
		c.at[key] = i
		c.list = append(c.list, f)
	}
	if port != "" {
		c.list[i].Ports = append(c.list[i].Ports, port)
	}
}

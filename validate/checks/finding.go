package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// Severity says what a finding means for the fabric.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // lossless traffic will be lost, or the device rejects the configuration
	Warning Severity = "warning" // a risk, or an unusual setting
	Info    Severity = "info"    // worth knowing
)

// Severities lists the severities, worst first.
var Severities = []Severity{Error, Warning, Info}

// Rank orders severities, worst first: 0 is an error.
func (s Severity) Rank() int { return slices.Index(Severities, s) }

// Finding is one fault at one place. The tags describe it in the JSON Schema of a report.
type Finding struct {
	ID       string   `json:"id" doc:"id of the check"`
	Severity Severity `json:"severity" doc:"what it means for the fabric" enum:"error,warning,info"`
	Device   string   `json:"device,omitempty" doc:"the switch or host; none for the whole fabric"`
	Ports    []string `json:"ports,omitempty" doc:"ports of the device; none for the whole device"`
	Address  string   `json:"address,omitempty" doc:"the address at which the device could not be read"`
	// Peers holds one entry for each port, such as "spine1/Ethernet1/1".
	Peers []string `json:"peers,omitempty" doc:"the other end of each port's link, where the finding is about both ends"`
	What  string   `json:"what" doc:"the fact, with the values that disagree"`
	Fix   string   `json:"fix,omitempty" doc:"what to do"`
	Where string   `json:"where,omitempty" doc:"intent file, line and column, or the rule that set the value"`
	// Unchecked is for example "buffers and headroom"; "" if the finding is conclusive.
	Unchecked string `json:"unchecked,omitempty" doc:"what could not be judged there: the finding is inconclusive"`
	// Because is for example "the model is unknown".
	Because string   `json:"because,omitempty" doc:"why it could not be judged, in a few words"`
	NotMade []string `json:"not_made,omitempty" doc:"ids of the checks that could not be made there for it"`
	// Covers lists the IDs of Covered.
	Covers     []string    `json:"covers,omitempty" doc:"ids of other checks that fail there for the same cause and have no finding of their own"`
	Suppressed *Suppressed `json:"suppressed,omitempty" doc:"why it does not count"`
	// Covered lists the checks that would report the same cause.
	Covered []Covered `json:"-"`
	// Roots names the values that the finding is about: findings at one place that share all
	// theirs with others have one cause. It is empty for a finding that is a cause by itself.
	Roots []string `json:"-"`
}

// Covered is a check that fails for a cause that another finding reports, and the severity that its
// own finding would have.
type Covered struct {
	ID       string
	Severity Severity
}

// Inconclusive reports whether the finding says that something could not be checked, and the
// intent does not accept it.
func (f Finding) Inconclusive() bool { return f.Unchecked != "" && f.Suppressed == nil }

// Suppressed says why a finding does not count.
type Suppressed struct {
	Reason string `json:"reason" doc:"as the intent says"`
	Until  string `json:"until,omitempty" doc:"the last day, as 2026-12-31; none without an end"`
	Where  string `json:"where" doc:"intent file, line and column"`
}

// About reports whether the finding belongs to a check or covers it.
func (f Finding) About(id string) bool {
	same := func(other string) bool { return strings.EqualFold(id, other) }
	return same(f.ID) || slices.ContainsFunc(f.Covers, same)
}

// AcceptedBy reports whether a suppression of a check accepts the finding: it belongs to the check,
// or covers it with the same severity. Who accepts a warning does not thereby accept an error.
func (f Finding) AcceptedBy(id string) bool {
	return strings.EqualFold(id, f.ID) || slices.ContainsFunc(f.Covered, func(c Covered) bool { return strings.EqualFold(id, c.ID) && c.Severity == f.Severity })
}

// Place returns the place of the finding, such as "leaf1 Ethernet[0-8:8]".
func (f Finding) Place() string {
	if len(f.Ports) == 0 {
		return f.Device
	}
	return f.Device + " " + natural.Fold(f.Ports)
}

// Told returns the fact with its place: "leaf1 Ethernet0: ...".
func (f Finding) Told() string {
	if at := f.Place(); at != "" {
		return at + ": " + f.What
	}
	return f.What
}

// Counts reports whether the finding is of severity error and not suppressed.
func (f Finding) Counts() bool { return f.Severity == Error && f.Suppressed == nil }

// Urgent describes in a few words that traffic has stopped, if the finding means that;
// otherwise it returns "".
func (f Finding) Urgent() string { return gate.Urgent(f.ID) }

// OwnState is the ID of the check that reports states of a switch, which explain other findings.
const OwnState = "OPS-06"

// Sort sorts findings and removes duplicates: states that explain others first, then worst first, and
// suppressed ones last, findings that mean that traffic has stopped before others, then by device, ID and port.
func Sort(fs []Finding) []Finding {
	ordered.Sort(fs, func(a, b Finding) int {
		return cmp.Or(
			ordered.First(a.Suppressed == nil, b.Suppressed == nil),
			ordered.First(a.ID == OwnState, b.ID == OwnState),
			cmp.Compare(a.Severity.Rank(), b.Severity.Rank()),
			ordered.First(a.Urgent() != "", b.Urgent() != ""),
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

// Worst reports whether any finding is an error and not suppressed.
func Worst(fs []Finding) bool { return slices.ContainsFunc(fs, Finding.Counts) }

// Counts holds numbers of findings; suppressed ones are not counted under their severity.
type Counts struct {
	Error      int `json:"error"`
	Warning    int `json:"warning"`
	Info       int `json:"info"`
	Suppressed int `json:"suppressed"`
	// Inconclusive counts inconclusive findings of any severity.
	Inconclusive int `json:"inconclusive"`
}

// Count counts findings.
func Count(fs []Finding) (c Counts) {
	for _, f := range fs {
		if f.Inconclusive() {
			c.Inconclusive++
		}
		switch {
		case f.Suppressed != nil:
			c.Suppressed++
		case f.Severity == Error:
			c.Error++
		case f.Severity == Warning:
			c.Warning++
		default:
			c.Info++
		}
	}
	return c
}

// Collector combines findings with the same cause.
type Collector struct {
	List []Finding
	at   map[cause]int
}

type cause struct {
	id, device, what, where, covers, roots string
	severity                               Severity
}

// Add adds a finding on a port; port is "" for the whole device. The finding's peer, if it has
// one, is the other end of the port's link.
func (c *Collector) Add(f Finding, port string) {
	key := cause{f.ID, f.Device, f.What, f.Where, fmt.Sprint(f.Covered), strings.Join(f.Roots, " "), f.Severity}
	if c.at == nil {
		c.at = map[cause]int{}
	}
	i, ok := c.at[key]
	if !ok {
		i = len(c.List)
		c.at[key] = i
		c.List = append(c.List, f)
		c.List[i].Peers = nil
		c.List[i].What = strings.ReplaceAll(f.What, " "+qos.PrioritySet(0).String(), " none")
	}
	if port != "" {
		c.List[i].Ports = append(c.List[i].Ports, port)
		c.List[i].Peers = append(c.List[i].Peers, f.Peers...)
	}
}

// PeerDevice returns the device of an entry of [Finding.Peers].
func PeerDevice(peer string) string {
	device, _, _ := strings.Cut(peer, "/")
	return device
}

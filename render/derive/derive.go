// Package derive turns the running state of switches into an intent: the classes and thresholds
// that most ports share, the deviations of roles, switches and ports, and the links between
// devices, in short form with ranges and patterns.
//
// [Derive] never guesses silently. Its assumptions are in [Result.Assumed] and marked in the
// text; everything that it leaves out is in [Result.LeftOut]. It also compiles the intent that
// it has written: [Result.Desired] is the desired state of each switch, which may cover less
// than the switch runs.
//
// The package does no I/O. Do not read devices, files or topologies here, and do not add native
// syntax of any OS: the package sees only the model.
package derive

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render"
)

// Input is everything that is known of a fabric.
type Input struct {
	Name     string
	Switches []Switch
	// Hosts lists hosts known from more than their links. Hosts that only links name are added.
	Hosts []Host
	// Cables lists links known from other sources. They take precedence over LLDP.
	Cables []Cable
	// Recorded maps the devices of an imported inventory (names in lower case) to their place in
	// it; nil without an inventory.
	Recorded map[string]string
	// Unclear holds ports ("leaf1/Ethernet1") and device pairs ([Pair]) whose cables are in the
	// inventory without saying which port is connected to which. LLDP cannot contradict these.
	Unclear map[string]bool
	// ClassNames names classes by priority; other classes are named by their purpose.
	ClassNames map[int]string
	// Lossy holds the priorities of classes with mode: lossy. The running state does not
	// distinguish RDMA without PFC from other lossy traffic.
	Lossy qos.PrioritySet
	// AllPorts includes ports that carry QoS but have no known peer, even on a switch where
	// other ports have one.
	AllPorts bool
	// Fits is passed to [render.New].
	Fits render.Fits
}

// Switch is a switch with its running state.
type Switch struct {
	Name, OS, Role, Model, Release string
	Address                        string // host:port; "" if unknown
	Access                         intent.Access
	Identity                       *intent.Identity // as stated; nil for none
	Write                          intent.Write
	// Running is the configured state, normalized. Port speeds may be the speeds of the links.
	Running *qos.Device
	// Account is the account of the configuration behind Running, and File the name of that
	// configuration. Both are optional and serve to name the origin of values.
	Account []render.Line
	File    string
	// Planned is set if the switch was not read: Running has only ports, from an inventory or
	// the catalogue.
	Planned bool
	// Neighbors lists the LLDP neighbours of each port, under the names that they announce.
	Neighbors map[string][]qos.Neighbor
	// Aliases maps ports to the other names that the switch announces over LLDP.
	Aliases map[string]string
}

// Host describes a host.
type Host struct {
	Name, Address string
	Access        intent.Access
	Identity      *intent.Identity // as stated; nil for none
	// PauseResponse is the time that the host's NICs take to obey a pause; zero if unknown.
	PauseResponse intent.Response
	NICs          []NIC
	Bonds         []intent.Bond
	VLANs         []intent.VLAN
}

// NIC is an interface of a host.
type NIC struct {
	Name   string
	Select intent.Selector // zero for none
	VFs    intent.VFs
	SFs    int    // number; 0 if unknown
	DPU    string // "device/port"; "" for none
	RDMA   string // "" if unknown, intent.NoDevice if it sends no RDMA
	// RXRing and TXRing are the descriptors per ring; 0 if unknown.
	RXRing, TXRing int
	// Set if the host states buffers: auto, willing: off, stallPrevention: auto.
	Buffers, Willing, StallPrevention bool
	// Card holds the other settings of the card.
	Card intent.CardLine
}

// Note is a remark about a place of the fabric.
type Note struct {
	Where string `json:"where"` // "leaf1", "leaf1 Ethernet[0-56:8]"
	What  string `json:"what"`
}

// Result is a derived intent.
type Result struct {
	// Text is the intent, and Fabric the same intent loaded.
	Text   []byte
	Fabric *intent.Fabric
	// Assumed lists values that no source states; they are marked in Text.
	Assumed []Note
	// LeftOut lists what the switches run, or are connected to, that the intent does not cover;
	// a plan leaves it alone.
	LeftOut []Note
	// Contradictions lists conflicts between the inventory and what was found, Unrecorded what
	// was found but is not in the inventory. Cables counts the cables of the inventory by
	// outcome.
	Contradictions []Contradiction
	Unrecorded     []Note
	Cables         Recorded
	// Desired is the desired state of each switch under the intent.
	Desired map[string]*qos.Device
}

// ErrInput is wrapped by errors about the input.
var ErrInput = errors.New("nothing to derive an intent from")

// Derive derives an intent. The error wraps [ErrInput] if names are at fault: two devices with
// the same name, or a name that no intent can have. Any other error is [intent.Errors] about the
// derived text: the fabric is larger than an intent may be, or this package has a bug.
func Derive(in Input) (*Result, error) {
	d, err := newDeriver(in)
	if err != nil {
		return nil, err
	}
	d.findLinks()
	d.choosePorts()
	d.findClasses()
	d.wishes()
	// Thresholds that equal the computed ones are written as auto; to find them, the whole
	// fabric must be compiled.
	trial, err := d.compile(d.document())
	if err != nil {
		return nil, err
	}
	d.foldCurves(trial)
	d.foldSpeeds(trial.Fabric())
	d.foldPolls(trial)
	d.choose()
	text := d.document()
	c, err := d.compile(text)
	if err != nil {
		return nil, err
	}
	if d.keepRest(c) {
		d.choose()
		text = d.document()
		if c, err = d.compile(text); err != nil {
			return nil, err
		}
	}
	if !d.sameLinks(c.Fabric()) {
		// Write each link separately rather than wrongly.
		d.plainLinks = true
		text = d.document()
		if c, err = d.compile(text); err != nil {
			return nil, err
		}
	}
	d.remarkKept()
	d.remarkEmpty()
	out := &Result{Text: text, Fabric: c.Fabric(), Assumed: d.assumed, LeftOut: d.leftOut(), Desired: map[string]*qos.Device{},
		Contradictions: d.contradictions, Unrecorded: d.unrecorded, Cables: d.cables}
	for _, s := range d.switches {
		out.Desired[s.Name] = c.Device(c.Fabric().Switch(s.Name)).Desired
	}
	return out, nil
}

// deriver holds the state of a derivation.
type deriver struct {
	in       Input
	switches []*box // in natural order
	byName   map[string]*box
	hosts    map[string]*host
	links    []*link
	// outside holds ports that lead to switches outside the input.
	outside  map[string]map[string]bool
	classes  []class         // by priority
	lossless qos.PrioritySet // priorities that any port pauses
	base     wish
	roles    map[string]wish
	roleList []string
	assumed  []Note
	remarks  []remark // what is left out
	// These concern the inventory: see Result.
	contradictions []Contradiction
	unrecorded     []Note
	cables         Recorded
	// usual is set if the classes are the defaults for a new fabric.
	usual bool
	// keepsCodePoints is set if code points without a class stay in their present class.
	keepsCodePoints bool
	// plainLinks writes one entry per link.
	plainLinks bool
}

// box is a switch with the values derived for it.
type box struct {
	Switch
	role  string
	ports map[string]*port // managed ports
	names []string         // of ports, in natural order
	wish  wish             // for most of its ports
	// keepsGlobals is set if switch-wide settings that no port needs are kept.
	keepsGlobals bool
	ix           *portIndex
}

// port is a managed port with the values derived for it.
type port struct {
	run  *qos.Port
	link *link // nil for none
	want accept
	own  [qos.NumPriorities]curve // as running
	wish wish
}

func newDeriver(in Input) (*deriver, error) {
	d := &deriver{in: in, byName: map[string]*box{}, hosts: map[string]*host{}, outside: map[string]map[string]bool{}}
	if len(in.Switches) == 0 {
		return nil, fmt.Errorf("%w: no switches", ErrInput)
	}
	if !hostName.MatchString(in.Name) {
		return nil, fmt.Errorf("%w: %.80q is not a valid name for a fabric", ErrInput, in.Name)
	}
	for _, s := range in.Switches {
		if !hostName.MatchString(s.Name) {
			return nil, fmt.Errorf("%w: %.80q is not a valid name for a switch", ErrInput, s.Name)
		}
		if s.Running == nil {
			return nil, fmt.Errorf("%w: %s has no running state", ErrInput, s.Name)
		}
		if d.byName[s.Name] != nil {
			return nil, fmt.Errorf("%w: there are two switches %q", ErrInput, s.Name)
		}
		b := d.box(s)
		d.byName[s.Name] = b
		d.switches = append(d.switches, b)
	}
	ordered.Sort(d.switches, func(a, b *box) int { return natural.Compare(a.Name, b.Name) })
	for _, h := range in.Hosts {
		if d.byName[h.Name] != nil || d.hosts[h.Name] != nil {
			return nil, fmt.Errorf("%w: there are two devices %q", ErrInput, h.Name)
		}
		d.hosts[h.Name] = newHost(h)
	}
	return d, nil
}

// Valid names of ports, and of models and releases, in an intent.
var (
	portText  = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9_./:@-]{0,62}$`)
	modelText = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9 ._+/()-]{0,126}$`)
)

// box returns the box of a switch, without anything that an intent cannot express.
func (d *deriver) box(s Switch) *box {
	run := *s.Running
	run.Ports = make(map[string]*qos.Port, len(s.Running.Ports))
	var odd []string
	for n, p := range s.Running.Ports {
		if portText.MatchString(n) {
			run.Ports[n] = p
		} else {
			odd = append(odd, n)
		}
	}
	if len(odd) > 0 {
		d.noteLeftOut(s.Name, odd, "not valid as names of ports in an intent")
	}
	s.Running = &run
	for _, t := range []*string{&s.Model, &s.Release} {
		if *t != "" && !modelText.MatchString(*t) {
			d.noteLeftOut(s.Name, nil, "%.80q is not valid as a model or release in an intent", *t)
			*t = ""
		}
	}
	return &box{Switch: s, ports: map[string]*port{}}
}

// compile loads an intent and returns its compiler.
func (d *deriver) compile(text []byte) (*render.Compiler, error) {
	f, err := intent.Load("-", intent.Options{Stdin: bytes.NewReader(text), Name: "derived intent"})
	if err != nil {
		return nil, err
	}
	return render.New(f, d.in.Fits)
}

func (d *deriver) assume(where, format string, a ...any) {
	d.assumed = append(d.assumed, Note{where, fmt.Sprintf(format, a...)})
}

// remark is a note about ports of a device.
type remark struct{ device, ports, what string }

func (d *deriver) noteLeftOut(device string, ports []string, format string, a ...any) {
	d.remarks = append(d.remarks, remark{device, shown(ports), fmt.Sprintf(format, a...)})
}

// leftOut returns the remarks; the same remark about several devices becomes one.
func (d *deriver) leftOut() []Note {
	type key struct{ ports, what string }
	var byRemark ordered.Groups[key, string]
	for _, r := range d.remarks {
		byRemark.Add(key{r.ports, r.what}, r.device)
	}
	var out []Note
	for k, devices := range byRemark.All() {
		out = append(out, Note{strings.TrimSpace(shown(devices) + " " + k.ports), k.what})
	}
	return out
}

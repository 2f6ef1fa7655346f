// Package derive turns what switches run into the intent that says it: classes
// and thresholds that most ports share, what a role, a switch or a port does
// otherwise, and the links between them, in the short form with ranges and
// patterns.
//
// [Derive] never guesses in silence. Its assumptions are in [Result.Assumed]
// and marked in the text; everything that it leaves out is in [Result.LeftOut].
// It also compiles the intent that it wrote: [Result.Desired] is what the intent says of
// each switch, which need not be all that the switch runs.
//
// The package does no I/O. Do not read devices, files or topologies here, and
// do not teach it a system's native words: it sees the model alone.
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

// Input is what is known of a fabric.
type Input struct {
	Name     string
	Switches []Switch
	// Hosts are those known by more than links. Hosts that only links name are added.
	Hosts []Host
	// Cables are links known from elsewhere. They come before what LLDP says.
	Cables []Cable
	// Recorded has, where an inventory is imported, the place of each of its devices by
	// name in lower case; nil without one.
	Recorded map[string]string
	// Unclear has the ports ("leaf1/Ethernet1") and pairs of devices ([Pair]) whose cables
	// the inventory has, and does not say which port is joined with which: what LLDP sees
	// there contradicts nothing.
	Unclear map[string]bool
	// ClassNames has names by priority; other classes are named by what they do.
	ClassNames map[int]string
	// Lossy are the priorities of classes that are stated as mode: lossy. No switch
	// tells RDMA without PFC from other lossy traffic.
	Lossy qos.PrioritySet
	// AllPorts takes in ports that carry QoS and have no known other end, also
	// of a switch on which other ports have one.
	AllPorts bool
	// Fits are those of [render.New].
	Fits render.Fits
}

// Switch is one switch and what it runs.
type Switch struct {
	Name, OS, Role, Model, Release string
	Address                        string // host:port; "" for unknown
	Access                         intent.Access
	Identity                       *intent.Identity // that is stated; nil for none
	Write                          intent.Write
	// Running is what the switch is configured to do, normalised. Speeds of
	// ports may be what their links run at.
	Running *qos.Device
	// Account is of the configuration that Running is of, and File its name; both may be
	// left out. They tell where a value comes from.
	Account []render.Line
	File    string
	// Planned says that the switch was not read: Running has its ports alone, as an
	// inventory or the catalogue has them.
	Planned bool
	// Neighbors are what LLDP sees on each port, in the neighbour's words.
	Neighbors map[string][]qos.Neighbor
	// Aliases are other names that the switch's own LLDP gives its ports.
	Aliases map[string]string
}

// Host is what is known of a host.
type Host struct {
	Name, Address string
	Access        intent.Access
	Identity      *intent.Identity // that is stated; nil for none
	// PauseResponse is how long its NICs take to obey a pause; zero for unknown.
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
	SFs    int    // how many; 0 for unknown
	DPU    string // "device/port"; "" for none
	RDMA   string // "" for unknown
	// RXRing and TXRing are the descriptors of each ring; 0 for unknown.
	RXRing, TXRing int
	// These are stated: buffers: auto, willing: off, stallPrevention: auto.
	Buffers, Willing, StallPrevention bool
	// Card is what else is stated of it.
	Card intent.CardLine
}

// Note is a remark about a place of the fabric.
type Note struct {
	Where string `json:"where"` // "leaf1", "leaf1 Ethernet[0-56:8]"
	What  string `json:"what"`
}

// Result is a derived intent.
type Result struct {
	// Text is the intent; Fabric is Text, loaded.
	Text   []byte
	Fabric *intent.Fabric
	// Assumed are values that nothing tells; they are marked in Text.
	Assumed []Note
	// LeftOut is what the switches run or are joined to and the intent does
	// not speak of; a plan leaves it alone.
	LeftOut []Note
	// Contradictions are where an inventory and what is found do not agree; Unrecorded
	// is what is found and the inventory does not have, and Cables says what became of
	// its cables.
	Contradictions []Contradiction
	Unrecorded     []Note
	Cables         Recorded
	// Desired is what the intent says of each switch.
	Desired map[string]*qos.Device
}

// ErrInput is wrapped by errors about what is to be derived from.
var ErrInput = errors.New("nothing to derive an intent from")

// Derive makes the intent. The error wraps [ErrInput] where names are at fault:
// two devices of one name, or one that no intent can have. Any other is
// [intent.Errors] about the derived text: a fabric that is larger than an
// intent may be, or a fault of this package.
func Derive(in Input) (*Result, error) {
	d, err := newDeriver(in)
	if err != nil {
		return nil, err
	}
	d.findLinks()
	d.choosePorts()
	d.findClasses()
	d.wishes()
	// Thresholds that equal the computed ones are written as auto; only the whole
	// fabric tells which those are.
	trial, err := d.compile(d.document())
	if err != nil {
		return nil, err
	}
	d.foldCurves(trial)
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
		// Better long than wrong.
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

// deriver is one derivation.
type deriver struct {
	in       Input
	switches []*box // in natural order
	byName   map[string]*box
	hosts    map[string]*host
	links    []*link
	// outside are ports that lead to switches that are not in the input.
	outside  map[string]map[string]bool
	classes  []class         // by priority
	lossless qos.PrioritySet // that any port pauses
	base     wish
	roles    map[string]wish
	roleList []string
	assumed  []Note
	remarks  []remark // what is left out
	// These are of an inventory: see Result.
	contradictions []Contradiction
	unrecorded     []Note
	cables         Recorded
	// usual says that the classes are those of a new fabric.
	usual bool
	// keepsCodePoints says that code points without a class stay where they are.
	keepsCodePoints bool
	// plainLinks writes one entry a link.
	plainLinks bool
}

// box is a switch and what is worked out of it.
type box struct {
	Switch
	role  string
	ports map[string]*port // managed
	names []string         // of them, in natural order
	wish  wish             // of most of its ports
	// keepsGlobals says that what no port needs of the whole switch stays.
	keepsGlobals bool
	ix           *portIndex
}

// port is a managed port.
type port struct {
	run  *qos.Port
	link *link // nil for none
	want accept
	own  [qos.NumPriorities]curve // as it runs
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

// The texts that an intent takes for a port, and for a model or a release.
var (
	portText  = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9_./:@-]{0,62}$`)
	modelText = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9 ._+/()-]{0,126}$`)
)

// box takes a switch in, without what an intent has no words for.
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
		d.leave(s.Name, odd, "no names that ports of an intent can have")
	}
	s.Running = &run
	for _, t := range []*string{&s.Model, &s.Release} {
		if *t != "" && !modelText.MatchString(*t) {
			d.leave(s.Name, nil, "%.80q is no model or release that an intent can have", *t)
			*t = ""
		}
	}
	return &box{Switch: s, ports: map[string]*port{}}
}

// compile loads a text and makes it ready to compile.
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

func (d *deriver) leave(device string, ports []string, format string, a ...any) {
	d.remarks = append(d.remarks, remark{device, shown(ports), fmt.Sprintf(format, a...)})
}

// leftOut are the remarks, those about several devices as one.
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

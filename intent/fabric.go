package intent

import (
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Fabric is a resolved intent: every range, pattern and override of the files
// is worked out, every default filled in, and every value knows where it came
// from. [Load] makes it; nothing changes it afterwards.
type Fabric struct {
	Name string
	// Files are the files read, in order, as the operator named them; [Stdin]
	// for standard input.
	Files []string
	// Hash is the SHA-256 of the files' content, hex; of a single file what
	// sha256sum prints. A saved plan is bound to it.
	Hash     string
	Switches []*Switch // sorted by name, numbers in numeric order
	Hosts    []*Host   // likewise
	Links    []*Link   // in the order of the files
	// Settings are the fabric-wide ones, before any override.
	Settings  *Settings
	Rollout   Rollout
	Routing   Routing
	Islands   []*Island   // in the order of the files
	Traffic   []*Traffic  // likewise
	Baselines []*Baseline // in the order of the files
	// Suppressions are in the order of the files.
	Suppressions []*Suppression

	switches map[string]*Switch
	hosts    map[string]*Host
	roles    map[string]*Settings
	atHosts  qos.PrioritySet
}

// LosslessAtHosts are the priorities that are lossless on a port towards a host. Others
// carry between switches what they remap.
func (f *Fabric) LosslessAtHosts() qos.PrioritySet { return f.atHosts }

// Switch returns the switch of that name, or nil.
func (f *Fabric) Switch(name string) *Switch { return f.switches[name] }

// Layers returns the settings that those of a switch come from, outermost first:
// the fabric's, its role's where that states any, and its own.
func (f *Fabric) Layers(s *Switch) []*Settings {
	out := []*Settings{f.Settings}
	if r := f.roles[s.Role]; r != nil {
		out = append(out, r)
	}
	return append(out, s.Settings)
}

// Host returns the host of that name, or nil.
func (f *Fabric) Host(name string) *Host { return f.hosts[name] }

// Has reports whether a switch or host has that name.
func (f *Fabric) Has(name string) bool { return f.switches[name] != nil || f.hosts[name] != nil }

// Origin says where a value came from.
type Origin struct {
	Pos Pos
	// Rule is set instead of Pos for a value that no file states: "default",
	// or what computed it.
	Rule string
}

// String prints "fabric.yaml:5:12" or the rule.
func (o Origin) String() string {
	if o.Rule != "" {
		return o.Rule
	}
	return o.Pos.String()
}

// Value is a value and where it came from.
type Value[T any] struct {
	V    T
	From Origin
}

// IsDefault reports whether no file states the value.
func (v Value[T]) IsDefault() bool { return v.From.Rule != "" }

// Pos is a place in a file. Line and Column count from 1.
type Pos struct {
	File         string
	Line, Column int
}

// String prints "fabric.yaml:14:9".
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Settings are the effective settings of a fabric, a role, a device or a
// port. Ports without overrides of their own share their device's.
type Settings struct {
	Classes       []*Class // sorted by priority
	Watchdog      Watchdog
	PFCAsymmetric Value[bool]
	// LinkPause is what becomes of IEEE 802.3x pause on ports with a lossless
	// class.
	LinkPause Value[LinkPause]
	Trust     Value[qos.Trust]
	MTU       MTU
	Buffers   Buffers
	Keep      Keep
}

// Keep says what of a port stays as the switch has it: neither compared nor written.
type Keep struct {
	Bandwidth Value[bool] // the schedulers of its queues
	Buffers   Value[bool] // the profiles of its queues and groups, and its lists of them
	Queues    Value[bool] // its maps behind the traffic class and the PFC priority
	Watchdog  Value[bool]
	// CodePoints are those that no class names, on all devices of the fabric.
	CodePoints Value[bool]
}

// Globals says what becomes of settings that all ports of a switch share.
type Globals string

// The values of Globals.
const (
	GlobalsShared Globals = "shared" // they change where no port outside of the intent uses them
	GlobalsOwn    Globals = "own"    // the intent decides
	GlobalsKeep   Globals = "keep"   // those that no port of the intent needs stay
)

// Write is the way in for writes.
type Write string

// The values of Write.
const (
	WriteAuto   Write = "auto"   // as the driver finds best
	WriteDirect Write = "direct" // into the configuration database, over SSH
	WriteGNMI   Write = "gnmi"
)

// LinkPause says what becomes of IEEE 802.3x pause.
type LinkPause string

// The values of LinkPause.
const (
	LinkPauseOff  LinkPause = "off"
	LinkPauseKeep LinkPause = "keep" // it stays as the device has it
)

// LinkPauseOff reports whether link pause is to be off: it would pause the lossy
// classes as well.
func (s *Settings) LinkPauseOff() bool {
	return s.Lossless() != 0 && s.LinkPause.V == LinkPauseOff
}

// Class returns the class of that name, or nil.
func (s *Settings) Class(name string) *Class {
	for _, c := range s.Classes {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Lossless returns the priorities of the lossless classes.
func (s *Settings) Lossless() qos.PrioritySet {
	var p qos.PrioritySet
	for _, c := range s.Classes {
		if c.Lossless.V {
			p |= qos.Priorities(c.Priority.V)
		}
	}
	return p
}

// Class is one traffic class.
type Class struct {
	Name      string
	Pos       Pos
	Priority  Value[int]           // 0..7; also the traffic class
	Queue     Value[int]           // 0..7, the priority unless stated
	DSCP      Value[[]int]         // sorted; with Rest, the code points left over
	Rest      bool                 // dscp: rest
	PCP       Value[[]int]         // sorted; the priority unless stated
	Lossless  Value[bool]          //
	Mode      Value[string]        // [ModeLossless], [ModeLossy], or "" where it is not stated
	Strict    Value[bool]          //
	Bandwidth Value[units.Percent] // share of the weighted classes; 0 for strict ones
	MaxRate   Value[units.Rate]    // shaper; 0 for none
	ECN       ECN
}

// The modes of a class.
const (
	ModeLossless = "lossless"
	ModeLossy    = "lossy" // RDMA travels in it without PFC
)

// RDMA reports whether the intent says that RDMA travels in the class: it is
// lossless, or its mode is lossy.
func (c *Class) RDMA() bool { return c.Lossless.V || c.Mode.V == ModeLossy }

// ECN is a class's marking curve as the operator wrote it.
type ECN struct {
	Mode        Value[ECNMode]
	Min, Max    Value[qos.Threshold] // with ECNFixed
	Probability Value[units.Percent] // at Max, whole percent; also with ECNAuto
}

// ECNMode says how a class's thresholds come about.
type ECNMode int

// The ECN modes.
const (
	ECNOff   ECNMode = iota
	ECNFixed         // min and max are written
	ECNAuto          // computed from speed and buffer
	ECNKeep          // the switch keeps the curve that it has; not compared
)

// Watchdog is the PFC watchdog, on unless the intent says off.
type Watchdog struct {
	Enabled Value[bool]
	Detect  Value[time.Duration]
	Restore Value[time.Duration]
	Poll    Value[time.Duration]
	Action  Value[qos.WatchdogAction]
}

// MTU holds the sizes of the largest packets, in bytes.
type MTU struct {
	Fabric Value[int] // IP packet on switch ports, 68..9216
	Host   Value[int] // IP packet on host ports, at most Fabric
	RDMA   Value[int] // payload of an RDMA packet (the IB MTU): 256..4096, a power of two
}

// Buffers tune the buffer arithmetic.
type Buffers struct {
	// Alpha is the exponent n of a dynamic threshold 2^n for lossless groups,
	// -8..7 (sonic-buffer-profile.yang); nil keeps the platform's own.
	Alpha Value[*int]
	// MinLosslessPacket is the smallest packet that fills a lossless group at
	// line rate; it decides the loss to cell rounding. 64..9216 bytes,
	// [DefaultMinLosslessPacket] unless stated.
	MinLosslessPacket Value[units.Bytes]
	// OverSubscription is the ratio of all headroom to the headroom pool that
	// the operator accepts, 1..64; 0 where none is declared.
	OverSubscription Value[float64]
	// FanIn is how many ports send into one congested queue at the same time,
	// FanOut how many congested queues one port sends into, 1..4096; 0 where
	// none is declared.
	FanIn, FanOut Value[int]
	// PauseResponse is how long the switch itself takes to obey a pause; its
	// neighbours' headroom depends on it. The zero Response where the
	// standard's time is taken.
	PauseResponse Value[Response]
	// Headroom is the model that headroom is checked with: [HeadroomIEEE] or
	// [HeadroomSONiC].
	Headroom Value[string]
}

// The models of headroom, by the names that render/headroom has for them.
const (
	HeadroomIEEE  = "ieee-quanta"
	HeadroomSONiC = "sonic-dyn"
)

// Switch is one switch.
type Switch struct {
	Name    string
	Pos     Pos
	OS      string
	Role    string
	Address Value[string] // host:port of the management API; "" where not stated
	Model   Value[string] // hwsku; "" where not stated
	Release Value[string] // OS release; "" where not stated
	// Identity is nil where nothing of it is stated.
	Identity *Identity
	Dynamic  Value[*bool] // buffer model: nil takes the platform's usual one
	Globals  Value[Globals]
	Write    Value[Write]
	// Trimming and LoadBalancing are nil where they are not stated.
	Trimming      *Trimming
	LoadBalancing *LoadBalancing
	Settings      *Settings
	Access        Access
	Ports         []*Port          // every port that a link or the ports section names, in numeric order
	names         *portNames       // of Ports, where a range shares them
	index         map[string]int32 // where the port of a name stands in Ports, where not
	// Counts of ports that are not taken down, for [Switch.Carriers].
	carriers [qos.NumPriorities]struct{ hosts, uplinks int }
	leaf     bool
}

// Identity is what a device is known by, besides its address; "" where that is not stated.
type Identity struct {
	Serial, Model, Hostname Value[string]
	MAC                     Value[string] // as 52:54:00:12:34:56
}

// Carriers counts the ports that have a priority lossless and are not taken down:
// those towards hosts, or without a link, and those towards switches. leaf reports
// whether the switch has ports of the first kind at all.
func (s *Switch) Carriers(priority int) (hosts, uplinks int, leaf bool) {
	c := s.carriers[priority]
	return c.hosts, c.uplinks, s.leaf
}

// countCarriers is done once: whoever asks does so for each port.
func (s *Switch) countCarriers() {
	for _, p := range s.Ports {
		if p.AdminUp.V != nil && !*p.AdminUp.V {
			continue
		}
		s.leaf = s.leaf || !p.Uplink()
		lossless := p.Settings.Lossless()
		for priority := range s.carriers {
			switch c := &s.carriers[priority]; {
			case !lossless.Has(priority):
			case p.Uplink():
				c.uplinks++
			default:
				c.hosts++
			}
		}
	}
}

// Port is a managed port of a switch.
type Port struct {
	Name   string
	Pos    Pos
	Switch *Switch
	Link   *Link // nil for a port that only the ports section names
	*PortLine
	Settings *Settings
}

// PortLine is what a line of the intent states of its ports, which share it: it is not
// to be changed.
type PortLine struct {
	Speed    Value[units.Rate]
	Cable    Value[units.Length]
	FEC      Value[string] // "" leaves it alone
	AdminUp  Value[*bool]  // nil leaves it alone
	LAG      Value[string]
	Breakout Value[string]
}

// Peer returns the other end of the port's link; ok is false where there is
// no link.
func (p *Port) Peer() (e Endpoint, ok bool) {
	if p.Link == nil {
		return Endpoint{}, false
	}
	if p.Link.A.Device == p.Switch.Name && p.Link.A.Port == p.Name {
		return p.Link.B, true
	}
	return p.Link.A, true
}

// Uplink reports whether the port's link ends at another switch.
func (p *Port) Uplink() bool { return p.Link != nil && p.Link.switches }

// Host is one server.
type Host struct {
	Name    string
	Pos     Pos
	Address Value[string] // host:port of SSH, port 22 unless stated; "" where not stated
	// Identity is nil where nothing of it is stated.
	Identity *Identity
	NICs     []*NIC // sorted by name
	Bonds    []Bond // likewise
	VLANs    []VLAN // likewise
	// PauseResponse is how long its NICs take to obey a pause; the zero
	// Response where the standard's time is taken.
	PauseResponse Value[Response]
	Access        Access
}

// NIC returns the interface of that name, or nil.
func (h *Host) NIC(name string) *NIC {
	if i, found := slices.BinarySearchFunc(h.NICs, name, func(n *NIC, name string) int { return natural.Compare(n.Name, name) }); found {
		return h.NICs[i]
	}
	return nil
}

// NIC is one interface of a host.
type NIC struct {
	Host *Host
	Link *Link
	// DPU is the NIC on the other side of the card that owns the port, see [Fabric.Owner];
	// zero where this one does.
	DPU Value[Endpoint]
	*NICLine
}

// NICLine is what a line of the intent states of the NICs of that name, one of each host,
// which share it: it is not to be changed.
type NICLine struct {
	Name string
	Pos  Pos
	// Select chooses the NIC on its host; the zero Selector where Name is that of its
	// interface.
	Select Value[Selector]
	RDMA   Value[string] // RDMA device, "mlx5_0"
	// RXRing and TXRing are the descriptors of each ring, 16..65536; 0 where
	// the intent leaves them alone.
	RXRing, TXRing Value[int]
	// Buffers has lossless priorities received into buffers of their own, Willing
	// keeps a DCBX peer from overwriting settings, and StallPrevention shortens
	// how long the NIC pauses its link; false leaves them alone.
	Buffers, Willing, StallPrevention Value[bool]
	CardLine
	VFs VFs
	// SFs is how many scalable functions the NIC has; 0 leaves them alone.
	SFs Value[int]

	side side
}

// Bond is a bond over NICs of a host.
type Bond struct {
	Name    string
	Pos     Pos
	Members Value[[]string] // sorted
}

// VLAN is a VLAN over a NIC or a bond of a host.
type VLAN struct {
	Name string
	Pos  Pos
	On   Value[string]
	ID   Value[int] // 1..4094
}

// Link is one cable.
type Link struct {
	A, B Endpoint
	*LinkLine

	switches bool // both ends are switches
}

// LinkLine is what a line of the intent states of its links, which share it: it is not to
// be changed.
type LinkLine struct {
	Pos   Pos
	Cable Value[units.Length]
	Speed Value[units.Rate]
}

// Endpoint is one end of a link.
type Endpoint struct{ Device, Port string }

// String prints "leaf1/Ethernet0".
func (e Endpoint) String() string { return e.Device + "/" + e.Port }

// Access says how a device is reached. Secrets are references ("env:NAME",
// "file:PATH", "keyring:SERVICE/USER"), never values.
type Access struct {
	Username Value[string] // reference or plain name
	Password Value[string] // reference
	TLS      TLS
	SSH      SSH
}

// TLS says how the management API is trusted.
type TLS struct {
	CA         Value[string] // PEM file; "" uses the system's
	Cert, Key  Value[string] // client certificate, PEM files
	Pin        Value[string] // "sha256:<hex>" of the server's public key
	ServerName Value[string]
	Insecure   Value[bool] // accept any certificate; said loudly on every use
	Plaintext  Value[bool] // no TLS at all; loudly, and never with a password
}

// SSH says how a device is reached over SSH. It is configured when Address is
// not empty.
type SSH struct {
	Address    Value[string] // host:port
	Username   Value[string]
	Password   Value[string] // reference
	Key        Value[string] // private key file
	Agent      Value[bool]
	KnownHosts Value[string] // file; "" uses ~/.ssh/known_hosts
	Jump       Value[string] // user@host:port
}

// Configured reports whether SSH may be used.
func (s SSH) Configured() bool { return s.Address.V != "" }

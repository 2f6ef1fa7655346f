package intent

import (
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Fabric is a resolved intent: all ranges, patterns and overrides of the files are expanded, all
// defaults filled in, and every value knows its origin. [Load] creates it; nothing changes it
// afterwards.
type Fabric struct {
	Name string
	// Files lists the files read, in order, as the operator named them; [Stdin] for standard
	// input.
	Files []string
	// Hash is the hex SHA-256 of the files' content; for a single file it equals the output of
	// sha256sum. A saved plan is bound to it.
	Hash     string
	Switches []*Switch // sorted by name, numbers in numeric order
	Hosts    []*Host   // sorted likewise
	Links    []*Link   // in file order
	// Settings are the fabric-wide settings, before any override.
	Settings     *Settings
	Rollout      Rollout
	Routing      Routing
	VXLAN        *VXLAN      // nil if not stated
	Islands      []*Island   // in file order
	Traffic      []*Traffic  // in file order
	Baselines    []*Baseline // in file order
	Simulation   Simulation
	Suppressions []*Suppression // in file order

	switches map[string]*Switch
	hosts    map[string]*Host
	roles    map[string]*Settings
	atHosts  qos.PrioritySet
}

// LosslessAtHosts returns the priorities that are lossless on host-facing ports. Any other
// lossless priority only carries remapped traffic between switches.
func (f *Fabric) LosslessAtHosts() qos.PrioritySet { return f.atHosts }

// Switch returns the switch with this name, or nil.
func (f *Fabric) Switch(name string) *Switch { return f.switches[name] }

// Layers returns the settings that apply to a switch, outermost first: those of the fabric, of
// its role if it has any, and of the switch.
func (f *Fabric) Layers(s *Switch) []*Settings {
	out := []*Settings{f.Settings}
	if r := f.roles[s.Role]; r != nil {
		out = append(out, r)
	}
	return append(out, s.Settings)
}

// Host returns the host with this name, or nil.
func (f *Fabric) Host(name string) *Host { return f.hosts[name] }

// Has reports whether a switch or host has that name.
func (f *Fabric) Has(name string) bool { return f.switches[name] != nil || f.hosts[name] != nil }

// Origin says where a value came from.
type Origin struct {
	Pos Pos
	// Rule is set instead of Pos if no file states the value: "default", or the name of the
	// computation.
	Rule string
}

// String returns "fabric.yaml:5:12" or the rule.
func (o Origin) String() string {
	if o.Rule != "" {
		return o.Rule
	}
	return o.Pos.String()
}

// Value is a value and its origin.
type Value[T any] struct {
	V    T
	From Origin
}

// IsDefault reports whether the value is not stated in any file.
func (v Value[T]) IsDefault() bool { return v.From.Rule != "" }

// Pos is a place in a file. Line and Column count from 1.
type Pos struct {
	File         string
	Line, Column int
}

// String returns "fabric.yaml:14:9".
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Settings are the effective settings of a fabric, a role, a device or a port. Ports without
// overrides share the Settings of their device.
type Settings struct {
	Classes       []*Class // sorted by priority
	Watchdog      Watchdog
	PFCAsymmetric Value[bool]
	// LinkPause controls IEEE 802.3x pause on ports with a lossless class.
	LinkPause Value[LinkPause]
	Trust     Value[qos.Trust]
	MTU       MTU
	Buffers   Buffers
	Keep      Keep
}

// Keep lists the port settings that stay as they are on the switch: neither compared nor written.
type Keep struct {
	Bandwidth Value[bool] // queue schedulers
	Buffers   Value[bool] // buffer profiles of queues and priority groups, and the port's profile lists
	Queues    Value[bool] // maps from traffic class and PFC priority to queues and priority groups
	Watchdog  Value[bool]
	// CodePoints keeps the code points that no class names, on all devices of the fabric.
	CodePoints Value[bool]
}

// Globals controls the settings that all ports of a switch share.
type Globals string

// The values of Globals.
const (
	GlobalsShared Globals = "shared" // changed only if no port outside the intent uses them
	GlobalsOwn    Globals = "own"    // always set as the intent says
	GlobalsKeep   Globals = "keep"   // kept unless a port of the intent needs them
)

// Write selects how SONiC is written to.
type Write string

// The values of Write.
const (
	WriteAuto   Write = "auto"   // the driver chooses
	WriteDirect Write = "direct" // to CONFIG_DB over SSH
	WriteGNMI   Write = "gnmi"
)

// LinkPause controls IEEE 802.3x pause.
type LinkPause string

// The values of LinkPause.
const (
	LinkPauseOff  LinkPause = "off"
	LinkPauseKeep LinkPause = "keep" // stays as it is on the device
)

// LinkPauseOff reports whether link pause must be off, because it would pause the lossy classes
// as well.
func (s *Settings) LinkPauseOff() bool {
	return s.Lossless() != 0 && s.LinkPause.V == LinkPauseOff
}

// Class returns the class with this name, or nil.
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

// Class is a traffic class.
type Class struct {
	Name      string
	Pos       Pos
	Priority  Value[int]   // 0..7; also the traffic class
	Queue     Value[int]   // 0..7; defaults to the priority
	DSCP      Value[[]int] // sorted; with Rest, all code points that no other class names
	Rest      bool         // set by dscp: rest
	PCP       Value[[]int] // sorted; defaults to the priority
	HostDSCP  Value[int]   // with which hosts mark the class: one of DSCP, by default the lowest; -1 if there is none
	Lossless  Value[bool]
	Mode      Value[string] // [ModeLossless], [ModeLossy], or "" if not stated
	Strict    Value[bool]
	Bandwidth Value[units.Percent] // share among weighted classes; 0 for strict ones
	MaxRate   Value[units.Rate]    // shaper; 0 for none
	Alpha     Value[*int]          // as [Buffers.Alpha]: the class's own, or that of Buffers; nil for a lossy class
	ECN       ECN
}

// Values of [Class.Mode].
const (
	ModeLossless = "lossless"
	ModeLossy    = "lossy" // carries RDMA without PFC
)

// RDMA reports whether the class carries RDMA: it is lossless, or its mode is lossy.
func (c *Class) RDMA() bool { return c.Lossless.V || c.Mode.V == ModeLossy }

// Watchdog configures the PFC watchdog, which is on unless the intent turns it off.
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

// Buffers holds the parameters for computing buffer sizes.
type Buffers struct {
	// Alpha is the exponent n of the dynamic threshold 2^n for lossless groups, -8..7
	// (sonic-buffer-profile.yang); nil uses the platform's default.
	Alpha Value[*int]
	// MinLosslessPacket is the smallest packet that is expected to fill a lossless group at line
	// rate; it determines how much buffer is lost to cell rounding. 64..9216 bytes, default
	// [DefaultMinLosslessPacket].
	MinLosslessPacket Value[units.Bytes]
	// OverSubscription is the ratio of total headroom to the headroom pool that the operator
	// accepts, 1..64; 0 if not stated.
	OverSubscription Value[float64]
	// FanIn is the number of ports that send into one congested queue at the same time, FanOut
	// the number of congested queues that one port sends into. Both are 1..4096, or 0 if not
	// stated.
	FanIn, FanOut Value[int]
	// PauseResponse is how long this switch takes to obey a pause frame; the headroom of its
	// neighbors depends on it. The zero Response uses the time from the standard.
	PauseResponse Value[Response]
	// Headroom is the model that headroom is checked against: [HeadroomIEEE] or [HeadroomSONiC].
	Headroom Value[string]
}

// Headroom models, named as in render/headroom.
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
	Address Value[string] // host:port of the management API; "" if not stated
	Model   Value[string] // hwsku; "" if not stated
	Release Value[string] // OS release; "" if not stated
	// Identity is nil if not stated.
	Identity *Identity
	Dynamic  Value[*bool] // buffer model; nil uses the platform's usual one
	Globals  Value[Globals]
	Write    Value[Write]
	// Trimming and LoadBalancing are nil if not stated.
	Trimming      *Trimming
	LoadBalancing *LoadBalancing
	Settings      *Settings
	Access        Access
	Ports         []*Port          // all ports that a link or the ports section names, in numeric order
	names         *portNames       // the names in Ports if a range of switches shares them
	index         map[string]int32 // otherwise, the index in Ports of each name
	measured      []*Measurement
	// carriers and leaf are the results of [Switch.Carriers]; ports that are shut down do not
	// count.
	carriers [qos.NumPriorities]struct{ hosts, uplinks int }
	leaf     bool
}

// Identity is how a device is recognized besides its address; fields are "" if not stated.
type Identity struct {
	Serial, Model, Hostname Value[string]
	MAC                     Value[string] // such as 52:54:00:12:34:56
}

// Carriers counts the ports on which a priority is lossless and which are not shut down: hosts
// counts ports that face a host or have no link, uplinks those that face a switch. leaf reports
// whether the switch has any port of the first kind.
func (s *Switch) Carriers(priority int) (hosts, uplinks int, leaf bool) {
	c := s.carriers[priority]
	return c.hosts, c.uplinks, s.leaf
}

// countCarriers fills in carriers and leaf once, because [Switch.Carriers] is called for each
// port.
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
	Link   *Link // nil if only the ports section names the port
	*PortLine
	Settings *Settings
}

// PortLine holds the settings that one line of the intent states for its ports. The ports share
// it, so it must not be modified.
type PortLine struct {
	Speed    Value[units.Rate]
	Cable    Value[units.Length]
	FEC      Value[string] // "" leaves it unchanged
	AdminUp  Value[*bool]  // nil leaves it unchanged
	LAG      Value[string]
	Breakout Value[string]
}

// Peer returns the other end of the port's link; ok is false if the port has no link.
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
	Address Value[string] // host:port of SSH, default port 22; "" if not stated
	// Identity is nil if not stated.
	Identity *Identity
	NICs     []*NIC // sorted by name
	Bonds    []Bond // sorted by name
	VLANs    []VLAN // sorted by name
	// PauseResponse is how long the host's NICs take to obey a pause frame; the zero Response
	// uses the time from the standard.
	PauseResponse Value[Response]
	Access        Access
}

// NIC returns the interface with this name, or nil.
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
	// DPU is the NIC on the other side of the card, which owns the port (see [Fabric.Owner]);
	// zero if this NIC owns it.
	DPU Value[Endpoint]
	*NICLine
}

// NICLine holds the settings that one line of the intent states for the NICs of this name, one
// per host. The NICs share it, so it must not be modified.
type NICLine struct {
	Name string
	Pos  Pos
	// Select chooses the NIC on its host; the zero Selector is the interface of this Name.
	Select Value[Selector]
	RDMA   Value[string] // RDMA device, such as "mlx5_0"
	NoRDMA Value[bool]   // it sends no RDMA, and its switch port has no class for RDMA
	// RXRing and TXRing are the number of descriptors in each ring, 16..65536; 0 leaves them
	// unchanged.
	RXRing, TXRing Value[int]
	// Buffers gives lossless priorities receive buffers of their own, Willing keeps a DCBX peer
	// from overwriting settings, and StallPrevention shortens the time the NIC may pause its
	// link; false leaves them unchanged.
	Buffers, Willing, StallPrevention Value[bool]
	CardLine
	VFs VFs
	// SFs is the number of scalable functions; 0 leaves them unchanged.
	SFs Value[int]

	side side
}

// Bond is a bond of NICs of a host.
type Bond struct {
	Name    string
	Pos     Pos
	Members Value[[]string] // sorted
}

// VLAN is a VLAN on a NIC or bond of a host.
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

	switches bool // both ends are on switches
}

// LinkLine holds the settings that one line of the intent states for its links. The links share
// it, so it must not be modified.
type LinkLine struct {
	Pos   Pos
	Cable Value[units.Length]
	Speed Value[units.Rate]
}

// Access says how a device is reached. Secrets are references ("env:NAME",
// "file:PATH", "keyring:SERVICE/USER"), never values.
type Access struct {
	Username Value[string] // reference or plain name
	Password Value[string] // reference
	TLS      TLS
	SSH      SSH
}

// TLS says how the certificate of the management API is verified.
type TLS struct {
	CA         Value[string] // PEM file; "" uses the system's CA certificates
	Cert, Key  Value[string] // client certificate, PEM files
	Pin        Value[string] // "sha256:<hex>" of the server's public key
	ServerName Value[string]
	Insecure   Value[bool] // accept any certificate; every use prints a warning
	Plaintext  Value[bool] // no TLS; prints a warning, and is never used with a password
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

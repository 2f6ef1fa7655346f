package nic

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
)

// Layer says where a setting lives, and with that for how long.
type Layer string

// The layers. A [Change] that is no setting of a port has none.
const (
	LayerFirmware Layer = "firmware" // survives a reboot; in force after a reset of the card
	LayerDriver   Layer = "driver"   // lost at a reboot and when the driver is loaded again
	LayerRDMA     Layer = "rdma"     // lost with the RDMA device
)

// Owner is who runs DCBX and may change PFC, ETS and the APP table.
type Owner string

// The owners.
const (
	OwnerHost     Owner = "os"
	OwnerFirmware Owner = "firmware"
)

// ModeRoCEv2 is the RDMA-CM default mode as the kernel spells it
// (drivers/infiniband/core/cma_configfs.c).
const ModeRoCEv2 = "RoCE v2"

// RoCEPort is the UDP port of RoCE v2.
const RoCEPort = 4791

// Values of [Port.Agent].
const (
	// AgentICE is the private flag of ice that is on while its firmware runs LLDP and
	// DCBX (Linux, Documentation, intel/ice.rst).
	AgentICE = "fw-lldp-agent"
	// AgentManaged is the DCBX capability of a port whose firmware keeps its
	// settings (include/uapi/linux/dcbnl.h, DCB_CAP_DCBX_LLD_MANAGED).
	AgentManaged = "lld-managed"
)

// Values of [Port.StallPrevention].
const (
	StallAuto    = "auto"
	StallDefault = "default"
)

// NotInDriver is the reason in [Port.Missing] of a setting that the driver does
// not have at all, as the OFED files under the driver of the kernel. Every other
// reason says that a setting may be there and could not be read.
const NotInDriver = "not in this driver"

// NoCM is the reason in [Port.Missing] of a default of the RDMA connection manager
// that is not there before its module is loaded.
const NoCM = "the module rdma_cm is not loaded"

// Host is one server.
type Host struct {
	Name   string `json:"name"`
	Kernel string `json:"kernel,omitempty"` // release; running only
	// Hostname and Serial are what the machine says of itself; running only.
	Hostname string `json:"hostname,omitempty"`
	Serial   string `json:"serial,omitempty"`
	// Boot identifies the boot of the machine: another one has started again; running only.
	Boot string `json:"boot,omitempty"`
	// Ports by the name of the network interface. A port that a desired Host
	// does not list is left alone.
	Ports map[string]*Port `json:"ports"`
	// Uppers are the bonds, VLANs and bridges over the ports, by name.
	Uppers map[string]*Upper `json:"uppers,omitempty"`
	// Agents are the daemons that are active and write DCB settings by
	// themselves: "lldpad". lldpd does not and is not one.
	Agents []string `json:"agents,omitempty"`
	// Away are the RDMA devices without an interface in this network namespace: a
	// container may have it; running only.
	Away []string `json:"away,omitempty"`
	// GPUs are the accelerators; running only.
	GPUs []GPU `json:"gpus,omitempty"`
	// Unit is the unit that applies the settings at boot.
	Unit UnitState `json:"unit,omitzero"`
	// Writers are what else writes settings of the ports; running only.
	Writers []Writer `json:"writers,omitempty"`
	// Unchosen says of NICs with a selector why it chooses none; running only.
	Unchosen map[string]string `json:"unchosen,omitempty"`
	// Missing says why "unit", "agents", "uppers" or "writers" could not be read.
	Missing map[string]string `json:"missing,omitempty"`
}

// Manages reports whether the Host lists a port, or a device over ports.
func (h *Host) Manages(port string) bool { return h.Ports[port] != nil || h.Uppers[port] != nil }

// Devices are the names of the ports and of the devices over them, in natural order.
func (h *Host) Devices() []string {
	return append(natural.Keys(h.Ports), natural.Keys(h.Uppers)...)
}

// Raises reports whether a port that was taken down is brought up again: no step
// leaves the port of a host down.
func (h *Host) Raises(string) bool { return false }

// Selectors are those of the ports of a desired Host, by name.
func (h *Host) Selectors() map[string]intent.Selector {
	var out map[string]intent.Selector
	for name, p := range h.Ports {
		if p.Select.Set {
			if out == nil {
				out = map[string]intent.Selector{}
			}
			out[name] = p.Select.V
		}
	}
	return out
}

// Empty reports whether the Host lists no port.
func (h *Host) Empty() bool { return len(h.Ports) == 0 }

// UnitState is what is known of the boot unit.
type UnitState struct {
	Present bool `json:"present"`
	// Digest is the [Digest] of what the unit applies; "" for not known.
	Digest string `json:"digest,omitempty"`
	// Stale says what is wrong with a unit that is there and not whole: a file
	// that was edited or is missing, a program that is gone; running only.
	Stale string `json:"stale,omitempty"`
	// Masked names what keeps systemd or udev from starting the unit, Failed its services
	// whose last run failed; running only.
	Masked string `json:"masked,omitempty"`
	Failed string `json:"failed,omitempty"`
}

// Port is a network interface with its RDMA device.
type Port struct {
	// Owner is the device/port on the side of the card that owns the port, where that is
	// another system; desired only.
	Owner string `json:"owner,omitempty"`
	// Name is that of the interface; in a desired Port with a selector that of the intent,
	// by which it is listed in a Host either way.
	Name string `json:"name"`
	// Select chooses the interface on the host; desired only.
	Select   qos.Opt[intent.Selector] `json:"select,omitzero"`
	RDMA     string                   `json:"rdma,omitempty"`      // RDMA device: "mlx5_0"
	RDMAPort int                      `json:"rdma_port,omitempty"` // port of the RDMA device, from 1
	PCI      string                   `json:"pci,omitempty"`       // "0000:3b:00.0"
	Driver   string                   `json:"driver,omitempty"`    // kernel module: "mlx5_core"
	Vendor   string                   `json:"vendor,omitempty"`    // PCI vendor: "15b3"
	Device   string                   `json:"device,omitempty"`    // PCI device: "1021"
	Firmware string                   `json:"firmware,omitempty"`  // version
	// DriverVersion is what the driver says of itself; that of a driver of the
	// kernel is the kernel's release.
	DriverVersion string `json:"driver_version,omitempty"`
	// VF says that the function has no DCB operations: a VF, an SF, or a
	// function that a BlueField restricts.
	VF bool `json:"vf,omitempty"`

	Functions

	// The driver's.

	DCBX qos.Opt[Owner] `json:"dcbx,omitzero"`
	// Agent is what says that the firmware's own LLDP or DCBX agent is on:
	// [AgentICE], [AgentManaged]; running only.
	Agent string `json:"agent,omitempty"`
	// Rings are the descriptor rings.
	Rings qos.Opt[Rings]     `json:"rings,omitzero"`
	Trust qos.Opt[qos.Trust] `json:"trust,omitzero"`
	// DSCP is the priority of each DSCP: [qos.Unmapped] is one that is not
	// listed, [qos.Unmanaged] in a desired Port one that is left alone.
	DSCP qos.Opt[[qos.NumDSCP]int8] `json:"dscp,omitzero"`
	PFC  qos.Opt[qos.PrioritySet]   `json:"pfc,omitzero"`
	// PFCClasses is how many traffic classes the driver says may be lossless
	// at once (pfc_cap of IEEE 802.1Q); running only.
	PFCClasses qos.Opt[int] `json:"pfc_classes,omitzero"`
	// RoCEApp is the priority, 0..7, that the APP table gives the UDP port of
	// RoCE v2, [RoCEPort]; -1 where it lists none, or several. Only bnxt_en
	// has the entry; the others refuse it.
	RoCEApp qos.Opt[int] `json:"roce_app,omitzero"`
	// Cable is the length that the driver sizes its buffers for, in whole
	// metres, 1..999. Only mlx5 takes a length (en_dcbnl.c); to other drivers
	// the field of the netlink message means something else.
	Cable   qos.Opt[units.Length] `json:"cable,omitzero"`
	ETS     qos.Opt[ETS]          `json:"ets,omitzero"`
	Buffers qos.Opt[Buffers]      `json:"buffers,omitzero"`
	// BufferSpeed is the speed of the link that lossless buffers are sized for,
	// see [Port.BuffersFor]; desired only.
	BufferSpeed qos.Opt[units.Rate] `json:"buffer_speed,omitzero"`
	// Willing says that a DCBX peer may overwrite the settings.
	Willing qos.Opt[bool] `json:"willing,omitzero"`
	// LinkPause is 802.3x pause in either direction.
	LinkPause qos.Opt[bool] `json:"link_pause,omitzero"`
	MTU       qos.Opt[int]  `json:"mtu,omitzero"`     // bytes of the largest IP packet
	Carrier   qos.Opt[bool] `json:"carrier,omitzero"` // running only
	// Speed is what the link runs at; running only, not set where the kernel does not tell.
	Speed          qos.Opt[units.Rate] `json:"speed,omitzero"`
	CarrierChanges qos.Opt[uint64]     `json:"carrier_changes,omitzero"`
	// ECN are the priorities with congestion control on at both the
	// notification point and the reaction point: OFED sysfs has them one by
	// one, bnxt_re and ionic have all or none.
	ECN qos.Opt[qos.PrioritySet] `json:"ecn,omitzero"`
	// NotificationPoint and ReactionPoint are the priorities of each; running only, not
	// set where a driver shows both as one.
	NotificationPoint qos.Opt[qos.PrioritySet] `json:"notification_point,omitzero"`
	ReactionPoint     qos.Opt[qos.PrioritySet] `json:"reaction_point,omitzero"`
	// CNPDSCP (0..63) and CNPPriority (0..7) mark the congestion
	// notifications that the port sends (OFED sysfs, debugfs of mlx5 and
	// bnxt_re, configfs of Broadcom's own bnxt_re, nicctl).
	CNPDSCP     qos.Opt[int] `json:"cnp_dscp,omitzero"`
	CNPPriority qos.Opt[int] `json:"cnp_priority,omitzero"`
	// StallPrevention is how long the port may pause its link before it gives
	// up: [StallDefault] is 8 s, [StallAuto] 100 ms (OFED sysfs).
	StallPrevention qos.Opt[string] `json:"stall_prevention,omitzero"`
	// DCQCN are the parameters of the congestion control by the names of the driver's
	// debugfs ("rp_ai_rate"), or by nicctl's; in a desired Port those that are stated.
	DCQCN map[string]uint64 `json:"dcqcn,omitempty"`
	// MaxReadRequest is the largest read request on PCIe in bytes.
	MaxReadRequest qos.Opt[int] `json:"max_read_request,omitzero"`
	// RelaxedOrdering lets writes of the card on PCIe overtake each other; desired only.
	RelaxedOrdering qos.Opt[bool] `json:"relaxed_ordering,omitzero"`

	// The RDMA stack's.

	// ToS is the type of service, 0..255, of RDMA-CM connections that state
	// none: its DSCP is ToS>>2, and its ECN bits count where the card is not
	// known to set them by itself.
	ToS qos.Opt[int] `json:"tos,omitzero"`
	// TrafficClass is the same for all queue pairs, also those opened without
	// RDMA-CM (OFED sysfs); -1 where none is set.
	TrafficClass qos.Opt[int] `json:"traffic_class,omitzero"`
	// Mode is the RDMA-CM default mode: [ModeRoCEv2] or "IB/RoCE v1".
	Mode qos.Opt[string] `json:"mode,omitzero"`
	// ActiveMTU is the largest RDMA payload in bytes: it follows from MTU, never set.
	ActiveMTU qos.Opt[int] `json:"active_mtu,omitzero"`

	// Other requirements of RDMA, which are no settings; running only.

	Transport qos.Opt[Transport] `json:"transport,omitzero"`
	// RDMAState is that of the port of the RDMA device, in the kernel's words, such as
	// [RDMAActive] and "DOWN".
	RDMAState qos.Opt[string] `json:"rdma_state,omitzero"`
	GIDs      qos.Opt[GIDs]   `json:"gids,omitzero"`
	PCIe      qos.Opt[PCIe]   `json:"pcie,omitzero"`
	// FEC is the forward error correction that the link runs with: "rs", "fc" or "none".
	FEC qos.Opt[string] `json:"fec,omitzero"`
	// Received are the frames that came with errors since the driver was loaded.
	Received qos.Opt[Received] `json:"received,omitzero"`
	// Seat is where the card is on PCIe, not set where it is on none.
	Seat qos.Opt[Seat] `json:"seat,omitzero"`
	// Pairs are how programs mark what they send.
	Pairs qos.Opt[[]PairUse] `json:"queue_pairs,omitzero"`

	// The firmware's.

	// Card is what the tool calls the card: "ConnectX7"; running only.
	Card string `json:"card,omitempty"`
	// CardPort is the physical port of the card, from 1: the number at the end
	// of CNP_DSCP_P2. 0 for not known; running only.
	CardPort int `json:"card_port,omitempty"`
	// NV are the firmware settings, nil where they were not read; running only.
	NV map[string]NV `json:"nv,omitempty"`
	// Wanted are the firmware settings that the intent wants of an NVIDIA card.
	// The port of the card is known only at run time, so their Port is 0;
	// [Port.WantedNV] makes parameters of them. Desired only.
	Wanted qos.Opt[mlxconfig.Settings] `json:"wanted,omitzero"`

	// From is the intent's line or the rule behind each Field; desired only.
	From map[string]string `json:"from,omitempty"`
	// Missing says why something could not be read, by its Field;
	// [NotInDriver] where it is not there.
	Missing map[string]string `json:"missing,omitempty"`
	// Counters are what the port counted; nil where they were not read.
	Counters *Counters `json:"counters,omitempty"`
}

// Rings are the lengths of a port's descriptor rings, in descriptors
// (ETHTOOL_GRINGPARAM); 0 in a desired Port leaves that ring alone.
type Rings struct {
	RX int `json:"rx,omitempty"`
	TX int `json:"tx,omitempty"`
	// MaxRX and MaxTX are the most that the device takes; running only.
	MaxRX int `json:"max_rx,omitempty"`
	MaxTX int `json:"max_tx,omitempty"`
}

// TSA is how a traffic class is served.
type TSA string

// The transmission selection algorithms of IEEE 802.1Q that this tool meets.
const (
	TSAStrict TSA = "strict"
	TSAETS    TSA = "ets"
	TSAVendor TSA = "vendor" // what mlx5 has after the driver is loaded
	TSACBS    TSA = "cbs"
)

// ETS is how the traffic classes of a port share its link.
type ETS struct {
	TSA [qos.NumPriorities]TSA `json:"tsa"`
	// Bandwidth is the share of each traffic class in percent. It means
	// something for classes whose TSA is ets, and is 100 in sum over those.
	Bandwidth [qos.NumPriorities]int `json:"bandwidth"`
	// PriorityToTC is the traffic class, 0..7, of each priority.
	PriorityToTC [qos.NumPriorities]int8 `json:"priority_to_tc"`
	// Classes is how many traffic classes the port has; 0 for all eight. Of
	// the arrays by traffic class no more mean something.
	Classes int `json:"classes,omitempty"`
}

// Buffers is the division of a port's receive buffer.
type Buffers struct {
	// PriorityToBuffer is the buffer, 0..7, of each priority.
	PriorityToBuffer [qos.NumPriorities]int8 `json:"priority_to_buffer"`
	// Size is the size of each buffer in bytes.
	Size [qos.NumPriorities]int64 `json:"size"`
	// Total is the size of all in bytes, 0 for not known; running only.
	Total int64 `json:"total,omitempty"`
}

// NV is a firmware setting, as [mlxconfig.ParseValue] reads it; "" for not known.
type NV struct {
	Default string `json:"default,omitempty"`
	Current string `json:"current,omitempty"` // in force
	Next    string `json:"next,omitempty"`    // after a reset of the card
	// ReadOnly settings cannot be set from this host.
	ReadOnly bool `json:"read_only,omitempty"`
}

// Counters are what a port counted since its driver was loaded. A counter that
// a driver does not have is 0 in Priority and absent in Named.
type Counters struct {
	Priority [qos.NumPriorities]PriorityCounters `json:"priority"`
	// Pauses says that RxPause and TxPause in Priority were counted.
	Pauses bool `json:"pauses,omitempty"`
	// Durations, Bytes and Packets say the same of the times spent paused, and of
	// what was received and sent.
	Durations bool `json:"durations,omitempty"`
	Bytes     bool `json:"bytes,omitempty"`
	Packets   bool `json:"packets,omitempty"`
	// Named are further counters by the names that the driver gives them
	// ("rx_discards_phy") and those of the RDMA device ("np_cnp_sent").
	Named map[string]uint64 `json:"named,omitempty"`
}

// PriorityCounters are the counters of one priority (Linux,
// Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst).
// A received pause stopped this port; a sent one stopped the switch.
type PriorityCounters struct {
	RxBytes   uint64 `json:"rx_bytes"`
	TxBytes   uint64 `json:"tx_bytes"`
	RxPackets uint64 `json:"rx_packets"`
	TxPackets uint64 `json:"tx_packets"`
	RxPause   uint64 `json:"rx_pause"`
	TxPause   uint64 `json:"tx_pause"`
	// The times spent paused, in microseconds.
	RxPauseDuration uint64 `json:"rx_pause_duration_us"`
	TxPauseDuration uint64 `json:"tx_pause_duration_us"`
	RxDiscards      uint64 `json:"rx_discards"`
	RxBufDiscards   uint64 `json:"rx_buf_discards"`
}

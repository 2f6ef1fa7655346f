package nic

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
)

// Layer says where a setting lives, and therefore how long it lasts.
type Layer string

// The layers. A [Change] that is not a port setting has none.
const (
	LayerFirmware Layer = "firmware" // survives a reboot; takes effect after a reset of the card
	LayerDriver   Layer = "driver"   // lost at a reboot or when the driver is reloaded
	LayerRDMA     Layer = "rdma"     // lost with the RDMA device
)

// Owner says who runs DCBX and may change PFC, ETS and the APP table.
type Owner string

// The DCBX owners.
const (
	OwnerHost     Owner = "os"
	OwnerFirmware Owner = "firmware"
)

// ModeRoCEv2 is the default mode of RDMA-CM in the kernel's spelling
// (drivers/infiniband/core/cma_configfs.c).
const ModeRoCEv2 = "RoCE v2"

// RoCEPort is the UDP port of RoCE v2.
const RoCEPort = 4791

// Values of [Port.Agent].
const (
	// AgentICE is the private flag of ice that is on while its firmware runs LLDP and DCBX (Linux,
	// Documentation, intel/ice.rst).
	AgentICE = "fw-lldp-agent"
	// AgentManaged stands for the DCBX capability of a port whose settings are kept by the firmware
	// (include/uapi/linux/dcbnl.h, DCB_CAP_DCBX_LLD_MANAGED).
	AgentManaged = "lld-managed"
)

// Values of [Port.StallPrevention].
const (
	StallAuto    = "auto"
	StallDefault = "default"
)

// NotInDriver is the reason in [Port.Missing] for a setting that the driver does not have at all,
// such as a file of OFED with the kernel's own driver. Every other reason means that the setting
// may exist but could not be read.
const NotInDriver = "not in this driver"

// NoCM is the reason in [Port.Missing] for a default of RDMA-CM that does not exist until the
// rdma_cm module is loaded.
const NoCM = "the module rdma_cm is not loaded"

// Host is one server.
type Host struct {
	Name   string `json:"name"`
	Kernel string `json:"kernel,omitempty"` // kernel release; running only
	// Hostname and Serial are reported by the machine itself; running only.
	Hostname string `json:"hostname,omitempty"`
	Serial   string `json:"serial,omitempty"`
	// Boot identifies the current boot of the machine and changes at every boot; running only.
	Boot string `json:"boot,omitempty"`
	// Ports is keyed by the name of the network interface. A port that a desired Host does not list
	// is left alone.
	Ports map[string]*Port `json:"ports"`
	// Uppers are the bonds, VLANs and bridges over the ports, by name.
	Uppers map[string]*Upper `json:"uppers,omitempty"`
	// Agents are the active daemons that write DCB settings on their own, such as "lldpad". lldpd
	// does not write them and is not listed.
	Agents []string `json:"agents,omitempty"`
	// Away lists the RDMA devices that have no interface in this network namespace, for example
	// because a container has it; running only.
	Away []string `json:"away,omitempty"`
	// Elsewhere lists interfaces that the intent or one of these RDMA devices looks for and that
	// are in other network namespaces of the machine, as far as root can see; running only.
	Elsewhere []Elsewhere `json:"elsewhere,omitempty"`
	// GPUs are the host's accelerators; running only.
	GPUs []GPU `json:"gpus,omitempty"`
	// Unit describes the unit that applies the settings at boot.
	Unit UnitState `json:"unit,omitzero"`
	// Writers are the other programs and files that write port settings; running only.
	Writers []Writer `json:"writers,omitempty"`
	// Unchosen says, for each NIC whose selector chose no interface, why not; running only.
	Unchosen map[string]string `json:"unchosen,omitempty"`
	// Missing says why "unit", "agents", "uppers" or "writers" could not be read.
	Missing map[string]string `json:"missing,omitempty"`
}

// Elsewhere is the interface of a PCI device in another network namespace.
type Elsewhere struct {
	Interface string `json:"interface"`
	PCI       string `json:"pci"`
	RDMA      string `json:"rdma,omitempty"` // its RDMA device, if that has no interface here
	MTU       int    `json:"mtu,omitempty"`
	Up        bool   `json:"up,omitempty"`
	Owner     string `json:"owner"` // "pod UID", "container ID" or "process N (name)"
}

// Manages reports whether the Host lists the port or the device over ports.
func (h *Host) Manages(port string) bool { return h.Ports[port] != nil || h.Uppers[port] != nil }

// Devices returns the names of the ports and of the devices over them, each in natural order.
func (h *Host) Devices() []string {
	return append(natural.Keys(h.Ports), natural.Keys(h.Uppers)...)
}

// Raises reports whether a port that was taken down is brought up again; false, because no step
// leaves the port of a host down.
func (h *Host) Raises(string) bool { return false }

// Selectors returns the selectors of a desired Host's ports, by port name.
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

// UnitState describes the boot unit as far as it is known.
type UnitState struct {
	Present bool `json:"present"`
	// Digest is the [Digest] of the settings that the unit applies; "" if not known.
	Digest string `json:"digest,omitempty"`
	// Stale says what is wrong with an incomplete unit: a file that was edited or is missing, or a
	// program that is gone; running only.
	Stale string `json:"stale,omitempty"`
	// Masked names what keeps systemd or udev from starting the unit. Failed names the unit's
	// services whose last run failed; running only.
	Masked string `json:"masked,omitempty"`
	Failed string `json:"failed,omitempty"`
}

// Port is a network interface with its RDMA device.
type Port struct {
	// Owner is the device/port, on another side of the card, that owns this port; "" if this system
	// owns it; desired only.
	Owner string `json:"owner,omitempty"`
	// Name is the name of the interface. In a desired Port with a selector it is the NIC's name in
	// the intent, which is also the port's key in every Host.
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
	// DriverVersion is the version that the driver reports; for a driver of the kernel it is the
	// kernel release.
	DriverVersion string `json:"driver_version,omitempty"`
	// VF reports whether the function has no DCB operations: a VF, an SF, or a function restricted
	// by a BlueField.
	VF bool `json:"vf,omitempty"`

	Functions

	// Settings of the driver.

	DCBX qos.Opt[Owner] `json:"dcbx,omitzero"`
	// Agent says how the firmware's own LLDP or DCBX agent was found to be on: [AgentICE] or
	// [AgentManaged]; "" if it is not; running only.
	Agent string `json:"agent,omitempty"`
	// Rings are the lengths of the descriptor rings.
	Rings qos.Opt[Rings]     `json:"rings,omitzero"`
	Trust qos.Opt[qos.Trust] `json:"trust,omitzero"`
	// DSCP holds the priority of each DSCP. [qos.Unmapped] marks a DSCP without an entry; in a
	// desired Port, [qos.Unmanaged] marks one that is left alone.
	DSCP qos.Opt[[qos.NumDSCP]int8] `json:"dscp,omitzero"`
	PFC  qos.Opt[qos.PrioritySet]   `json:"pfc,omitzero"`
	// PFCClasses is how many traffic classes may be lossless at once according to the driver
	// (pfc_cap of IEEE 802.1Q); running only.
	PFCClasses qos.Opt[int] `json:"pfc_classes,omitzero"`
	// RoCEApp is the priority, 0..7, that the APP table assigns to the RoCE v2 UDP port,
	// [RoCEPort]; -1 if it lists none or several. Only bnxt_en supports the entry; other drivers
	// reject it.
	RoCEApp qos.Opt[int] `json:"roce_app,omitzero"`
	// Cable is the cable length that the driver sizes its buffers for, in whole metres, 1..999.
	// Only mlx5 accepts a length (en_dcbnl.c); other drivers use the same netlink field for
	// something else.
	Cable   qos.Opt[units.Length] `json:"cable,omitzero"`
	ETS     qos.Opt[ETS]          `json:"ets,omitzero"`
	Buffers qos.Opt[Buffers]      `json:"buffers,omitzero"`
	// BufferSpeed is the link speed for which lossless buffers are sized, see [Port.BuffersFor];
	// desired only.
	BufferSpeed qos.Opt[units.Rate] `json:"buffer_speed,omitzero"`
	// Willing reports whether a DCBX peer may overwrite the settings.
	Willing qos.Opt[bool] `json:"willing,omitzero"`
	// LinkPause reports whether 802.3x pause is on in either direction.
	LinkPause qos.Opt[bool] `json:"link_pause,omitzero"`
	MTU       qos.Opt[int]  `json:"mtu,omitzero"`     // bytes of the largest IP packet
	Carrier   qos.Opt[bool] `json:"carrier,omitzero"` // running only
	// Speed is the current link speed; running only, unset if the kernel does not report it.
	Speed          qos.Opt[units.Rate] `json:"speed,omitzero"`
	CarrierChanges qos.Opt[uint64]     `json:"carrier_changes,omitzero"`
	// ECN is the set of priorities with congestion control on at both the notification point and
	// the reaction point. OFED sysfs has a switch per priority; bnxt_re and ionic switch all
	// priorities together.
	ECN qos.Opt[qos.PrioritySet] `json:"ecn,omitzero"`
	// NotificationPoint and ReactionPoint are the priorities on for each; running only, unset if
	// the driver reports both as one.
	NotificationPoint qos.Opt[qos.PrioritySet] `json:"notification_point,omitzero"`
	ReactionPoint     qos.Opt[qos.PrioritySet] `json:"reaction_point,omitzero"`
	// CNPDSCP (0..63) and CNPPriority (0..7) mark the congestion notifications that the port sends.
	// They are kept in OFED sysfs, the debugfs of mlx5 and bnxt_re, the configfs of Broadcom's own
	// bnxt_re, or nicctl.
	CNPDSCP     qos.Opt[int] `json:"cnp_dscp,omitzero"`
	CNPPriority qos.Opt[int] `json:"cnp_priority,omitzero"`
	// StallPrevention is how long the port may pause its link before it gives up: 8 s for
	// [StallDefault], 100 ms for [StallAuto] (OFED sysfs).
	StallPrevention qos.Opt[string] `json:"stall_prevention,omitzero"`
	// DCQCN holds the congestion control parameters by their names in the driver's debugfs
	// ("rp_ai_rate") or in nicctl; in a desired Port, only those that the intent states.
	DCQCN map[string]uint64 `json:"dcqcn,omitempty"`
	// MaxReadRequest is the maximum PCIe read request size in bytes.
	MaxReadRequest qos.Opt[int] `json:"max_read_request,omitzero"`
	// RelaxedOrdering allows the card's PCIe writes to overtake each other; desired only.
	RelaxedOrdering qos.Opt[bool] `json:"relaxed_ordering,omitzero"`

	// Settings of the RDMA stack.

	// ToS is the type of service, 0..255, of RDMA-CM connections that set none. Its DSCP is ToS>>2;
	// its ECN bits matter unless the card is known to set them itself.
	ToS qos.Opt[int] `json:"tos,omitzero"`
	// TrafficClass applies to all queue pairs, including those opened without RDMA-CM (OFED sysfs);
	// -1 if none is set.
	TrafficClass qos.Opt[int] `json:"traffic_class,omitzero"`
	// Mode is the RDMA-CM default mode: [ModeRoCEv2] or "IB/RoCE v1".
	Mode qos.Opt[string] `json:"mode,omitzero"`
	// ActiveMTU is the largest RDMA payload in bytes. It follows from MTU and is never set.
	ActiveMTU qos.Opt[int] `json:"active_mtu,omitzero"`

	// Other requirements of RDMA that are not settings; running only.

	Transport qos.Opt[Transport] `json:"transport,omitzero"`
	// RDMAState is the state of the RDMA device's port as the kernel prints it, such as
	// [RDMAActive] or "DOWN".
	RDMAState qos.Opt[string] `json:"rdma_state,omitzero"`
	GIDs      qos.Opt[GIDs]   `json:"gids,omitzero"`
	// Reach says where routes lead through the port; set if it has an address in GIDs.
	Reach qos.Opt[Reach] `json:"reach,omitzero"`
	PCIe  qos.Opt[PCIe]  `json:"pcie,omitzero"`
	// FEC is the forward error correction in use on the link: "rs", "fc" or "none".
	FEC qos.Opt[string] `json:"fec,omitzero"`
	// Received counts the frames received with errors since the driver was loaded.
	Received qos.Opt[Received] `json:"received,omitzero"`
	// Seat is the card's location in the PCIe topology; unset if the card is not on PCIe.
	Seat qos.Opt[Seat] `json:"seat,omitzero"`
	// Pairs says how programs send RDMA traffic. SharedPorts lists peers to which all of a
	// program's queue pairs send from one UDP port.
	Pairs       qos.Opt[[]PairUse] `json:"queue_pairs,omitzero"`
	SharedPorts []SharedPort       `json:"shared_udp_ports,omitempty"`

	// Settings of the firmware.

	// Card is the card's type as reported by the firmware tool: "ConnectX7"; running only.
	Card string `json:"card,omitempty"`
	// CardPort is the physical port of the card, from 1, which is the number at the end of
	// CNP_DSCP_P2; 0 if not known; running only.
	CardPort int `json:"card_port,omitempty"`
	// NV holds the firmware settings; nil if they were not read; running only.
	NV map[string]NV `json:"nv,omitempty"`
	// Wanted holds the firmware settings that the intent requires of an NVIDIA card; desired only.
	// Their Port is 0, because the card's port is known only at run time; [Port.WantedNV] turns
	// them into parameters.
	Wanted qos.Opt[mlxconfig.Settings] `json:"wanted,omitzero"`

	// From is the line of the intent, or the rule, behind each Field; desired only.
	From map[string]string `json:"from,omitempty"`
	// Missing says, by Field, why a value could not be read; [NotInDriver] if the driver does not
	// have it.
	Missing map[string]string `json:"missing,omitempty"`
	// Counters holds the port's counters; nil if they were not read.
	Counters *Counters `json:"counters,omitempty"`
}

// Rings are the lengths of a port's descriptor rings, in descriptors (ETHTOOL_GRINGPARAM). In a
// desired Port, 0 leaves that ring alone.
type Rings struct {
	RX int `json:"rx,omitempty"`
	TX int `json:"tx,omitempty"`
	// MaxRX and MaxTX are the largest lengths that the device accepts; running only.
	MaxRX int `json:"max_rx,omitempty"`
	MaxTX int `json:"max_tx,omitempty"`
}

// TSA is the transmission selection algorithm of a traffic class.
type TSA string

// The transmission selection algorithms of IEEE 802.1Q that this tool encounters.
const (
	TSAStrict TSA = "strict"
	TSAETS    TSA = "ets"
	TSAVendor TSA = "vendor" // mlx5's value after the driver is loaded
	TSACBS    TSA = "cbs"
)

// ETS describes how the traffic classes of a port share its link.
type ETS struct {
	TSA [qos.NumPriorities]TSA `json:"tsa"`
	// Bandwidth is the share of each traffic class in percent. It applies only to classes whose TSA
	// is ets, and adds up to 100 over those.
	Bandwidth [qos.NumPriorities]int `json:"bandwidth"`
	// PriorityToTC maps each priority to a traffic class, 0..7.
	PriorityToTC [qos.NumPriorities]int8 `json:"priority_to_tc"`
	// Classes is how many traffic classes the port has; 0 for all eight. Array entries of higher
	// traffic classes are meaningless.
	Classes int `json:"classes,omitempty"`
}

// Buffers describes how a port's receive buffer is divided.
type Buffers struct {
	// PriorityToBuffer maps each priority to a buffer, 0..7.
	PriorityToBuffer [qos.NumPriorities]int8 `json:"priority_to_buffer"`
	// Size is the size of each buffer in bytes.
	Size [qos.NumPriorities]int64 `json:"size"`
	// Total is the size of the whole receive buffer in bytes; 0 if not known; running only.
	Total int64 `json:"total,omitempty"`
}

// NV is a firmware setting, as [mlxconfig.ParseValue] reads it; "" if not known.
type NV struct {
	Default string `json:"default,omitempty"`
	Current string `json:"current,omitempty"` // in force
	Next    string `json:"next,omitempty"`    // after a reset of the card
	// ReadOnly reports whether the setting cannot be changed from this host.
	ReadOnly bool `json:"read_only,omitempty"`
}

// Counters holds what a port has counted since its driver was loaded. A counter that a driver does
// not have is 0 in Priority and absent from Named.
type Counters struct {
	Priority [qos.NumPriorities]PriorityCounters `json:"priority"`
	// Pauses reports whether RxPause and TxPause in Priority were counted.
	Pauses bool `json:"pauses,omitempty"`
	// Durations, Bytes and Packets report the same for the pause durations and for the bytes and
	// packets received and sent.
	Durations bool `json:"durations,omitempty"`
	Bytes     bool `json:"bytes,omitempty"`
	Packets   bool `json:"packets,omitempty"`
	// Named holds further counters, by the driver's names ("rx_discards_phy") and the RDMA device's
	// names ("np_cnp_sent").
	Named map[string]uint64 `json:"named,omitempty"`
}

// PriorityCounters holds the counters of one priority (Linux,
// Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst). A received pause
// stopped this port; a sent pause stopped the switch.
type PriorityCounters struct {
	RxBytes   uint64 `json:"rx_bytes"`
	TxBytes   uint64 `json:"tx_bytes"`
	RxPackets uint64 `json:"rx_packets"`
	TxPackets uint64 `json:"tx_packets"`
	RxPause   uint64 `json:"rx_pause"`
	TxPause   uint64 `json:"tx_pause"`
	// Pause durations, in microseconds.
	RxPauseDuration uint64 `json:"rx_pause_duration_us"`
	TxPauseDuration uint64 `json:"tx_pause_duration_us"`
	RxDiscards      uint64 `json:"rx_discards"`
	RxBufDiscards   uint64 `json:"rx_buf_discards"`
}

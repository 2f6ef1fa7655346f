// Package catalog holds published data about ASICs and switch models: cell sizes, buffer pools and
// profiles, headroom rows, port layouts, each with its source.
//
// A model that is not in the catalogue is not an error: the tool then does without the data, and
// says so. Do not add a number that no source states.
//
// A model file is parsed when that model is first requested, and only that file. Callers share the
// returned values and must not change them.
package catalog

import "github.com/roce-fabric/roce-fabric/internal/units"

// ASIC is one chip family.
type ASIC struct {
	ID     string `json:"id"`     // "th3"
	Name   string `json:"name"`   // "Broadcom Tomahawk3"
	Vendor string `json:"vendor"` // "broadcom", "nvidia", "marvell", "barefoot", "vs"
	// CellBytes is the unit of buffer memory; 0 if no source states it.
	CellBytes int64 `json:"cell_bytes,omitempty"`
	// BufferBytes is the usable packet memory; 0 if no source states it.
	BufferBytes int64 `json:"buffer_bytes,omitempty"`
	// Slices is the number of memories that the chip is made of. A group takes from one of them, and
	// each has an equal part of every pool. 0 if no source states it, and no measurement shows it.
	Slices int `json:"slices,omitempty"`
	// Thresholds says how Slices and the formula of pause thresholds are known.
	Thresholds Basis `json:"thresholds,omitempty"`
	// ReservedQueues is how many lossy queues of a port the SAI takes from the ingress pool, each
	// with the size of its profile. Derived from measured thresholds.
	ReservedQueues int `json:"reserved_queues,omitempty"`
	// PoolContains is set if the size of a pool contains its xoff on all switches with the chip, which
	// their templates do not show.
	PoolContains bool `json:"pool_contains,omitempty"`
	// PortAlpha is set if the chip limits what all groups of a port take from a pool together.
	PortAlpha bool `json:"port_alpha,omitempty"`
	// QueueDepth limits a queue that waits for its output, in bytes; 0 if there is no such limit. A
	// group pauses before its packets reach it (Cisco Silicon One Q200 and G100).
	QueueDepth int64 `json:"queue_depth,omitempty"`
	// ThresholdBits is how many significant bits the chip stores of a threshold in cells; 0 if it
	// stores all.
	ThresholdBits int `json:"threshold_bits,omitempty"`
	// HeadroomLost is how many cells of its own headroom a lossless group cannot fill: the chip drops
	// packets before. It is 0 if no source states it.
	HeadroomLost int64 `json:"headroom_lost,omitempty"`
	// Uneven is set if ports of some speed fill two units of the memory, not always equally.
	Uneven *Uneven `json:"uneven,omitempty"`
	// Descriptor is what each packet takes beside its own bytes before it is rounded up to cells, in
	// bytes.
	Descriptor int64 `json:"descriptor,omitempty"`
	// SlowPeer is set if switches with this chip are known to obey a pause late.
	SlowPeer *SlowPeer `json:"slow_peer,omitempty"`
	// External is set if packets are buffered in memory outside of the chip, whose pools and
	// headroom have different sizes.
	External bool `json:"external_memory,omitempty"`
	// DynamicBuffers is set if SONiC computes headroom on this family by default (its dynamic
	// buffer model).
	DynamicBuffers bool `json:"dynamic_buffers,omitempty"`
	// PFCToGroupMap is set if the SAI needs PFC_PRIORITY_TO_PRIORITY_GROUP_MAP.
	PFCToGroupMap bool `json:"pfc_to_group_map,omitempty"`
	// The constants of SONiC's dynamic headroom model (STATE_DB ASIC_TABLE and
	// cfgmgr/buffer_headroom_mellanox.lua); PipelineKiB is 0 if none are published for the family.
	PipelineKiB       float64 `json:"pipeline_kib,omitempty"`
	MACPHYKiB         float64 `json:"mac_phy_kib,omitempty"`
	PeerKiB           float64 `json:"peer_kib,omitempty"`          // for speeds without pause quanta
	TileNS            float64 `json:"tile_ns,omitempty"`           // Spectrum-4 and -5: 120
	XOFFExtra         int64   `json:"xoff_extra,omitempty"`        // bytes; Spectrum-6: 18432
	PortMaxSHPCells   int64   `json:"port_max_shp,omitempty"`      // limit of one port in the shared headroom pool, cells
	PortReservedCells int64   `json:"port_reserved_shp,omitempty"` // cells
	// ModificationPool is the memory that SONiC reserves for modification descriptors, in bytes; 0
	// if it reserves none (cfgmgr/buffer_pool_mellanox.lua).
	ModificationPool int64  `json:"modification_pool,omitempty"`
	Source           string `json:"source"`
}

// Uneven is what ports of a speed lose if two units of the memory do not fill equally, in cells.
type Uneven struct {
	Speed    units.Rate `json:"speed"`    // bits per second
	Headroom int64      `json:"headroom"` // that a group cannot fill beside HeadroomLost
	Resume   int64      `json:"resume"`   // by which a pause may end later
}

// SlowPeer is what a neighbour of a switch was found to need as headroom.
type SlowPeer struct {
	Speed  units.Rate `json:"speed"` // bits per second
	XOFF   int64      `json:"xoff"`  // bytes
	Source string     `json:"source"`
}

// Vendors of chips.
const (
	NVIDIA = "nvidia" // Spectrum
	Cisco  = "cisco"  // Silicon One; under NX-OS also Cloud Scale
)

// Basis says what a number rests on.
type Basis string

// The bases of pause thresholds.
const (
	Measured Basis = "measured"                 // SONiC's QoS tests state thresholds of switches with the chip, and the formula agrees
	Vendors  Basis = "vendor"                   // the vendor's own QoS test uses the formula
	Derived  Basis = "derived"                  // concluded from a buffer template
	OnSwitch Basis = "on a switch of the model" // the operator measured it
	Assumed  Basis = ""                         // nothing is known of the memory; it is taken as one
)

// Model is one switch model (SONiC: HWSKU).
type Model struct {
	// System is the name of the operating system.
	System   string `json:"-"`
	Name     string `json:"name"`     // "DellEMC-Z9332f-O32"
	Platform string `json:"platform"` // "x86_64-dellemc_z9332f_d1508-r0"
	Vendor   string `json:"vendor"`   // vendor of the switch
	ASICID   string `json:"asic"`     // ASIC.ID
	// ASICFrom names the published file that states the chip.
	ASICFrom string `json:"asic_from,omitempty"`
	// GCU is the chip name under which SONiC's generic config updater knows this hwsku ("th5",
	// "spc3"), "" if its lists do not contain it: the updater then treats the chip as "unknown" and
	// rejects changes to PFC_WD and BUFFER_PROFILE. GCUSince is the oldest release branch whose
	// head knows the hwsku; an image built earlier from that branch may not. Source:
	// sonic-utilities generic_config_updater/gcu_field_operation_validators.conf.json and
	// field_operation_validators.py, branches 202205 to 202605 and master 691b1bbc4fd2 (202211 has
	// no such file).
	GCU      string `json:"gcu,omitempty"`
	GCUSince string `json:"gcu_since,omitempty"` // "202411"
	// Note is a caveat for readers of this model's numbers.
	Note string `json:"note,omitempty"`
	// Ports are in panel order; nil if no source was read.
	Ports []Port `json:"ports,omitempty"`
	// Template names the source of Pools and Profiles, a buffer template of the model: "t1" (leaf),
	// "t2" (spine).
	Template string `json:"template,omitempty"`
	// Pools and Profiles are the model's own buffer template; nil if no source was read.
	Pools    []Pool    `json:"pools,omitempty"`
	Profiles []Profile `json:"profiles,omitempty"`
	// Bindings names the profiles that the template binds.
	Bindings Bindings `json:"bindings,omitzero"`
	// Headroom holds the published rows by speed and cable (pg_profile_lookup.ini).
	Headroom []HeadroomRow `json:"headroom,omitempty"`
	Sources  []string      `json:"sources"`

	asic  *ASIC
	ports map[string]Port
	// speeds counts the ports of each speed.
	speeds map[units.Rate]int
	twice  string
}

// SharedLane describes two ports that use the same lane in the published layout: "lane 249 is used
// by Ethernet31 and Ethernet33"; "" if each lane has one port.
func (m *Model) SharedLane() string { return m.twice }

// ASIC returns the model's chip; it is never nil for a model of the catalogue.
func (m *Model) ASIC() *ASIC { return m.asic }

// Port is one port of a model's default layout.
type Port struct {
	Name  string     `json:"name"`
	Alias string     `json:"alias"`
	Index int        `json:"index"`
	Lanes string     `json:"lanes"` // "33,34,35,36"; "" if no source states them
	Speed units.Rate `json:"speed"` // bits per second; 0 if the layout states none
}

// Pool is a buffer pool of the template; sizes are in bytes.
type Pool struct {
	Name string `json:"name"`
	Type string `json:"type"` // "ingress", "egress", "both"
	Mode string `json:"mode"` // "static", "dynamic"
	Size int64  `json:"size,omitempty"`
	XOFF int64  `json:"xoff,omitempty"`
	// Computed is set if the template omits Size under the dynamic buffer model, because the device
	// computes it; Size is then the value of the traditional model.
	Computed bool `json:"computed,omitempty"`
}

// Profile is a buffer profile of the template; sizes are in bytes.
type Profile struct {
	Name      string `json:"name"`
	Pool      string `json:"pool"`
	Size      int64  `json:"size"`
	StaticTh  *int64 `json:"static_th,omitempty"`
	DynamicTh *int64 `json:"dynamic_th,omitempty"`
	XON       *int64 `json:"xon,omitempty"`
	XOFF      *int64 `json:"xoff,omitempty"`
	XONOffset *int64 `json:"xon_offset,omitempty"`
}

// Bindings holds the names of the profiles that ports of this model use; "" if the template binds
// none, or not the same one for all queues.
type Bindings struct {
	LossyGroup    string `json:"lossy_group"`    // BUFFER_PG of lossy traffic
	LossyQueue    string `json:"lossy_queue"`    // BUFFER_QUEUE of lossy queues
	LosslessQueue string `json:"lossless_queue"` // BUFFER_QUEUE of lossless queues
	// LosslessGroup is the profile that the template itself binds to lossless groups; "" if SONiC
	// derives one from the headroom table.
	LosslessGroup string   `json:"lossless_group,omitempty"`
	IngressList   []string `json:"ingress_list,omitempty"`
	EgressList    []string `json:"egress_list,omitempty"`
}

// HeadroomRow is one published row. Sizes are in bytes; Threshold is the alpha exponent of a
// dynamic pool.
type HeadroomRow struct {
	Speed     units.Rate   `json:"speed"`
	Cable     units.Length `json:"cable"`
	Size      int64        `json:"size"`
	XON       int64        `json:"xon"`
	XOFF      int64        `json:"xoff"`
	Threshold int64        `json:"threshold"`
	XONOffset *int64       `json:"xon_offset,omitempty"`
	Source    string       `json:"source"`
}

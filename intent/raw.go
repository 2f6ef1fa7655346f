package intent

import (
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// The raw types define the format of the file. They are the only table from which the strict
// decoder and the JSON Schema are derived. Tags:
//
//	key    the name in the file
//	doc    the description
//	req    must be present
//	enum   the words allowed
//	min    the smallest number allowed, inclusive; max the largest
//	rule   the syntax of a text, a name in textRules
//	keys   the syntax of the keys of a map, a name in textRules
//	words  the words allowed instead of a map or list
//	secret the value is never printed
//	loose  a text that may look like a number
type rawFabric struct {
	APIVersion opt[string]         `key:"apiVersion" req:"true" enum:"roce-fabric/v1" doc:"Version of the format. Every file states it."`
	Kind       opt[string]         `key:"kind" req:"true" enum:"Fabric" doc:"Kind of document. Every file states it."`
	Name       opt[string]         `key:"name" rule:"name" doc:"Name of the fabric."`
	Classes    rawMap[rawClass]    `key:"classes" keys:"class" doc:"Traffic classes by name."`
	Roles      rawMap[rawRole]     `key:"roles" keys:"name" doc:"Settings that the switches of a role share."`
	Switches   rawMap[rawSwitch]   `key:"switches" keys:"devices" doc:"Switches by name. A name may hold ranges: leaf[1-32]."`
	Hosts      rawMap[rawHost]     `key:"hosts" keys:"devices" doc:"Servers by name. A name may hold ranges: gpu[1-64]."`
	Links      list[rawLink]       `key:"links" doc:"Cables; an entry may stand for many."`
	Logins     *rawCredentials     `key:"credentials" doc:"How devices are reached, by default."`
	Rollout    *rawRollout         `key:"rollout" doc:"Policy of an apply."`
	Routing    *rawRouting         `key:"routing" doc:"Paths that traffic takes, for the search for PFC deadlocks."`
	VXLAN      *rawVXLAN           `key:"vxlan" doc:"Tunnels in which the packets of hosts cross the fabric. It configures nothing; checks count the headers of the tunnels, and look at what their ends do with marks."`
	Traffic    rawMap[rawTraffic]  `key:"traffic" keys:"name" doc:"What hosts send, by name: DSCPs that NICs, libraries and storage use. It configures nothing; the classes are compared with it."`
	Baseline   rawMap[rawBaseline] `key:"baseline" keys:"card" doc:"Versions that NICs should run, by card: ConnectX-7, Thor2, a vendor (nvidia, broadcom, intel, amd), or PCI numbers (\"15b3:1021\"). The most specific one counts. NIC-19 compares them; nothing is installed."`
	Islands    rawMap[rawIsland]   `key:"islands" keys:"name" doc:"Groups of hosts whose lossless traffic shares no port with that of others."`
	Measured   list[rawMeasured]   `key:"measured" doc:"What was measured on switches. Checks prefer it to tables and formulas."`
	Simulation *rawSimulation      `key:"simulation" doc:"What the command simulate must predict; it ends with status 3 where it does not. It configures nothing."`
	Suppress   list[rawSuppress]   `key:"suppress" doc:"Findings that are accepted. Reports still show them, with the reason."`
	rawGlobals
	rawCommon
}

// rawGlobals holds settings that a fabric, a role or a switch may state; the innermost wins.
type rawGlobals struct {
	Globals opt[string] `key:"globals" enum:"own,shared,keep" doc:"Settings of a switch that all of its ports share. shared: one is changed only where each port that is up and uses it is in the intent; own: the intent decides for the others, too; keep: those that no port of the intent needs stay as they are. Default shared."`
	Write   opt[string] `key:"write" enum:"auto,direct,gnmi" doc:"How SONiC is written to. direct: into CONFIG_DB over SSH, in seconds, and no port is shut; gnmi: through the config updater, which shuts a port for each new binding; auto: direct where ssh is configured and the YANG models of the image can be read, or where the switch serves no gNMI; else gnmi. direct uses no gNMI at all. Default auto."`
	// An inner Trimming or LoadBalancing replaces the outer one as a whole.
	Trimming      orWord[rawTrimming] `key:"trimming" words:"off" doc:"Packet trimming: a packet that finds no buffer is cut to its headers and sent on instead of being dropped. This tool compares it with the classes and does not set it. Default: as the switch has it."`
	LoadBalancing *rawLoadBalancing   `key:"loadBalancing" doc:"How a switch chooses among equal paths. This tool checks it for consistency and does not set it. Default: as the switch has it."`
}

type rawTrimming struct {
	Classes list[opt[string]] `key:"classes" rule:"class" doc:"Lossy classes whose packets are cut."`
	Size    opt[units.Bytes]  `key:"size" doc:"Length of a cut packet, 64B to 9216B."`
	DSCP    opt[int]          `key:"dscp" min:"0" max:"63" doc:"DSCP of a cut packet, by which its receiver knows it."`
}

type rawLoadBalancing struct {
	Pos       Pos
	Mode      opt[string] `key:"mode" req:"true" enum:"flow,flowlet,packet" doc:"flow: a hash keeps each flow on one path; flowlet: each burst of a flow may take another path; packet: each packet takes the least loaded path (adaptive routing, packet spraying)."`
	QueuePair opt[bool]   `key:"queuePair" doc:"The hash includes the RDMA queue pair. Default false."`
}

// rawCommon holds settings that a fabric, a role, a device or a port may state; the innermost
// wins.
type rawCommon struct {
	PFC     *rawPFC     `key:"pfc" doc:"Priority flow control."`
	Trust   opt[string] `key:"trust" enum:"dscp,pcp,none" doc:"Field of a packet that selects its class; none: no field does, and all packets that enter are in the switch's default class. Default dscp."`
	MTU     *rawMTU     `key:"mtu" doc:"Sizes of the largest packets, bytes."`
	Buffers *rawBuffers `key:"buffers" doc:"Parameters of the buffer arithmetic."`
	Keep    *rawKeep    `key:"keep" doc:"Settings of ports that stay as the switch has them: they are neither compared nor written."`
}

type rawKeep struct {
	Bandwidth opt[bool] `key:"bandwidth" doc:"Schedulers of queues. Default false."`
	Buffers   opt[bool] `key:"buffers" doc:"Buffer profiles of queues and priority groups, and the port's lists of them. Default false."`
	Queues    opt[bool] `key:"queues" doc:"Maps from traffic classes and PFC priorities to queues, priority groups and rewritten DSCPs. Default false."`
	Watchdog  opt[bool] `key:"watchdog" doc:"PFC watchdog. Default false."`
	// CodePoints may be stated only for the whole fabric.
	CodePoints opt[bool] `key:"codePoints" doc:"Code points that no class names, of the fabric alone: they stay in the traffic class that each switch has them in. Default false: a class takes the rest."`
}

type rawClass struct {
	Priority opt[int]                     `key:"priority" req:"true" min:"0" max:"7" doc:"802.1p priority, which is also the traffic class."`
	DSCP     orWord[list[opt[codePoint]]] `key:"dscp" words:"rest" doc:"Code points of the class: numbers and spans like \"24-31\". rest takes what no other class names."`
	PCP      list[opt[int]]               `key:"pcp" min:"0" max:"7" doc:"802.1p values of the class. Default: its priority."`
	rawTuning
}

// rawTuning holds the settings of a class that an override may change.
type rawTuning struct {
	Queue     opt[int]           `key:"queue" min:"0" max:"7" doc:"Egress queue. Default: the priority."`
	Lossless  opt[bool]          `key:"lossless" doc:"PFC is on for the class. Default false."`
	Mode      opt[string]        `key:"mode" enum:"lossless,lossy" doc:"How RDMA travels in the class: lossless, with PFC, the same as lossless: true; or lossy, without PFC, controlled by ECN alone. Default: RDMA is in the classes that are lossless."`
	Strict    opt[bool]          `key:"strict" doc:"The queue is served before all weighted ones. Default false."`
	HostDSCP  opt[int]           `key:"hostDSCP" min:"0" max:"63" doc:"DSCP with which hosts mark what they send in the class: one of its dscp. A role, a switch or a port states it for the hosts linked there. Default: the lowest of dscp; for congestion notifications 48 if dscp has it."`
	Bandwidth opt[units.Percent] `key:"bandwidth" doc:"Share of the link among weighted classes, whole percent. Classes without one share what is left."`
	MaxRate   opt[units.Rate]    `key:"maxRate" doc:"Upper limit of the queue."`
	Alpha     opt[int]           `key:"alpha" min:"-8" max:"7" doc:"Exponent n of the dynamic threshold 2^n of the class's lossless group. Default: what buffers.alpha states for all lossless classes."`
	ECN       orWord[rawECN]     `key:"ecn" words:"auto,off,keep" doc:"Marking curve. auto computes it from speed and buffer; keep leaves the curve that the switch has and does not compare it. Default: auto for a lossless class and with mode, off for others."`
}

type rawOverride struct {
	rawTuning
}

type rawECN struct {
	Min         opt[qos.Threshold] `key:"min" doc:"Queue length at which marking begins: bytes such as 150KB; a time such as 30us or 1ms, from which the bytes follow at the speed of each port; or what the switch counts in: segments, cells, packets, %."`
	Max         opt[qos.Threshold] `key:"max" doc:"Queue length from which every packet is marked, in the same units."`
	Probability opt[units.Percent] `key:"probability" doc:"Probability at max, whole percent. Default 5%."`
	Auto        opt[bool]          `key:"auto" doc:"Compute min and max."`
	BySpeed     rawMap[rawCurve]   `key:"bySpeed" keys:"rate" doc:"Curves by the speed of the port, such as 100G. A port of another speed has what else ecn states; it is an error if that is nothing."`
}

// rawCurve has the first fields of rawECN.
type rawCurve struct {
	Min         opt[qos.Threshold] `key:"min" req:"true" doc:"Queue length at which marking begins, as in ecn."`
	Max         opt[qos.Threshold] `key:"max" req:"true" doc:"Queue length from which every packet is marked, in the same units."`
	Probability opt[units.Percent] `key:"probability" doc:"Probability at max, whole percent. Default: what ecn states for all speeds, else 5%."`
}

type rawPFC struct {
	Watchdog   orWord[rawWatchdog] `key:"watchdog" words:"off" doc:"PFC watchdog. Default: on where a class is lossless."`
	Asymmetric opt[bool]           `key:"asymmetric" doc:"Obey pause on every priority, send it for lossless ones only. Default false."`
	LinkPause  opt[string]         `key:"linkPause" enum:"off,keep" doc:"IEEE 802.3x pause of the whole link, on ports with a lossless class: turn it off, or leave it as the device has it. Default off."`
}

type rawWatchdog struct {
	Detect  opt[time.Duration] `key:"detect" doc:"How long a queue is paused until a storm is declared. Default 400ms."`
	Restore opt[time.Duration] `key:"restore" doc:"How long without pause until the queue is restored. Default 400ms."`
	Poll    opt[time.Duration] `key:"poll" doc:"Interval of a software watchdog, at most detect and restore. Default 200ms."`
	Action  opt[string]        `key:"action" enum:"drop,forward,alert,errdisable" doc:"What happens to the queue in a storm; errdisable takes the port down, on EOS. Default drop."`
}

type rawMTU struct {
	Fabric opt[int] `key:"fabric" min:"68" max:"9216" doc:"IP packet on switch ports. Default 9100."`
	Host   opt[int] `key:"host" min:"68" max:"9216" doc:"IP packet on host ports. Default 9000."`
	RDMA   opt[int] `key:"rdma" enum:"256,512,1024,2048,4096" doc:"Payload of an RDMA packet. Default 4096."`
}

type rawBuffers struct {
	Alpha             opt[int]         `key:"alpha" min:"-8" max:"7" doc:"Exponent n of the dynamic threshold 2^n of lossless groups. It is written with SONiC's dynamic buffer model, where the lossless classes of a switch must agree; elsewhere it says what the switch has. A class may state its own. Default: the platform's own."`
	MinLosslessPacket opt[units.Bytes] `key:"minLosslessPacket" doc:"Smallest packet that fills a lossless group at line rate, 64B to 9216B. Default 1024B."`
	OverSubscription  opt[float64]     `key:"overSubscription" min:"1" max:"64" doc:"Accepted ratio of all headroom to the headroom pool. Default: none declared."`
	FanIn             opt[int]         `key:"fanIn" min:"1" max:"4096" doc:"How many ports send into one congested queue at the same time. Default: all other lossless ports that can."`
	FanOut            opt[int]         `key:"fanOut" min:"1" max:"4096" doc:"How many congested queues one port sends into at the same time. ECN must mark before a pause there. Default: all other lossless ports, as the DCQCN paper counts."`
	PauseResponse     opt[Response]    `key:"pauseResponse" doc:"How long this switch takes to obey a pause, in time or in quanta of 512 bit times; the headroom of its neighbours holds that much. Default: what IEEE 802.3 allows at the speed."`
	Headroom          opt[string]      `key:"headroom" enum:"ieee-quanta,sonic-dyn" doc:"Model that headroom is checked with. Default: ieee-quanta."`
}

type rawRole struct {
	Classes rawMap[rawOverride] `key:"classes" keys:"class" doc:"Changes to classes of the fabric."`
	rawGlobals
	rawCommon
}

type rawSwitch struct {
	OS          opt[string]         `key:"os" req:"true" enum:"{systems}" doc:"Operating system."`
	Role        opt[string]         `key:"role" rule:"name" doc:"Role, such as leaf or spine."`
	Address     opt[string]         `key:"address" rule:"address" doc:"host:port of the management API; a range runs in step with the name's. Default port {ports}."`
	Model       opt[string]         `key:"model" rule:"model" loose:"true" doc:"Hardware SKU or model."`
	Release     opt[string]         `key:"release" rule:"model" loose:"true" doc:"Release of the operating system."`
	Identity    *rawIdentity        `key:"identity" doc:"What the device is known by. It is compared with what the device shows, and apply writes to no other one. Default: the hostname of another device of the intent is a contradiction."`
	BufferModel opt[string]         `key:"bufferModel" enum:"dynamic,traditional" doc:"Buffer model of SONiC. Default: the platform's usual one."`
	Ports       rawMap[rawPort]     `key:"ports" keys:"ports" doc:"Ports by name. A name may hold ranges: Ethernet[0-124:4]."`
	Access      *rawAccess          `key:"access" doc:"How this device is reached, where it differs from credentials."`
	Classes     rawMap[rawOverride] `key:"classes" keys:"class" doc:"Changes to classes of the fabric."`
	rawGlobals
	rawCommon
}

type rawPort struct {
	Speed    opt[units.Rate]     `key:"speed" doc:"Link rate."`
	Cable    opt[units.Length]   `key:"cable" doc:"Cable length."`
	FEC      opt[string]         `key:"fec" enum:"rs,fc,none" doc:"Forward error correction. Default: left alone."`
	Admin    opt[string]         `key:"admin" enum:"up,down" doc:"Administrative state. Default: left alone."`
	LAG      opt[string]         `key:"lag" rule:"port" doc:"Aggregate that the port belongs to."`
	Breakout opt[string]         `key:"breakout" rule:"breakout" doc:"Breakout mode, such as 4x100G."`
	Classes  rawMap[rawOverride] `key:"classes" keys:"class" doc:"Changes to classes of the fabric."`
	rawCommon
}

type rawHost struct {
	Address       opt[string]     `key:"address" rule:"address" doc:"host or host:port of SSH; a range runs in step with the name's. Default port 22."`
	Identity      *rawIdentity    `key:"identity" doc:"What the device is known by. It is compared with what the device shows, and apply writes to no other one. Default: the hostname of another device of the intent is a contradiction."`
	NICs          rawMap[rawNIC]  `key:"nics" keys:"ports" doc:"NICs by the name of their interface, or with select by a name of your choice. A name may hold ranges."`
	Bonds         rawMap[rawBond] `key:"bonds" keys:"ports" doc:"Bonds over nics, by name; each has the MTU mtu.host. The host must have them: this tool makes none. A name may hold ranges."`
	VLANs         rawMap[rawVLAN] `key:"vlans" keys:"ports" doc:"VLANs over nics and bonds, by name; each has the MTU mtu.host, and sends the priority of each class with the PCP of the class. The host must have them: this tool makes none. A name may hold ranges."`
	PauseResponse opt[Response]   `key:"pauseResponse" doc:"How long the NICs take to obey a pause, in time or in quanta of 512 bit times. Default: what IEEE 802.3 allows at the speed."`
	Access        *rawAccess      `key:"access" doc:"How this host is reached, where it differs from credentials."`
}

type rawIdentity struct {
	Serial   opt[string] `key:"serial" rule:"serial" loose:"true" doc:"Serial number, as the device shows it; a range runs in step with the device's name."`
	MAC      opt[string] `key:"mac" rule:"mac" doc:"MAC address of a switch's system, such as 52:54:00:12:34:56; a range runs in step with the device's name."`
	Model    opt[string] `key:"model" rule:"model" loose:"true" doc:"Model of a switch, exactly as it shows it."`
	Hostname opt[string] `key:"hostname" rule:"devices" doc:"Hostname, without its domain; a range runs in step with the device's name."`
}

type rawNIC struct {
	Select *rawSelector `key:"select" doc:"Selects the NIC when the host is read. Its name is then known only to the intent: links, bonds and reports use it. Default: its name is that of the interface."`
	RDMA   opt[string]  `key:"rdma" rule:"ports" doc:"RDMA device, such as mlx5_0; a range runs in step with the name's. none: the NIC sends no RDMA, and no class is lossless on it and on its switch port."`
	Rings  *rawRings    `key:"rings" doc:"Descriptor rings. Default: left alone."`

	Buffers         opt[string] `key:"buffers" enum:"auto,keep" doc:"Receive buffer of the NIC. auto: lossless priorities have buffers of their own, large enough for the speed, the cable and the MTU; mlx5 alone. Default keep."`
	Willing         opt[string] `key:"willing" enum:"off,keep" doc:"off: a DCBX peer does not overwrite the settings of the NIC. Default keep."`
	StallPrevention opt[string] `key:"stallPrevention" enum:"auto,keep" doc:"How long the NIC pauses its link before it gives up. auto is 100ms where NVIDIA's own driver has 8s by default; no other driver has it. Default keep."`
	rawCard
	DPU opt[string] `key:"dpu" rule:"endpoint" doc:"Where the NIC is the host's side of a DPU such as BlueField in DPU mode: the device/port on the side of the card's own system, another host of the intent. That side owns the port, its link, and all that belongs to the port; the NIC has MTU, RDMA-CM and what is lost with the host alone. Ranges run in step with those of the host and of the NIC. Default: the NIC owns its port."`
	VFs *rawVFs     `key:"vfs" doc:"Virtual functions (SR-IOV). Default: left alone."`
	SFs *rawSFs     `key:"sfs" doc:"Scalable functions. Default: left alone."`
}

type rawBond struct {
	Members list[opt[string]] `key:"members" req:"true" rule:"ports" doc:"Its NICs, from nics. A range runs in step with that of the name; if the name has none, it stands for several NICs."`
}

type rawVLAN struct {
	On opt[string] `key:"on" req:"true" rule:"ports" doc:"NIC or bond below it; a range runs in step with the name's."`
	ID opt[int]    `key:"id" req:"true" min:"1" max:"4094" doc:"VLAN ID."`
}

type rawBaseline struct {
	Firmware *rawVersions `key:"firmware" doc:"Version of the firmware, as the RDMA device shows it (fw_ver)."`
	Driver   *rawVersions `key:"driver" doc:"Version of the driver: its own, or the release of the kernel for a driver that is the kernel's."`
}

type rawVersions struct {
	Pos   Pos
	Min   opt[string] `key:"min" rule:"model" loose:"true" doc:"This version or a newer one: 28.43.2026."`
	Exact opt[string] `key:"exact" rule:"model" loose:"true" doc:"This version and no other."`
}

type rawRings struct {
	RX opt[int] `key:"rx" min:"16" max:"65536" doc:"Descriptors of each receive ring, at most what ethtool -g shows as the maximum. Default: left alone."`
	TX opt[int] `key:"tx" min:"16" max:"65536" doc:"Descriptors of each transmit ring, likewise. Default: left alone."`
}

type rawLink struct {
	Pos     Pos
	A       opt[string]       `key:"a" req:"true" rule:"endpoint" doc:"One end: device/port, with ranges."`
	B       opt[string]       `key:"b" req:"true" rule:"endpoint" doc:"Other end: device/port, with ranges."`
	Cable   opt[units.Length] `key:"cable" doc:"Cable length. Needed unless a port states it."`
	Speed   opt[units.Rate]   `key:"speed" doc:"Link rate. Needed unless a port states it."`
	Pattern opt[string]       `key:"pattern" enum:"pairs,mesh,rail" doc:"How ranges are joined: pairs in order (default), mesh of every device of a with every device of b, or rail: NIC r of host h with port h of leaf r."`
}

type rawCredentials struct {
	Switches *rawLogin `key:"switches" doc:"For all switches."`
	Hosts    *rawLogin `key:"hosts" doc:"For all hosts."`
}

type rawUser struct {
	Username opt[string] `key:"username" rule:"username" doc:"User name, or a reference: env:NAME, file:PATH, keyring:SERVICE/USER."`
	Password opt[string] `key:"password" rule:"reference" secret:"true" doc:"Reference to the password: env:NAME, file:PATH, keyring:SERVICE/USER. Never the password."`
}

type rawLogin struct {
	rawUser
	TLS *rawTLS `key:"tls" doc:"TLS of the management API."`
	SSH *rawSSH `key:"ssh" doc:"SSH. Its address is the device's, port 22."`
}

type rawAccess struct {
	rawUser
	TLS *rawTLS       `key:"tls" doc:"TLS of the management API."`
	SSH *rawDeviceSSH `key:"ssh" doc:"SSH."`
}

type rawTLS struct {
	CA         opt[string] `key:"ca" rule:"path" doc:"File of PEM certificates to trust. Default: the system's."`
	Cert       opt[string] `key:"cert" rule:"path" doc:"File of the client certificate, PEM."`
	Key        opt[string] `key:"key" rule:"path" secret:"true" doc:"File of the client key, PEM."`
	Pin        opt[string] `key:"pin" rule:"pin" doc:"SHA-256 of the server's public key: sha256:<64 hex digits>."`
	ServerName opt[string] `key:"serverName" rule:"devices" doc:"Name to expect in the certificate; a range runs in step with the device's name."`
	Insecure   opt[bool]   `key:"insecure" doc:"Accept any certificate; refused together with a password. Default false."`
	Plaintext  opt[bool]   `key:"plaintext" doc:"No TLS at all; refused together with a password. Default false."`
}

type rawSSH struct {
	rawUser
	Key        opt[string] `key:"key" rule:"path" secret:"true" doc:"File of the private key."`
	Agent      opt[bool]   `key:"agent" doc:"Use the SSH agent. Default false."`
	KnownHosts opt[string] `key:"knownHosts" rule:"path" doc:"File of known hosts. Default ~/.ssh/known_hosts."`
	Jump       opt[string] `key:"jump" rule:"jump" secret:"true" doc:"Jump host: user@host:port."`
}

type rawDeviceSSH struct {
	rawSSH
	Address opt[string] `key:"address" rule:"address" doc:"host:port; a range runs in step with the device's name. Default: the device's host, port 22."`
}

type rawRollout struct {
	PortGroup opt[int] `key:"portGroup" min:"1" max:"1024" doc:"How many ports of one switch may be down at once. Default 4."`
	// An entry of Canary or Groups is a pattern, not a name.
	Canary         list[opt[string]]  `key:"canary" rule:"selection" doc:"Devices that are changed before all others, with ranges, globs or role:ROLE. Default: the first of each kind that is changed, before the others of its kind."`
	Groups         list[opt[string]]  `key:"groups" rule:"selection" doc:"Each entry names devices that stand in for one another, such as leaf[1-2]: one of them is changed at a time."`
	MaxUnavailable opt[string]        `key:"maxUnavailable" rule:"share" loose:"true" doc:"How many devices of a role are changed side by side at most, a number or a percentage. Default 25%."`
	Together       opt[bool]          `key:"together" doc:"true changes devices side by side where intermediate states are worse than the state before or after, which shortens these. What canary, groups and maxUnavailable state still holds; their defaults do not. Devices whose ports go down keep to the defaults. Default false."`
	DeviceTimeout  opt[time.Duration] `key:"deviceTimeout" doc:"How long the work on one device may take; after it the device is reverted and the run stops. Default: the deadlines of the requests."`
	TrustKeys      list[opt[string]]  `key:"trustKeys" rule:"path" doc:"Files of public keys, PEM. Saved plans and journals that are signed with them are believed, besides one's own."`
	Windows        list[rawWindow]    `key:"windows" doc:"Maintenance windows. Outside of all of them apply and rollback write nothing without --outside-window. Default: always."`
	Approval       *rawApproval       `key:"approval" doc:"Who must say yes before apply, rollback and nic reset write. Default: nobody else."`
	Reset          *rawReset          `key:"reset" doc:"How nic reset resets hosts."`
}

type rawReset struct {
	Drain   *rawHook           `key:"drain" doc:"Takes a host out of service before its cards are reset. Default: nothing."`
	Undrain *rawHook           `key:"undrain" doc:"Puts a host into service again once it is back and as the intent says. Default: nothing."`
	Back    opt[time.Duration] `key:"back" doc:"How long a host may take to come back after each reset, 1s to 24h. Default 20m."`
}

// rawHook has the same fields as rawApproval.
type rawHook struct {
	Pos     Pos
	Command list[opt[string]]  `key:"command" rule:"argument" loose:"true" secret:"true" doc:"Program with its arguments. It finds the host in ROCE_FABRIC_DEVICE, and more as JSON on standard input. An exit status other than 0 stops the command."`
	URL     opt[string]        `key:"url" rule:"url" secret:"true" doc:"Address, https://..., to which a request is posted with the host as device in JSON. A status other than 2xx stops the command."`
	Token   opt[string]        `key:"token" rule:"reference" secret:"true" doc:"Reference to the bearer token for url: env:NAME, file:PATH, keyring:SERVICE/USER."`
	CA      opt[string]        `key:"ca" rule:"path" doc:"File of PEM certificates to trust for url. Default: the system's."`
	Timeout opt[time.Duration] `key:"timeout" doc:"How long it may take, 1s to 24h. Default 10m."`
}

// rawApproval marks its url and command as secret, because they may contain one.
type rawApproval struct {
	Pos     Pos
	Command list[opt[string]]  `key:"command" rule:"argument" loose:"true" secret:"true" doc:"Program with its arguments, which apply, rollback and nic reset run: exit status 0 is yes, and otherwise the first line of its standard error is the reason."`
	URL     opt[string]        `key:"url" rule:"url" secret:"true" doc:"Address, https://..., to which apply, rollback and nic reset post a request: status 200 with {\"approved\": true} is yes, and otherwise reason is the reason."`
	Token   opt[string]        `key:"token" rule:"reference" secret:"true" doc:"Reference to the bearer token for url: env:NAME, file:PATH, keyring:SERVICE/USER."`
	CA      opt[string]        `key:"ca" rule:"path" doc:"File of PEM certificates to trust for url. Default: the system's."`
	Timeout opt[time.Duration] `key:"timeout" doc:"How long to wait for the answer, 1s to 24h; none is no. Default 10m."`
}

type rawWindow struct {
	Pos      Pos
	Days     list[opt[string]] `key:"days" enum:"mon,tue,wed,thu,fri,sat,sun" doc:"Days on which the window begins. Default: every day."`
	From     opt[string]       `key:"from" req:"true" rule:"clock" doc:"When it begins: 22:00."`
	To       opt[string]       `key:"to" req:"true" rule:"clockEnd" doc:"When it ends: 04:00, on the next day where that is before its begin. 24:00 is midnight."`
	Timezone opt[string]       `key:"timezone" rule:"timezone" doc:"Time zone of both, a name of the IANA database: Europe/Berlin. Default UTC."`
}

type rawMeasured struct {
	Pos      Pos
	Model    opt[string]       `key:"model" req:"true" doc:"Model of the switch, as a switch states it."`
	Speed    opt[units.Rate]   `key:"speed" req:"true" doc:"Speed of the port."`
	Cable    opt[units.Length] `key:"cable" req:"true" doc:"Length of the cable, one way."`
	Headroom opt[units.Bytes]  `key:"headroom" doc:"The most that arrived in one lossless group after it had paused."`
	Pause    opt[units.Bytes]  `key:"pause" doc:"Level at which a lossless group pauses that is alone."`
	Date     opt[string]       `key:"date" req:"true" rule:"date" loose:"true" doc:"Day of the measurement: 2026-11-29. The latest one of a model, speed and cable counts."`
	Source   opt[string]       `key:"source" req:"true" doc:"Who measured, and how."`
}

type rawSuppress struct {
	Pos       Pos
	Check     opt[string] `key:"check" req:"true" rule:"check" doc:"Id of the check, such as ECN-06; roce-fabric check --list shows them."`
	On        opt[string] `key:"on" rule:"scope" doc:"Device or device/port, with ranges or globs, or the switches of a role or system: leaf*, leaf[1-2]/Ethernet0, role:leaf. Default: everywhere."`
	Unchecked opt[bool]   `key:"unchecked" doc:"true accepts that the check cannot be made, which --strict counts, and no fault that it finds."`
	Reason    opt[string] `key:"reason" req:"true" doc:"Why the finding is accepted."`
	Until     opt[string] `key:"until" rule:"date" loose:"true" doc:"Last day on which it is accepted: 2026-12-31. Default: without end."`
}

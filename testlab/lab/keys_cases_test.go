package lab_test

// keyCase is a key of the intent with two values to try at one place of the intent.
type keyCase struct {
	key    string // as in schemaKeys
	at     string
	values [2]any
	with   []edit // further changes to the intent
	// refused gives the reason why a system cannot take the values, by kind.name, system or "all".
	// some is set if the system takes one of the values.
	refused map[string]string
	some    bool
	// finds lists checks that rightly report the values.
	finds string
	// inert is set for a key that configures nothing; inertOn lists the systems on which it does
	// not.
	inert   bool
	inertOn []string
	// once tries the key on a single system, because it does not concern a switch.
	once bool
	// reinstalls is set if the two values belong to different switches.
	reinstalls bool
}

type edit struct {
	at string
	v  any
}

type (
	m  = map[string]any
	m2 = map[string]string
)

// notOfDevices lists the keys whose values do not affect any device, with the reason.
var notOfDevices = map[string]string{
	"File.apiVersion": "one word", "File.kind": "one word", "File.name": "a name",
	"File.classes": "its keys are tried", "File.switches": "its keys are tried", "File.hosts": "its keys are tried",
	"File.links": "its keys are tried", "File.roles": "its keys are tried", "File.credentials": "the lab has its own",
	"File.rollout": "its keys are tried", "File.routing": "its keys are tried", "File.vxlan": "its keys are tried", "File.islands": "its keys are tried",
	"File.traffic": "its keys are tried", "File.suppress": "its keys are tried",
	"File.simulation": "its keys are tried", "Simulation.noPause": "package simulate/scenario tests it", "Simulation.noLoss": "package simulate/scenario tests it", "Simulation.p99": "package simulate/scenario tests it",
	"Role.classes": "its keys are tried", "Switch.ports": "its keys are tried", "Host.nics": "its keys are tried",
	"Switch.os": "each kind has its own", "Switch.model": "each kind has its own", "Switch.role": "a name", "Switch.address": "the lab has its own", "Host.address": "the lab has its own",
	"Link.a": "names", "Link.b": "names",
	"Credentials.switches": "the lab has its own", "Credentials.hosts": "the lab has its own", "Switch.access": "the lab has its own", "Host.access": "the lab has its own",
	"Login.password": "the lab has its own", "Login.ssh": "the lab has its own", "Login.tls": "the lab has its own", "Login.username": "the lab has its own",
	"Access.password": "the lab has its own", "Access.ssh": "the lab has its own", "Access.tls": "the lab has its own", "Access.username": "the lab has its own",
	"SSH.agent": "the lab has its own", "SSH.jump": "the lab has its own", "SSH.key": "the lab has its own", "SSH.knownHosts": "the lab has its own", "SSH.password": "the lab has its own", "SSH.username": "the lab has its own",
	"DeviceSSH.address": "the lab has its own", "DeviceSSH.agent": "the lab has its own", "DeviceSSH.jump": "the lab has its own", "DeviceSSH.key": "the lab has its own", "DeviceSSH.knownHosts": "the lab has its own", "DeviceSSH.password": "the lab has its own", "DeviceSSH.username": "the lab has its own",
	"TLS.ca": "the lab has its own", "TLS.cert": "the lab has its own", "TLS.insecure": "the lab has its own", "TLS.key": "the lab has its own", "TLS.pin": "the lab has its own", "TLS.plaintext": "the lab has its own", "TLS.serverName": "the lab has its own",
	"Switch.identity": "package validate tests it", "Host.identity": "package validate tests it",
	"Identity.hostname": "package validate tests it", "Identity.mac": "package validate tests it", "Identity.model": "package validate tests it", "Identity.serial": "package validate tests it",
	"Rollout.approval": "package fleet/approval tests it", "Rollout.trustKeys": "package fleet/keys tests it",
	"Rollout.reset": "script nic_reset tries it", "Reset.drain": "package fleet/hook tests it", "Reset.undrain": "package fleet/hook tests it", "Reset.back": "script nic_reset tries it",
	"Hook.ca": "package fleet/hook tests it", "Hook.command": "package fleet/hook tests it", "Hook.timeout": "package fleet/hook tests it", "Hook.token": "package fleet/hook tests it", "Hook.url": "package fleet/hook tests it",
	"Approval.ca": "package fleet/approval tests it", "Approval.command": "package fleet/approval tests it", "Approval.timeout": "package fleet/approval tests it", "Approval.token": "package fleet/approval tests it", "Approval.url": "package fleet/approval tests it",
	"File.measured": "its keys are tried", "Measured.model": "package validate tests it", "Measured.speed": "package validate tests it", "Measured.cable": "package validate tests it",
	"Measured.headroom": "package validate tests it", "Measured.pause": "package validate tests it", "Measured.date": "package validate tests it", "Measured.source": "a text",
	"Suppress.reason": "a text", "Suppress.until": "a day",
}

const (
	leafPort = "switches|leaf1|ports|PORT"
	leafUp   = "switches|leaf1|ports|UPLINK"
)

// trim is a valid trimming setting for the fabric in which keys are tried.
var trim = m{"classes": []any{"bulk"}, "size": "256B", "dscp": 21}

var keyCases = []keyCase{
	{key: "Class.priority", at: "classes|bulk|priority", values: [2]any{1, 2}},
	{key: "Class.priority", at: "classes|rdma|priority", values: [2]any{3, 4}},
	{key: "Class.dscp", at: "classes|rdma|dscp", values: [2]any{[]any{26, 27}, []any{"24-26"}}},
	{key: "Class.dscp", at: "classes|bulk|dscp", values: [2]any{[]any{10, 12}, []any{8}}},
	{key: "Class.pcp", at: "classes|bulk|pcp", values: [2]any{[]any{1}, []any{1, 2}}, inert: true},
	{key: "Class.pcp", at: "classes|bulk|pcp", values: [2]any{[]any{1}, []any{1, 2}}, with: []edit{{"trust", "pcp"}}, finds: "CLS-04"},
	{key: "Class.hostDSCP", at: "classes|rdma|hostDSCP", values: [2]any{26, 24}, with: []edit{{"classes|rdma|dscp", []any{24, 26}}}},
	{key: "Class.queue", at: "classes|bulk|queue", values: [2]any{2, 4}, refused: m2{"nxos": "only a lossless class has another queue"}},
	{key: "Class.queue", at: "classes|rdma|queue", values: [2]any{4, 5}},
	{key: "Class.lossless", at: "classes|bulk|lossless", values: [2]any{true, false}},
	{key: "Class.mode", at: "classes|rdma", values: [2]any{m{"priority": 3, "dscp": []any{26}, "mode": "lossy", "bandwidth": "50%"}, m{"priority": 3, "dscp": []any{26}, "mode": "lossless", "bandwidth": "50%"}}},
	{key: "Class.strict", at: "classes|bulk|strict", values: [2]any{true, false}, with: []edit{{"classes|bulk|bandwidth", drop{}}, {"classes|bulk|maxRate", "10G"}}, refused: m2{"nxos": "strict queues adjacent"}, some: true},
	{key: "Class.bandwidth", at: "classes|rdma|bandwidth", values: [2]any{"40%", "60%"}, with: []edit{{"classes|bulk|bandwidth", "10%"}}},
	{key: "Class.maxRate", at: "classes|bulk|maxRate", values: [2]any{"100G", "50G"}},
	{key: "Class.maxRate", at: "classes|cnp|maxRate", values: [2]any{"10G", "20G"}},
	{key: "Class.maxRate", at: "classes|rdma|maxRate", values: [2]any{"200G", "300G"}},
	{key: "Class.alpha", at: "classes|rdma|alpha", values: [2]any{0, -1}, with: []edit{{"globals", "own"}}, inertOn: []string{"sonic table", "sonic 202311", "eos", "nxos"}, finds: "BUF-09"},
	{key: "Class.ecn", at: "classes|rdma|ecn", values: [2]any{"auto", m{"min": "160KB", "max": "1600KB"}}},
	{key: "Class.ecn", at: "classes|bulk|ecn", values: [2]any{m{"min": "160KB", "max": "1600KB"}, "off"}},
	{key: "Class.ecn", at: "classes|rdma|ecn", values: [2]any{m{"min": "160KB", "max": "1600KB"}, "keep"}, inert: true, finds: "ECN-01"},
	{key: "ECN.min", at: "classes|rdma|ecn|min", values: [2]any{"160KB", "300KB"}},
	{key: "ECN.min", at: "classes|rdma|ecn", values: [2]any{m{"min": "4us", "max": "40us"}, m{"min": "6us", "max": "60us"}}},
	{key: "ECN.max", at: "classes|rdma|ecn|max", values: [2]any{"1600KB", "3MB"}},
	{key: "ECN.probability", at: "classes|rdma|ecn|probability", values: [2]any{"20%", "100%"}},
	{key: "ECN.auto", at: "classes|rdma|ecn", values: [2]any{m{"auto": true, "probability": "10%"}, m{"auto": true, "probability": "20%"}}},
	{key: "ECN.bySpeed", at: "classes|rdma|ecn|bySpeed", values: [2]any{m{"400G": m{"min": "160KB", "max": "1600KB"}, "100G": m{"min": "80KB", "max": "800KB"}}, m{"400G": m{"min": "320KB", "max": "3200KB"}, "100G": m{"min": "80KB", "max": "800KB"}}}},
	{key: "Curve.min", at: "classes|rdma|ecn|bySpeed|400G|min", values: [2]any{"160KB", "300KB"}, with: []edit{{"classes|rdma|ecn|bySpeed|400G|max", "1600KB"}}},
	{key: "Curve.max", at: "classes|rdma|ecn|bySpeed|400G|max", values: [2]any{"1600KB", "3MB"}, with: []edit{{"classes|rdma|ecn|bySpeed|400G|min", "160KB"}}},
	{key: "Curve.probability", at: "classes|rdma|ecn|bySpeed|400G|probability", values: [2]any{"20%", "100%"}, with: []edit{{"classes|rdma|ecn|bySpeed|400G|min", "160KB"}, {"classes|rdma|ecn|bySpeed|400G|max", "1600KB"}}},

	{key: "Override.queue", at: "roles|leaf|classes|bulk|queue", values: [2]any{2, 4}, refused: m2{"nxos": "only a lossless class has another queue"}},
	{key: "Override.hostDSCP", at: "roles|leaf|classes|rdma|hostDSCP", values: [2]any{26, 24}, with: []edit{{"classes|rdma|dscp", []any{24, 26}}}},
	{key: "Override.lossless", at: leafPort + "|classes|bulk|lossless", values: [2]any{true, false}, refused: m2{"nxos": "on the whole switch"}, some: true},
	{key: "Override.mode", at: "roles|leaf|classes|bulk|mode", values: [2]any{"lossy", "lossy"}, inert: true, finds: "ECN-14"},
	{key: "Override.strict", at: "switches|leaf1|classes|bulk|strict", values: [2]any{true, false}, with: []edit{{"classes|bulk|bandwidth", drop{}}, {"classes|bulk|maxRate", "10G"}}, refused: m2{"nxos": "strict queues adjacent"}, some: true},
	{key: "Override.bandwidth", at: "roles|leaf|classes|bulk|bandwidth", values: [2]any{"10%", "15%"}},
	{key: "Override.maxRate", at: leafPort + "|classes|bulk|maxRate", values: [2]any{"100G", "50G"}},
	{key: "Override.alpha", at: "switches|leaf1|classes|rdma|alpha", values: [2]any{0, -1}, with: []edit{{"globals", "own"}}, inertOn: []string{"sonic table", "sonic 202311", "eos", "nxos"}, finds: "BUF-09"},
	{key: "Override.ecn", at: "roles|leaf|classes|rdma|ecn", values: [2]any{"auto", m{"min": "160KB", "max": "1600KB", "probability": "10%"}}},

	{key: "PFC.asymmetric", at: "pfc|asymmetric", values: [2]any{true, false}, refused: m2{"eos": "no asymmetric PFC", "nxos": "no asymmetric PFC"}, some: true},
	{key: "PFC.linkPause", at: "pfc|linkPause", values: [2]any{"off", "keep"}, inert: true},
	{key: "PFC.watchdog", at: "pfc|watchdog", values: [2]any{m{}, "off"}, finds: "WD-01 WD-02"},
	{key: "Watchdog.detect", at: "pfc|watchdog|detect", values: [2]any{"200ms", "600ms"}},
	{key: "Watchdog.restore", at: "pfc|watchdog|restore", values: [2]any{"600ms", "2s"}},
	{key: "Watchdog.poll", at: "pfc|watchdog|poll", values: [2]any{"200ms", "400ms"}, refused: m2{"eos": "is polled every", "nxos": "is polled every"}, some: true},
	{key: "Watchdog.action", at: "pfc|watchdog|action", values: [2]any{"drop", "forward"}, refused: m2{"eos": "not forward", "nxos": "no action forward"}, some: true},
	{key: "Watchdog.action", at: "pfc|watchdog|action", values: [2]any{"alert", "errdisable"}, refused: m2{"sonic": "errdisable", "nxos": "no action"}, some: true},
	{key: "MTU.fabric", at: "mtu|fabric", values: [2]any{9216, 9050}, refused: m2{"eos": "above 9214"}, some: true},
	{key: "MTU.host", at: "mtu|host", values: [2]any{9000, 8000}},
	{key: "MTU.rdma", at: "mtu|rdma", values: [2]any{2048, 1024}, inert: true},
	{key: "File.trust", at: "trust", values: [2]any{"pcp", "dscp"}, finds: "CLS-04"},
	{key: "File.trust", at: "trust", values: [2]any{"none", "dscp"}, refused: m2{"nxos": "only on ports that classify"}, some: true, finds: "CLS-19 CLS-14"},
	{key: "File.globals", at: "globals", values: [2]any{"own", "keep"}, inert: true},
	{key: "File.write", at: "write", values: [2]any{"gnmi", "auto"}, inert: true},
	{key: "File.pfc", at: "pfc", values: [2]any{m{"watchdog": m{"detect": "200ms", "restore": "1s", "poll": "100ms"}}, m{"watchdog": m{"detect": "600ms", "restore": "1s", "poll": "100ms"}}}},
	{key: "File.mtu", at: "mtu", values: [2]any{m{"fabric": 9214}, m{"fabric": 9100}}},
	{key: "File.buffers", at: "buffers", values: [2]any{m{"fanIn": 2}, m{"fanIn": 4}}, inert: true},
	{key: "File.keep", at: "keep", values: [2]any{m{"watchdog": true}, m{"watchdog": false}}, inert: true, finds: "WD-01 WD-02"},

	{key: "Buffers.alpha", at: "buffers|alpha", values: [2]any{0, -1}, with: []edit{{"globals", "own"}}, inertOn: []string{"sonic table", "sonic 202311", "eos", "nxos"}, finds: "BUF-09"},
	{key: "Buffers.minLosslessPacket", at: "buffers|minLosslessPacket", values: [2]any{"1024B", "2048B"}, inert: true},
	{key: "Buffers.overSubscription", at: "buffers|overSubscription", values: [2]any{2, 4}, inert: true},
	{key: "Buffers.fanIn", at: "buffers|fanIn", values: [2]any{2, 4}, inert: true},
	{key: "Buffers.fanOut", at: "buffers|fanOut", values: [2]any{2, 4}, inert: true, finds: "ECN-03"},
	{key: "Buffers.pauseResponse", at: "buffers|pauseResponse", values: [2]any{"500ns", "905q"}, inert: true},
	{key: "Buffers.headroom", at: "buffers|headroom", values: [2]any{"ieee-quanta", "sonic-dyn"}, inert: true},

	{key: "Keep.bandwidth", at: "keep|bandwidth", values: [2]any{true, false}, inert: true, finds: "CLS-09 SCH-07"},
	{key: "Keep.buffers", at: "keep|buffers", values: [2]any{true, false}, inert: true, finds: "BUF-18"},
	{key: "Keep.queues", at: "keep|queues", values: [2]any{true, false}, inert: true},
	{key: "Keep.watchdog", at: "keep|watchdog", values: [2]any{true, false}, inert: true, finds: "WD-01 WD-02"},
	{key: "Keep.codePoints", at: "keep|codePoints", values: [2]any{true, false}, with: []edit{{"classes|default|dscp", []any{"0-7"}}, {"classes|rdma|dscp", []any{"8-47"}}, {"classes|bulk|dscp", []any{"49-63"}}}, inert: true},

	{key: "Role.pfc", at: "roles|leaf|pfc", values: [2]any{m{"watchdog": m{"detect": "200ms"}}, m{"watchdog": m{"detect": "600ms"}}}},
	{key: "Role.trust", at: "roles|leaf|trust", values: [2]any{"pcp", "dscp"}, finds: "CLS-04 CLS-14"},
	{key: "Role.mtu", at: "roles|leaf|mtu", values: [2]any{m{"fabric": 9214}, m{"fabric": 9100}}},
	{key: "Role.buffers", at: "roles|leaf|buffers", values: [2]any{m{"fanIn": 2}, m{"fanIn": 4}}, inert: true},
	{key: "Role.keep", at: "roles|leaf|keep", values: [2]any{m{"bandwidth": true}, m{"bandwidth": false}}, inert: true, finds: "CLS-09 SCH-07"},
	{key: "Role.write", at: "roles|leaf|write", values: [2]any{"gnmi", "auto"}, inert: true},
	{key: "Role.globals", at: "roles|leaf|globals", values: [2]any{"own", "keep"}, inert: true},

	{key: "File.trimming", at: "trimming", values: [2]any{trim, "off"}, refused: m2{"all": "does not set packet trimming"}},
	{key: "Role.trimming", at: "roles|leaf|trimming", values: [2]any{trim, "off"}, refused: m2{"all": "does not set packet trimming"}},
	{key: "Switch.trimming", at: "switches|leaf1|trimming", values: [2]any{trim, "off"}, refused: m2{"all": "does not set packet trimming"}},
	{key: "Trimming.classes", at: "trimming|classes", values: [2]any{[]any{"bulk"}, []any{"default"}}, with: []edit{{"trimming", trim}}, refused: m2{"all": "does not set packet trimming"}},
	{key: "Trimming.size", at: "trimming|size", values: [2]any{"256B", "512B"}, with: []edit{{"trimming", trim}}, refused: m2{"all": "does not set packet trimming", "sonic": "orchagent does not remove SWITCH_TRIMMING", "sonic 202311": "SONiC 202311 has no packet trimming"}},
	{key: "Trimming.dscp", at: "trimming|dscp", values: [2]any{21, 22}, with: []edit{{"trimming", trim}}, refused: m2{"all": "does not set packet trimming"}},
	{key: "File.loadBalancing", at: "loadBalancing", values: [2]any{m{"mode": "flow"}, m{"mode": "packet"}}, refused: m2{"all": "does not set load balancing"}},
	{key: "Role.loadBalancing", at: "roles|leaf|loadBalancing", values: [2]any{m{"mode": "flow"}, m{"mode": "packet"}}, refused: m2{"all": "does not set load balancing"}},
	{key: "Switch.loadBalancing", at: "switches|leaf1|loadBalancing", values: [2]any{m{"mode": "flow"}, m{"mode": "packet"}}, refused: m2{"all": "does not set load balancing"}},
	{key: "LoadBalancing.mode", at: "loadBalancing|mode", values: [2]any{"flowlet", "packet"}, refused: m2{"all": "does not set load balancing"}},
	{key: "LoadBalancing.queuePair", at: "loadBalancing", values: [2]any{m{"mode": "flow", "queuePair": true}, m{"mode": "flowlet", "queuePair": true}}, refused: m2{"all": "does not set load balancing", "sonic": "SONiC does not hash over queue pairs"}},

	{key: "Switch.pfc", at: "switches|leaf1|pfc", values: [2]any{m{"watchdog": m{"detect": "200ms"}}, m{"watchdog": m{"detect": "600ms"}}}, finds: "WD-05"},
	{key: "Switch.trust", at: "switches|leaf1|trust", values: [2]any{"pcp", "dscp"}, finds: "CLS-04 CLS-14"},
	{key: "Switch.mtu", at: "switches|leaf1|mtu", values: [2]any{m{"fabric": 9214}, m{"fabric": 9100}}},
	{key: "Switch.buffers", at: "switches|leaf1|buffers", values: [2]any{m{"fanIn": 2}, m{"fanIn": 4}}, inert: true},
	{key: "Switch.keep", at: "switches|leaf1|keep", values: [2]any{m{"buffers": true}, m{"buffers": false}}, inert: true, finds: "BUF-18"},
	{key: "Switch.write", at: "switches|leaf1|write", values: [2]any{"direct", "auto"}, inert: true},
	{key: "Switch.globals", at: "switches|leaf1|globals", values: [2]any{"own", "keep"}, inert: true},
	{key: "Switch.classes", at: "switches|leaf1|classes", values: [2]any{m{"bulk": m{"maxRate": "10G"}}, m{"bulk": m{"maxRate": "20G"}}}},
	{key: "Switch.bufferModel", at: "switches|leaf1|bufferModel", values: [2]any{"traditional", "dynamic"}, reinstalls: true, finds: "BUF-01 BUF-09"},
	{key: "Switch.release", at: "switches|leaf1|release", values: [2]any{keep{}, drop{}}, reinstalls: true},

	{key: "Port.speed", at: leafUp + "|speed", values: [2]any{"400G", "100G"}, with: []edit{{"links|2|speed", drop{}}}, refused: m2{"sonic": "does not change the speed of a port"}, some: true, inertOn: []string{"eos", "nxos"}, finds: "PRT-04"},
	{key: "Port.cable", at: leafUp + "|cable", values: [2]any{"30m", "100m"}, with: []edit{{"links|2|cable", drop{}}}, inertOn: []string{"eos", "nxos"}},
	{key: "Port.fec", at: leafUp + "|fec", values: [2]any{"rs", "none"}, refused: m2{"eos": "does not set FEC", "nxos": "does not set FEC"}, finds: "PRT-06"},
	{key: "Port.admin", at: leafPort + "|admin", values: [2]any{"up", "down"}},
	{key: "Port.lag", at: leafUp + "|lag", values: [2]any{"PortChannel1", "PortChannel2"}, refused: m2{"sonic": "does not change port channels", "eos": "does not move ports", "nxos": "does not move ports"}},
	{key: "Port.breakout", at: "switches|leaf1|ports|SPARE|breakout", values: [2]any{"1x400G", "4x100G"}, inert: true},
	{key: "Port.pfc", at: leafPort + "|pfc", values: [2]any{m{"asymmetric": true}, m{"asymmetric": false}}, refused: m2{"eos": "no asymmetric PFC", "nxos": "no asymmetric PFC"}, some: true},
	{key: "Port.trust", at: leafPort + "|trust", values: [2]any{"pcp", "dscp"}, finds: "CLS-04"},
	{key: "Port.trust", at: leafPort + "|trust", values: [2]any{"none", "dscp"}, refused: m2{"nxos": "only on ports that classify", "sonic": "has no map of its own"}, some: true, finds: "CLS-19 CLS-14"},
	{key: "Port.mtu", at: leafPort + "|mtu", values: [2]any{m{"fabric": 9214}, m{"fabric": 9050}}},
	{key: "Port.buffers", at: leafPort + "|buffers", values: [2]any{m{"fanIn": 2}, m{"fanIn": 4}}, inert: true},
	{key: "Port.keep", at: leafPort + "|keep", values: [2]any{m{"queues": true}, m{"queues": false}}, inert: true},
	{key: "Port.classes", at: leafPort + "|classes", values: [2]any{m{"bulk": m{"queue": 2}}, m{"bulk": m{"queue": 4}}}, refused: m2{"eos": "one set of maps for the whole switch", "nxos": "only a lossless class has another queue"}},

	{key: "Link.cable", at: "links|2|cable", values: [2]any{"30m", "100m"}, inertOn: []string{"eos", "nxos"}},
	{key: "Link.speed", at: "links|2|speed", values: [2]any{"400G", "100G"}, refused: m2{"sonic": "does not change the speed of a port"}, some: true, inertOn: []string{"eos", "nxos"}, finds: "PRT-04"},
	{key: "Link.pattern", at: "links|2|pattern", values: [2]any{"pairs", "mesh"}, inert: true},

	{key: "Host.pauseResponse", at: "hosts|gpu1|pauseResponse", values: [2]any{"500ns", "905q"}, inert: true},
	{key: "NIC.rdma", at: "hosts|gpu1|nics|eth0|rdma", values: [2]any{"mlx5_0", "mlx5_1"}, reinstalls: true, inert: true},
	{key: "NIC.rdma", at: "hosts|gpu1|nics|eth0|rdma", values: [2]any{"none", "mlx5_0"}, reinstalls: true},
	{key: "NIC.select", at: "hosts|gpu1|nics|eth0|select", values: [2]any{m{"vendor": "nvidia"}, m{"model": "ConnectX-6"}}, reinstalls: true},
	{key: "Selector.vendor", at: "hosts|gpu1|nics|eth0|select", values: [2]any{m{"vendor": "broadcom"}, m{"vendor": "15b3"}}, reinstalls: true},
	{key: "Selector.model", at: "hosts|gpu1|nics|eth0|select|model", values: [2]any{"1021", "BlueField-3"}, reinstalls: true},
	{key: "Selector.part", at: "hosts|gpu1|nics|eth0|select|part", values: [2]any{"MCX75310AAS-NEAT", "MCX653105A"}, reinstalls: true},
	{key: "Selector.serial", at: "hosts|gpu1|nics|eth0|select|serial", values: [2]any{"MT2318X00001", "MT2318X00002"}, reinstalls: true},
	{key: "Selector.pci", at: "hosts|gpu1|nics|eth0|select|pci", values: [2]any{"0000:3b:00.0", "5e:00.1"}, reinstalls: true},
	{key: "Selector.port", at: "hosts|gpu1|nics|eth0|select|port", values: [2]any{1, 1}, reinstalls: true},
	{key: "Selector.rail", at: "hosts|gpu1|nics|eth0|select|rail", values: [2]any{1, "1"}, reinstalls: true},
	{key: "File.baseline", at: "baseline", values: [2]any{m{"nvidia": m{"firmware": m{"min": "99.1"}}}, m{"15b3:1021": m{"driver": m{"min": "99.1"}}}}, inert: true, finds: "NIC-19"},
	{key: "Baseline.firmware", at: "baseline|nvidia", values: [2]any{m{"firmware": m{"min": "99.1"}}, m{"firmware": m{"exact": "1"}}}, inert: true, finds: "NIC-19"},
	{key: "Baseline.driver", at: "baseline|nvidia", values: [2]any{m{"driver": m{"min": "99.1"}}, m{"driver": m{"exact": "1"}}}, inert: true, finds: "NIC-19"},
	{key: "Versions.min", at: "baseline|nvidia|driver|min", values: [2]any{"99.1", "98"}, inert: true, finds: "NIC-19"},
	{key: "Versions.exact", at: "baseline|nvidia|driver|exact", values: [2]any{"99.1", "98"}, inert: true, finds: "NIC-19"},
	{key: "NIC.dpu", at: "hosts|gpu1|nics|ens9|dpu", values: [2]any{"gpu1-dpu/p0", "gpu1-dpu/p1"}, reinstalls: true, with: []edit{{"hosts|gpu1-dpu", m{"address": "192.0.2.250", "nics": m{"p0": m{"rdma": "mlx5_8"}, "p1": m{"rdma": "mlx5_9"}}}}, {"hosts|gpu1|nics|ens9", m{"rdma": "mlx5_5"}}}},
	{key: "NIC.vfs", at: "hosts|gpu1|nics|eth0|vfs", values: [2]any{m{"count": 4}, m{"trust": "keep"}}, reinstalls: true},
	{key: "VFs.count", at: "hosts|gpu1|nics|eth0|vfs|count", values: [2]any{4, 16}, reinstalls: true},
	{key: "VFs.trust", at: "hosts|gpu1|nics|eth0|vfs|trust", values: [2]any{"on", "off"}, with: []edit{{"hosts|gpu1|nics|eth0|vfs", m{"count": 4}}}},
	{key: "VFs.vlan", at: "hosts|gpu1|nics|eth0|vfs|vlan", values: [2]any{100, 200}, with: []edit{{"hosts|gpu1|nics|eth0|vfs", m{"count": 4}}}},
	{key: "VFs.pcp", at: "hosts|gpu1|nics|eth0|vfs|pcp", values: [2]any{2, 5}, with: []edit{{"hosts|gpu1|nics|eth0|vfs", m{"count": 4, "vlan": 100}}}},
	{key: "VFs.representors", at: "hosts|gpu1|nics|eth0|vfs|representors", values: [2]any{"off", "keep"}, inert: true},
	{key: "NIC.sfs", at: "hosts|gpu1|nics|eth0|sfs", values: [2]any{m{"count": 4}, m{"count": 8}}, reinstalls: true, inertOn: []string{"sonic dynamic", "sonic 202311"}, finds: "DRIFT", with: []edit{{"hosts|gpu1|nics|eth0|vfs", m{"representors": "on"}}}},
	{key: "SFs.count", at: "hosts|gpu1|nics|eth0|sfs|count", values: [2]any{4, 16}, reinstalls: true, inertOn: []string{"sonic dynamic", "sonic 202311"}, finds: "DRIFT", with: []edit{{"hosts|gpu1|nics|eth0|vfs", m{"representors": "on"}}}},
	{key: "NIC.rings", at: "hosts|gpu1|nics|eth0|rings", values: [2]any{m{"rx": 4096}, m{"tx": 4096}}},
	{key: "NIC.buffers", at: "hosts|gpu1|nics|eth0|buffers", values: [2]any{"auto", "keep"}, inert: true, finds: "BUF-13"},
	{key: "NIC.willing", at: "hosts|gpu1|nics|eth0|willing", values: [2]any{"keep", "off"}, inert: true},
	{key: "NIC.stallPrevention", at: "hosts|gpu1|nics|eth0|stallPrevention", values: [2]any{"keep", "auto"}, inert: true, finds: "NIC-07"},
	{key: "NIC.dcqcn", at: "hosts|gpu1|nics|eth0|dcqcn", values: [2]any{m{"rp_ai_rate": 7}, m{"rp_ai_rate": 9}}, inertOn: []string{"sonic dynamic", "sonic 202311"}, finds: "ECN-12 DRIFT"},
	{key: "NIC.dcbx", at: "hosts|gpu1|nics|eth0|dcbx", values: [2]any{"host", "keep"}, inert: true},
	{key: "NIC.maxReadRequest", at: "hosts|gpu1|nics|eth0|maxReadRequest", values: [2]any{4096, 1024}},
	{key: "NIC.relaxedOrdering", at: "hosts|gpu1|nics|eth0|relaxedOrdering", values: [2]any{"keep", "on"}, inert: true, finds: "DRIFT"},
	// The bonds and VLANs of a host exist before an apply.
	{key: "Host.bonds", at: "hosts|gpu1|bonds", values: [2]any{m{"b0": m{"members": []any{"eth0"}}}, m{"b1": m{"members": []any{"eth0"}}}}, reinstalls: true},
	{key: "Bond.members", at: "hosts|gpu1|bonds|b0|members", values: [2]any{[]any{"eth0"}, []any{"eth0", "eth1"}}, reinstalls: true, with: []edit{{"hosts|gpu1|nics|eth1", m{}}}},
	{key: "Host.vlans", at: "hosts|gpu1|vlans", values: [2]any{m{"v5": m{"on": "eth0", "id": 5}}, m{"v6": m{"on": "eth0", "id": 5}}}, reinstalls: true},
	{key: "VLAN.on", at: "hosts|gpu1|vlans|v5|on", values: [2]any{"eth0", "b0"}, reinstalls: true, with: []edit{{"hosts|gpu1|bonds", m{"b0": m{"members": []any{"eth0"}}}}, {"hosts|gpu1|vlans|v5", m{"id": 5}}}},
	{key: "VLAN.id", at: "hosts|gpu1|vlans|v5|id", values: [2]any{5, 6}, reinstalls: true, with: []edit{{"hosts|gpu1|vlans|v5", m{"on": "eth0"}}}},
	{key: "Rings.rx", at: "hosts|gpu1|nics|eth0|rings|rx", values: [2]any{2048, 4096}},
	{key: "Rings.tx", at: "hosts|gpu1|nics|eth0|rings|tx", values: [2]any{2048, 4096}},

	{key: "Routing.model", at: "routing|model", values: [2]any{"up-down", "shortest"}, once: true, inert: true},
	{key: "Routing.tiers", at: "routing|tiers", values: [2]any{[]any{"leaf", "spine"}, drop{}}, once: true, inert: true},
	{key: "Routing.exceptions", at: "routing|exceptions", values: [2]any{[]any{m{"kind": "default-up", "switches": []any{"role:spine"}}}, drop{}}, once: true, inert: true},
	{key: "Exception.kind", at: "routing|exceptions", values: [2]any{[]any{m{"kind": "up-again", "switches": []any{"role:spine"}}}, []any{m{"kind": "peer", "switches": []any{"role:leaf"}}}}, once: true, inert: true},
	{key: "Exception.switches", at: "routing|exceptions", values: [2]any{[]any{m{"kind": "default-up", "switches": []any{"spine1"}}}, []any{m{"kind": "default-up", "switches": []any{"leaf1"}}}}, once: true, inert: true, finds: "TOP-02 TOP-03"},
	{key: "Exception.remap", at: "routing|exceptions", values: [2]any{[]any{m{"kind": "default-up", "switches": []any{"spine1"}, "remap": []any{m{"class": "rdma", "as": "bulk"}}}}, drop{}}, once: true, inert: true},
	{key: "Remap.class", at: "routing|exceptions", values: [2]any{[]any{m{"kind": "default-up", "switches": []any{"spine1"}, "remap": []any{m{"class": "rdma", "as": "bulk"}}}}, []any{m{"kind": "default-up", "switches": []any{"spine1"}, "remap": []any{m{"class": "cnp", "as": "bulk"}}}}}, once: true, inert: true},
	{key: "Remap.as", at: "routing|exceptions", values: [2]any{[]any{m{"kind": "default-up", "switches": []any{"spine1"}, "remap": []any{m{"class": "rdma", "as": "bulk"}}}}, []any{m{"kind": "default-up", "switches": []any{"spine1"}, "remap": []any{m{"class": "rdma", "as": "cnp"}}}}}, once: true, inert: true},
	{key: "Routing.tunnels", at: "routing|tunnels", values: [2]any{[]any{m{"from": "leaf1", "to": "leaf2", "remap": []any{m{"class": "rdma", "as": "bulk"}}}}, drop{}}, once: true, inert: true},
	{key: "Tunnel.from", at: "routing|tunnels", values: [2]any{[]any{m{"from": "leaf1", "to": "leaf2", "remap": []any{m{"class": "rdma", "as": "bulk"}}}}, []any{m{"from": "leaf2", "to": "leaf1", "remap": []any{m{"class": "rdma", "as": "bulk"}}}}}, once: true, inert: true},
	{key: "Tunnel.to", at: "routing|tunnels", values: [2]any{[]any{m{"from": "leaf1", "to": "leaf2", "remap": []any{m{"class": "rdma", "as": "bulk"}}}}, drop{}}, once: true, inert: true},
	{key: "Tunnel.remap", at: "routing|tunnels", values: [2]any{[]any{m{"from": "leaf1", "to": "leaf2", "remap": []any{m{"class": "rdma", "as": "bulk"}}}}, []any{m{"from": "leaf1", "to": "leaf2"}}}, once: true, inert: true, finds: "TOP-05"},
	{key: "VXLAN.ends", at: "vxlan", values: [2]any{m{"ends": []any{"role:leaf"}}, m{"ends": []any{"leaf*", "spine1"}}}, once: true, inert: true, finds: "TUN-04"},
	{key: "VXLAN.underlay", at: "vxlan", values: [2]any{m{"ends": []any{"role:leaf"}, "underlay": "ipv4"}, m{"ends": []any{"role:leaf"}, "underlay": "ipv6"}}, once: true, inert: true, finds: "TUN-04"},
	{key: "VXLAN.innerTag", at: "vxlan", values: [2]any{m{"ends": []any{"role:leaf"}, "innerTag": false}, m{"ends": []any{"role:leaf"}, "innerTag": true}}, once: true, inert: true, finds: "TUN-04"},
	{key: "Island.hosts", at: "islands|a|hosts", values: [2]any{[]any{"gpu1"}, []any{"gpu[1-2]"}}, once: true, inert: true},
	{key: "Island.switches", at: "islands|a", values: [2]any{m{"hosts": []any{"gpu*"}, "switches": []any{"leaf*", "spine1"}}, m{"hosts": []any{"gpu*"}}}, once: true, inert: true},
	{key: "Island.classes", at: "islands|a", values: [2]any{m{"hosts": []any{"gpu*"}, "classes": []any{"rdma"}}, m{"hosts": []any{"gpu*"}}}, once: true, inert: true},
	{key: "Traffic.dscp", at: "traffic|a|dscp", values: [2]any{[]any{26}, []any{10}}, once: true, inert: true, finds: "CLS-11"},
	{key: "Traffic.lossless", at: "traffic|a", values: [2]any{m{"dscp": []any{10}, "lossless": false}, m{"dscp": []any{26}, "lossless": true}}, once: true, inert: true},
	{key: "Traffic.kind", at: "traffic|a", values: [2]any{m{"dscp": []any{26}, "kind": "gpu"}, m{"dscp": []any{26}, "kind": "storage"}}, once: true, inert: true},
	{key: "Suppress.check", at: "suppress", values: [2]any{[]any{m{"check": "WD-01", "reason": "a test"}}, []any{m{"check": "WD-02", "reason": "a test"}}}, with: []edit{{"pfc|watchdog", "off"}}, once: true, inert: true, finds: "WD-01 WD-02"},
	{key: "Suppress.on", at: "suppress", values: [2]any{[]any{m{"check": "WD-01", "on": "leaf*", "reason": "a test"}}, []any{m{"check": "WD-02", "on": "role:leaf", "reason": "a test"}}}, with: []edit{{"pfc|watchdog", "off"}}, once: true, inert: true, finds: "WD-01 WD-02"},
	{key: "Suppress.unchecked", at: "suppress", values: [2]any{[]any{m{"check": "WD-01", "unchecked": false, "reason": "a test"}}, []any{m{"check": "WD-01", "unchecked": true, "reason": "a test"}}}, with: []edit{{"pfc|watchdog", "off"}}, once: true, inert: true, finds: "WD-01 WD-02"},
	{key: "Rollout.portGroup", at: "rollout|portGroup", values: [2]any{1, 1024}, once: true, inert: true},
	{key: "Rollout.canary", at: "rollout|canary", values: [2]any{[]any{"leaf1"}, []any{"role:spine"}}, once: true, inert: true},
	{key: "Rollout.groups", at: "rollout|groups", values: [2]any{[]any{"leaf[1-2]"}, []any{"role:leaf"}}, once: true, inert: true},
	{key: "Rollout.together", at: "rollout|together", values: [2]any{true, false}, once: true, inert: true},
	{key: "Rollout.maxUnavailable", at: "rollout|maxUnavailable", values: [2]any{"1", "100%"}, once: true, inert: true},
	{key: "Rollout.deviceTimeout", at: "rollout|deviceTimeout", values: [2]any{"10m", "1h"}, once: true, inert: true},
	{key: "Rollout.windows", at: "rollout|windows", values: [2]any{[]any{m{"from": "00:00", "to": "24:00"}}, drop{}}, once: true, inert: true},
	{key: "Window.from", at: "rollout|windows", values: [2]any{[]any{m{"from": "00:00", "to": "24:00"}}, drop{}}, once: true, inert: true},
	{key: "Window.to", at: "rollout|windows", values: [2]any{[]any{m{"from": "00:00", "to": "24:00"}}, drop{}}, once: true, inert: true},
	{key: "Window.days", at: "rollout|windows", values: [2]any{[]any{m{"days": []any{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}, "from": "00:00", "to": "24:00"}}, drop{}}, once: true, inert: true},
	{key: "Window.timezone", at: "rollout|windows", values: [2]any{[]any{m{"from": "00:00", "to": "24:00", "timezone": "Europe/Berlin"}}, []any{m{"from": "00:00", "to": "24:00", "timezone": "UTC"}}}, once: true, inert: true},
}

package sonic

import (
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

const (
	qosorch = "sonic-net/sonic-swss, orchagent/qosorch.cpp"
	pfcwd   = "sonic-net/sonic-swss, orchagent/pfcwdorch.cpp"
	readFor = "202311 to 202511, master"
)

// Defaults lists what [Decode] assumes where a configuration has no row or field.
var Defaults = []render.Usual{
	{Kind: qos.KindMTU, Value: "9100", What: "a port has an MTU of 9100 bytes", Source: "sonic-net/sonic-swss, cfgmgr/portmgr.cpp", Releases: readFor},
	{Kind: qos.KindAdminUp, Value: "false", What: "a port is down", Source: "sonic-net/sonic-swss, cfgmgr/portmgr.cpp", Releases: readFor},
	{Kind: qos.KindTrust, Value: string(qos.TrustNone), What: "a port without a map classifies nothing: its packets are in traffic class 0", Source: "opencomputeproject/SAI, saiport.h and saiswitch.h", Releases: readFor},
	{Kind: qos.KindMap, What: "packets that no map of the port lists are in traffic class 0", Source: "opencomputeproject/SAI, saiport.h and saiqosmap.h", Releases: readFor},
	{Kind: qos.KindPFC, Value: "{}", What: "PFC is off", Source: qosorch, Releases: readFor},
	{Kind: qos.KindPFCAsymmetric, Value: "false", What: "PFC is symmetric", Source: "sonic-net/sonic-buildimage, sonic-port.yang", Releases: readFor},
	{Kind: qos.KindECN, Value: "off", What: "a queue marks nothing", Source: qosorch, Releases: readFor},
	{Kind: qos.KindWatchdog, Value: "off", What: "the watchdog is off", Source: pfcwd, Releases: readFor},
	{Kind: qos.KindLossless, Value: "false", What: "a priority group is lossy", Source: "sonic-net/sonic-swss, orchagent/bufferorch.cpp", Releases: readFor},
}

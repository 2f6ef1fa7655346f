package eos

import (
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

const (
	manualQoS   = "EOS User Manual, Quality of Service"
	manualPorts = "EOS User Manual, Ethernet Ports"
	batfishAll  = "batfish/batfish, arista_interface_show_run_all"
	allReleases = "all"
	asPublished = "4.19 to 4.24, later ones as well as far as published"
)

// Defaults lists what [Decode] assumes where a configuration has no line.
var Defaults = []render.Usual{
	{Kind: qos.KindTrust, Value: string(qos.TrustPCP), What: "a switched port trusts CoS", Source: manualQoS, Releases: allReleases},
	{Kind: qos.KindTrust, Value: string(qos.TrustDSCP), What: "a routed port trusts DSCP", Source: manualQoS, Releases: allReleases},
	{Kind: qos.KindGlobalMap, What: "DSCPs 0-7 are in traffic class 1, 8-15 in 0, and each further eight in the next class; CoS 0 and 1 are exchanged as well; class N has queue N", Source: manualQoS + ", default maps", Releases: allReleases},
	{Kind: qos.KindMTU, Value: "9214", What: "frames of switched ports have at most 9214 bytes, whatever their mtu", Source: "aristanetworks/anta, VerifyL2MTU", Releases: allReleases},
	{Kind: qos.KindMTU, What: "a routed port has an MTU of 1500 bytes, or that of interface defaults", Source: manualPorts, Releases: allReleases},
	{Kind: qos.KindPFC, Value: "{}", What: "PFC is off, and no priority is no-drop", Source: batfishAll, Releases: allReleases},
	{Kind: qos.KindWatchdog, Value: "off", What: "the watchdog has no timeout, and is off", Source: batfishAll, Releases: asPublished},
	{Kind: qos.KindWatchdog, Part: []string{keyAction, keyOverride}, What: "the action of the watchdog is errdisable", Source: batfishAll, Releases: asPublished},
	{Kind: qos.KindWatchdog, Part: []string{keyRecovery}, What: "the watchdog has no recovery time of its own", Source: batfishAll, Releases: asPublished},
	{Kind: qos.KindScheduler, Value: "strict", What: "a queue is strict", Source: batfishAll, Releases: allReleases},
	{Kind: qos.KindECN, Value: "off", What: "a queue marks nothing", Source: batfishAll, Releases: allReleases},
	{Kind: qos.KindAdminUp, Value: "true", What: "a port is up", Source: batfishAll, Releases: allReleases},
	{Kind: qos.KindLinkPause, Value: "false", What: "link pause is off", Source: batfishAll, Releases: allReleases},
}

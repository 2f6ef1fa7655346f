package faults

// bases holds the fabrics into which faults are injected, by the name that the fault tables use.
// Each has three leaves below two spines and a host at each leaf, so that one switch of a role can
// differ from two others.
var bases = map[string]string{
	"sonic": clos(`
  leaf[1-3]: {os: sonic, role: leaf, address: "192.0.2.[11-13]:8080", model: DellEMC-Z9332f-O32, release: 202511}
  spine[1-2]: {os: sonic, role: spine, address: "192.0.2.[21-22]:8080", model: DellEMC-Z9332f-O32, release: 202511}
`, "leaf[1-3]/Ethernet0", "leaf[1-3]/Ethernet[240,248]", "spine[1-2]/Ethernet[0,8,16]"),
	"dynamic": clos(`
  leaf[1-3]: {os: sonic, role: leaf, address: "192.0.2.[11-13]:8080", model: ACS-SN5600, release: 202511, bufferModel: dynamic}
  spine[1-2]: {os: sonic, role: spine, address: "192.0.2.[21-22]:8080", model: ACS-SN5600, release: 202511, bufferModel: dynamic}
`, "leaf[1-3]/Ethernet0", "leaf[1-3]/Ethernet[240,248]", "spine[1-2]/Ethernet[0,8,16]"),
	"eos": clos(`
  leaf[1-3]: {os: eos, role: leaf, address: "192.0.2.[11-13]:6030", model: DCS-7060DX5-64S, release: 4.34.2F}
  spine[1-2]: {os: eos, role: spine, address: "192.0.2.[21-22]:6030", model: DCS-7060DX5-64S, release: 4.34.2F}
`, "leaf[1-3]/Ethernet1/1", "leaf[1-3]/Ethernet[33,34]/1", "spine[1-2]/Ethernet[1,2,3]/1"),
	"nxos": clos(`
  leaf[1-3]: {os: nxos, role: leaf, address: "192.0.2.[11-13]:50051", model: N9K-C9332D-GX2B, release: 10.4(3)}
  spine[1-2]: {os: nxos, role: spine, address: "192.0.2.[21-22]:50051", model: N9K-C9332D-GX2B, release: 10.4(3)}
`, "leaf[1-3]/Ethernet1/1", "leaf[1-3]/Ethernet1/[29,30]", "spine[1-2]/Ethernet1/[1,2,3]"),
	"cumulus": clos(`
  leaf[1-3]: {os: cumulus, role: leaf, address: "192.0.2.[11-13]:8765", model: SN5400, release: 5.15.0}
  spine[1-2]: {os: cumulus, role: spine, address: "192.0.2.[21-22]:8765", model: SN5400, release: 5.15.0}
`, "leaf[1-3]/swp1", "leaf[1-3]/swp[33,34]", "spine[1-2]/swp[1,2,3]"),
	"mixed": clos(`
  leaf1: {os: sonic, role: leaf, address: "192.0.2.11:8080", model: DellEMC-Z9332f-O32, release: 202511}
  leaf2: {os: eos, role: leaf, address: "192.0.2.12:6030", model: DCS-7060DX5-64S, release: 4.34.2F}
  leaf3: {os: nxos, role: leaf, address: "192.0.2.13:50051", model: N9K-C9332D-GX2B, release: 10.4(3)}
  leaf4: {os: cumulus, role: leaf, address: "192.0.2.14:8765", model: SN5400, release: 5.15.0}
  spine1: {os: eos, role: spine, address: "192.0.2.21:6030", model: DCS-7060DX5-64S, release: 4.34.2F}
`, "", "", "") + `
  - {a: leaf1/Ethernet0, b: gpu1/eth0, cable: 5m, speed: 400G}
  - {a: leaf2/Ethernet1/1, b: gpu2/eth0, cable: 5m, speed: 400G}
  - {a: leaf3/Ethernet1/1, b: gpu3/eth0, cable: 5m, speed: 400G}
  - {a: leaf1/Ethernet240, b: spine1/Ethernet1/1, cable: 40m, speed: 400G}
  - {a: leaf2/Ethernet33/1, b: spine1/Ethernet2/1, cable: 40m, speed: 400G}
  - {a: leaf3/Ethernet1/29, b: spine1/Ethernet3/1, cable: 40m, speed: 400G}
  - {a: "leaf4/swp[33,34]", b: "spine1/Ethernet[4,5]/1", cable: 40m, speed: 400G}
`,
}

// clos returns an intent for the given switches. down, up and across are its ports towards hosts,
// towards spines, and of the spines.
func clos(switches, down, up, across string) string {
	text := `apiVersion: roce-fabric/v1
kind: Fabric
name: clos
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
pfc: {watchdog: {detect: 400ms, restore: 400ms, action: drop}}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
credentials: {switches: {username: env:FABRIC_USER, password: env:FABRIC_PASSWORD, ssh: {}}}
baseline: {ConnectX-7: {firmware: {min: 28.40.1000}}}
suppress: [{check: NIC-05, reason: the hosts are set up at each boot by other means}]
switches:` + switches + `hosts:
  gpu[1-3]: {address: "192.0.2.[101-103]", nics: {eth0: {rdma: mlx5_0}}}
links:
`
	if down != "" {
		text += `  - {a: "` + down + `", b: "gpu[1-3]/eth0", cable: 5m, speed: 400G}
  - {a: "` + up + `", b: "` + across + `", pattern: mesh, cable: 40m, speed: 400G}
`
	}
	return text
}

package intent

import (
	"strings"
	"testing"
)

const (
	header  = "apiVersion: roce-fabric/v1\nkind: Fabric\nname: f\n"                                                       // lines 1 to 3
	classes = "classes:\n  rdma: {priority: 3, dscp: [26], lossless: true}\n  default: {priority: 0, dscp: rest}\n"       // 4 to 6
	devices = "switches:\n  l1: {os: sonic, role: leaf}\n  l2: {os: sonic, role: leaf}\nhosts:\n  h1: {nics: {n0: {}}}\n" // 7 to 11
	class3  = header + "classes:\n"
	good    = header + classes
	wired   = good + devices
)

// badCases lists invalid files. schema is set if the JSON Schema can express the error and must
// therefore reject the file, too.
var badCases = []struct {
	name, in, want string
	schema         bool
}{
	{"empty", "", `1:1: the file is empty`, false},
	{"comment only", "# nothing\n", `1:1: the file is empty`, false},
	{"not a map", "- a\n", `1:1: the file must be a map, not a list`, true},
	{"syntax", "apiVersion: roce-fabric/v1\nkind: {a\nname: f\n", `2:1: did not find expected ',' or '}'`, false},
	{"second document", good + "---\nkind: Fabric\n", `7:1: a second document in the file`, false},
	{"no header", "name: f\nclasses:\n  default: {priority: 0, dscp: rest}\n", `1:1: the file has no apiVersion` + "\n" +
		`1:1: the file has no kind`, true},
	{"wrong version", "apiVersion: roce-fabric/v2\nkind: Fabrik\nname: f\nclasses:\n  default: {priority: 0, dscp: rest}\n", `1:13: apiVersion must be roce-fabric/v1, not "roce-fabric/v2"` + "\n" +
		`2:7: kind must be Fabric, not "Fabrik"`, true},
	{"no name", "apiVersion: roce-fabric/v1\nkind: Fabric\nclasses:\n  default: {priority: 0, dscp: rest}\n", `1:1: the fabric has no name`, false},
	{"bad name", "apiVersion: roce-fabric/v1\nkind: Fabric\nname: ../x\nclasses:\n  default: {priority: 0, dscp: rest}\n", `3:7: name must be a name of at most 63 letters, digits, dots, dashes and underscores, not "../x"`, true},
	{"no classes", header + "switches: {}\n", `1:1: the fabric has no classes`, false},
	{"empty classes", header + "classes: {}\n", `4:10: the fabric has no classes`, false},
	{"unknown key", good + "swiches: {}\n", `7:1: unknown key "swiches"`, true},
	{"unknown key far from any", good + "zzz: {}\n", `7:1: unknown key "zzz"`, true},
	{"duplicate key", good + "mtu: {host: 9000, host: 9000}\nmtu: {}\n", `7:19: duplicate key "host", first at 7:7` + "\n" +
		`8:1: duplicate key "mtu", first at 7:1`, false},
	{"all at once", good + "mtu: {hosts: 1}\ntrust: both\npfc: {watchdog: {detect: 5}}\nswitches: {a: {os: junos}}\n", `7:7: unknown key "hosts"` + "\n" +
		`8:8: trust must be dscp, pcp or none, not "both"` + "\n" +
		`9:26: detect: "5" has no unit` + "\n" +
		`10:20: os must be sonic, eos, nxos or cumulus, not "junos"`, true},
	{"map expected", good + "switches: 3\n", `7:11: switches must be a map, not a whole number`, true},
	{"nothing", good + "switches:\n", `7:10: switches must be a map, not nothing`, true},
	{"list expected", good + "links: {a: x/y}\n", `7:8: links must be a list, not a map`, true},
	{"entry of a list", good + "links: [x]\n", `7:9: an entry of links must be a map, not text`, true},
	{"switch is text", good + "switches: {a: sonic}\n", `7:15: "a" must be a map, not text`, true},
	{"number expected", good + "mtu: {host: big}\n", `7:13: host must be a whole number, not "big"`, true},
	{"fraction", good + "mtu: {host: 9000.5}\n", `7:13: host must be a whole number, not "9000.5"`, true},
	{"octal", good + "mtu: {host: 09000}\n", `7:13: host must be a whole number, not "09000"`, false},
	{"quoted number", good + "mtu: {host: \"9000\"}\n", `7:13: host must be a whole number, not "9000"`, true},
	{"yes is not true", good + "pfc: {asymmetric: yes}\n", `7:19: asymmetric must be true or false, not "yes"`, true},
	{"text expected", good + "switches: {a: {os: sonic, role: 3}}\n", `7:33: role must be text, not a whole number`, true},
	{"list for text", good + "trust: [dscp]\n", `7:8: trust must be text, not a list`, true},
	{"mode and lossless", class3 + "  rdma: {priority: 3, dscp: rest, lossless: true, mode: lossy}\n", `5:57: mode and lossless say the same thing`, false},
	{"no unit", class3 + "  rdma: {priority: 3, dscp: rest, bandwidth: 60, maxRate: 100, ecn: {min: 150, max: 1.5, probability: 10}}\n", `5:46: bandwidth: "60" has no unit` + "\n" +
		`5:59: maxRate: "100" has no unit` + "\n" +
		`5:75: min: "150" has no unit` + "\n" +
		`5:85: max: "1.5" has no unit` + "\n" +
		`5:103: probability: "10" has no unit`, true},
	{"wrong unit", class3 + "  rdma: {priority: 3, dscp: rest, bandwidth: 60GB, maxRate: 5m, ecn: {min: 5m, max: 1XB}}\n", `5:46: bandwidth: "60GB" is not a quantity` + "\n" +
		`5:61: maxRate: "5m" is not a quantity` + "\n" +
		`5:76: min: "5m" is not a quantity` + "\n" +
		`5:85: max: "1XB" is not a quantity`, true},
	{"fraction of a byte", class3 + "  rdma: {priority: 3, dscp: rest, ecn: {min: 1.5B, max: 5KB}}\n", `5:46: min: "1.5B" is not a whole number of the smallest unit`, false},
	{"too large", class3 + "  rdma: {priority: 3, dscp: rest, ecn: {min: 99999999999999GB, max: 5KB}}\n", `5:46: min: "99999999999999GB" is too large`, false},
	{"percentage above 100", class3 + "  rdma: {priority: 3, dscp: rest, bandwidth: 101%}\n", `5:46: bandwidth: "101%" is above 100%`, false},
	{"map for a unit", class3 + "  rdma: {priority: 3, dscp: rest, bandwidth: {}}\n", `5:46: bandwidth must be text, not a map`, true},
	{"time without unit", good + "pfc: {watchdog: {detect: \"400\"}}\n", `7:26: detect: "400" has no unit`, true},
	{"negative time", good + "pfc: {watchdog: {detect: -400ms}}\n", `7:26: detect: "-400ms" is not a quantity`, true},
	{"no priority", class3 + "  rdma: {dscp: rest}\n", `5:9: "rdma" has no priority`, true},
	{"priority out of range", class3 + "  rdma: {priority: 8, dscp: rest}\n  b: {priority: -1}\n", `5:20: priority must be 0 to 7, not 8` + "\n" +
		`6:17: priority must be 0 to 7, not -1`, true},
	{"two classes of one priority", class3 + "  a: {priority: 3, dscp: rest}\n  b: {priority: 3, queue: 2}\n", `6:17: class "b" has priority 3, already used by class "a" at 5:17`, false},
	{"two lossless classes of one priority", class3 + "  a: {priority: 3, dscp: rest, lossless: true}\n  b: {priority: 3, lossless: true}\n", `6:17: lossless class "b" has priority 3, already used by class "a" at 5:17`, false},
	{"queue clash by default", class3 + "  a: {priority: 3, dscp: rest, queue: 4}\n  b: {priority: 4}\n", `5:39: class "a" has queue 4, already used by class "b" at 6:17`, false},
	{"queue clash", class3 + "  a: {priority: 3, dscp: rest, queue: 4}\n  b: {priority: 1, queue: 4}\n", `6:27: class "b" has queue 4, already used by class "a" at 5:39`, false},
	{"DSCP out of range", class3 + "  a: {priority: 3, dscp: [64, -1, x, \"60-70\", \"9-3\"]}\n  b: {priority: 0, dscp: rest}\n", `5:27: dscp must hold code points 0 to 63 or spans like "24-31", not "64"` + "\n" +
		`5:31: dscp must hold code points 0 to 63 or spans like "24-31", not "-1"` + "\n" +
		`5:35: dscp must hold code points 0 to 63 or spans like "24-31", not "x"` + "\n" +
		`5:38: dscp must hold code points 0 to 63 or spans like "24-31", not "60-70"` + "\n" +
		`5:47: dscp holds the span "9-3", whose end is below its beginning`, true},
	{"DSCP not in a list", class3 + "  a: {priority: 3, dscp: 26}\n  b: {priority: 0, dscp: rset}\n", `5:26: dscp must be rest or a list, not "26"` + "\n" +
		`6:26: dscp must be rest or a list, not "rset"`, true},
	{"DSCP in two classes", class3 + "  a: {priority: 3, dscp: [26, 26]}\n  b: {priority: 0, dscp: [\"24-31\"]}\n  c: {priority: 1, dscp: rest}\n", `5:31: DSCP 26 of class "a" is in class "a" at 5:27` + "\n" +
		`6:27: DSCP 26 of class "b" is in class "a" at 5:27`, false},
	{"host DSCP of no class", class3 + "  a: {priority: 3, dscp: [24, 26], hostDSCP: 25}\n  b: {priority: 0, dscp: rest, hostDSCP: 64}\nroles: {leaf: {classes: {a: {hostDSCP: 10}}}}\nswitches: {s: {os: sonic, role: leaf}}\n", `5:46: hostDSCP 25 is no DSCP of class "a", which has 24, 26` + "\n" +
		`6:42: hostDSCP must be 0 to 63, not 64` + "\n" + `7:40: hostDSCP 10 is no DSCP of class "a", which has 24, 26`, true},
	{"host DSCP of another class", class3 + "  a: {priority: 3, dscp: [24, 26], hostDSCP: 24}\n  b: {priority: 0, dscp: rest, hostDSCP: 24}\nroles: {leaf: {classes: {a: {hostDSCP: 10}}}}\nswitches: {s: {os: sonic, role: leaf}}\n", `6:42: hostDSCP 24 is no DSCP of class "b", which has 0-23, 25, 27-63` + "\n" +
		`7:40: hostDSCP 10 is no DSCP of class "a", which has 24, 26`, false},
	{"host DSCP of a class without any", header + "trust: pcp\nclasses:\n  a: {priority: 3, hostDSCP: 24}\n", `6:30: hostDSCP 24 is no DSCP of class "a", which has none`, false},
	{"alpha of a lossy class", class3 + "  a: {priority: 3, dscp: rest, lossless: true, alpha: 8}\n  b: {priority: 4, alpha: 1}\nroles: {leaf: {classes: {a: {lossless: false, alpha: 2}}}}\nswitches: {s: {os: sonic, role: leaf}}\n", `5:55: alpha must be -8 to 7, not 8` + "\n" +
		`6:27: alpha is that of a lossless group, and the class is lossy` + "\n" + `7:54: alpha is that of a lossless group, and the class is lossy`, true},
	{"two rests", class3 + "  a: {priority: 3, dscp: rest}\n  b: {priority: 0, dscp: rest}\n", `6:26: class "b" has dscp: rest, but so has class "a" at 5:26`, false},
	{"undecided DSCP", class3 + "  a: {priority: 3, dscp: [26, 46]}\n  b: {priority: 0, dscp: [\"0-25\", \"47-62\"]}\n", `5:3: no class takes DSCP 27-45, 63`, false},
	{"no DSCP at all", class3 + "  a: {priority: 3}\n", `5:3: no class takes DSCP 0-63`, false},
	{"PCP twice", class3 + "  a: {priority: 3, dscp: rest, pcp: [3, 4]}\n  b: {priority: 0, pcp: [0, 4, 8]}\n", `6:29: PCP 4 of class "b" is in class "a" at 5:41` + "\n" +
		`6:32: pcp must be 0 to 7, not 8`, true},
	{"PCP of another priority", class3 + "  a: {priority: 3, dscp: rest, pcp: [3, 4]}\n  b: {priority: 4}\n", `5:41: PCP 4 of class "a" is the default of class "b", from its priority at 6:17`, false},
	{"bandwidths above 100", class3 + "  a: {priority: 3, dscp: rest, bandwidth: 60%}\n  b: {priority: 4, bandwidth: 50%}\n", `6:31: the bandwidths of a and b add up to 110%, more than 100%`, false},
	{"no bandwidth left", class3 + "  a: {priority: 3, dscp: rest, bandwidth: 100%}\n  b: {priority: 4}\n", `6:3: no bandwidth is left for class "b" after a`, false},
	{"bandwidth of a strict class", class3 + "  a: {priority: 3, dscp: rest, strict: true, bandwidth: 10%}\n", `5:57: a strict class has no share of the bandwidth`, false},
	{"nothing of the link", class3 + "  a: {priority: 3, dscp: rest, bandwidth: 0%, maxRate: 0G}\n", `5:43: bandwidth: 0% would starve the class` + "\n" +
		`5:56: maxRate: 0 would stop the class`, false},
	{"ECN min above max", class3 + "  a: {priority: 3, dscp: rest, ecn: {min: 2MB, max: 1MB}}\n", `5:43: min 2MB is above max 1MB`, false},
	{"ECN without its ends", class3 + "  a: {priority: 3, dscp: rest, lossless: true, ecn: {auto: false, probability: 10%}}\n", `5:60: auto: false leaves the curve without min and max`, false},
	{"a share with a fraction", class3 + "  a: {priority: 3, dscp: rest, bandwidth: 0.5%}\n", `5:43: bandwidth: 0.5% is not a whole percentage`, false},
	{"ECN min above max in another unit", class3 + "  a: {priority: 3, dscp: rest, ecn: {min: 1ms, max: 100us}}\n", `5:43: min 1ms is above max 100us`, false},
	{"ECN from 0", class3 + "  a: {priority: 3, dscp: rest, ecn: {min: 0B, max: 1MB}}\n", `5:43: min: 0 would mark every packet`, false},
	{"ECN half", class3 + "  a: {priority: 3, dscp: rest, ecn: {min: 1MB}}\n  b: {priority: 4, ecn: {max: 1MB}}\n", `5:37: ecn has min but no max` + "\n" +
		`6:25: ecn has max but no min`, false},
	{"ECN empty", class3 + "  a: {priority: 3, dscp: rest, ecn: {}}\n  b: {priority: 4, ecn: {probability: 5%}}\n", `5:37: ecn states nothing` + "\n" +
		`6:25: ecn states a probability, but neither min and max nor auto`, false},
	{"ECN auto and fixed", class3 + "  a: {priority: 3, dscp: rest, ecn: {auto: true, min: 1KB, max: 2KB, probability: 5.5%}}\n", `5:37: ecn has both auto and min or max` + "\n" +
		`5:83: probability: 5.5% is not a whole percentage`, false},
	{"ECN by no speed", class3 + "  a: {priority: 3, dscp: rest, ecn: {bySpeed: {100: {min: 1KB, max: 2KB}, 99G: {min: 1KB, max: 2KB}, 1600G: {min: 1KB, max: 2KB}, 1.6T: {min: 1KB, max: 2KB}}}}\n", `5:48: "100" is not a speed such as 100G`, true},
	{"ECN by unknown speed", class3 + "  a: {priority: 3, dscp: rest, ecn: {bySpeed: {99G: {min: 1KB, max: 2KB}, 1600G: {min: 1KB, max: 2KB}, 1.6T: {min: 1KB, max: 2KB}}}}\n", `5:48: speed: 99G is not a link rate` + "\n" +
		`5:104: 1.6T is the same speed as at 5:75`, false},
	{"ECN by speed, half", class3 + "  a: {priority: 3, dscp: rest, ecn: {bySpeed: {100G: {min: 1KB}, 200G: {}}}}\n", `5:54: "100G" has no max` + "\n" +
		`5:72: "200G" has no max` + "\n" + `5:72: "200G" has no min`, true},
	{"ECN by speed, wrong", class3 + "  a: {priority: 3, dscp: rest, ecn: {bySpeed: {100G: {min: 2KB, max: 1KB}, 200G: {min: 0B, max: 1KB, probability: 0.5%}}}}\n", `5:60: min 2KB is above max 1KB` + "\n" +
		`5:88: min: 0 would mark every packet` + "\n" + `5:115: probability: 0.5% is not a whole percentage`, false},
	{"ECN without the speed of a port", class3 + "  a: {priority: 3, dscp: rest, ecn: {bySpeed: {100G: {min: 1KB, max: 2KB}}}}\n" + devices + "links: [{a: \"l1/Ethernet[0,4]\", b: \"l2/Ethernet[0,4]\", cable: 5m, speed: 400G}, {a: l1/Ethernet8, b: h1/n0, cable: 3m, speed: 200G}]\n",
		`5:37: ecn of class "a" has no curve for 200G, the speed of l1/Ethernet8` + "\n" + `5:37: ecn of class "a" has no curve for 400G, the speed of l1/Ethernet0`, false},
	{"ECN by speed of a port without one", class3 + "  a: {priority: 3, dscp: rest, ecn: {bySpeed: {100G: {min: 1KB, max: 2KB}}}}\nswitches: {l1: {os: sonic, ports: {Ethernet0: {admin: up}}}}\n", `6:36: l1/Ethernet0 has no speed, by which class "a" has its curve`, false},
	{"ECN word", class3 + "  a: {priority: 3, dscp: rest, ecn: atuo}\n", `5:37: ecn must be auto, off, keep or a map, not "atuo"`, true},
	{"ECN kept with a probability", class3 + "  a: {priority: 3, dscp: rest, ecn: keep}\nroles: {leaf: {classes: {a: {ecn: {probability: 5%}}}}}\nswitches: {s: {os: sonic, role: leaf}}\n", `6:35: ecn states a probability for a class whose ecn is keep`, false},
	{"class name", class3 + "  a b: {priority: 3, dscp: rest}\n", `5:3: "a b" is not a class name of at most 32 letters, digits, dashes and underscores`, true},
	{"watchdog", good + "pfc: {watchdog: {detect: 0ms, restore: 400us, action: drap}}\n", `7:26: detect must be above 0` + "\n" +
		`7:40: restore: 400µs is not a whole number of milliseconds` + "\n" +
		`7:55: action must be drop, forward, alert or errdisable, not "drap"`, true},
	{"watchdog below its poll", good + "pfc: {watchdog: {detect: 100ms, poll: 200ms}}\n", `7:26: detect 100ms is below poll 200ms`, false},
	{"watchdog poll above the default", good + "pfc: {watchdog: {poll: 1s}}\n", `7:24: poll 1s is above the default of detect and restore, 400ms`, false},
	{"watchdog word", good + "pfc: {watchdog: on}\n", `7:17: watchdog must be off or a map, not "on"`, true},
	{"MTU out of range", good + "mtu: {fabric: 9217, host: 67, rdma: 1000}\n", `7:15: fabric must be 68 to 9216, not 9217` + "\n" +
		`7:27: host must be 68 to 9216, not 67` + "\n" +
		`7:37: rdma must be 256, 512, 1024, 2048 or 4096, not 1000`, true},
	{"host MTU above fabric", good + "mtu: {fabric: 4500}\n", `7:15: host MTU 9000 is above fabric MTU 4500`, false},
	{"RDMA does not fit", good + "mtu: {host: 4191}\n", `7:13: an RDMA payload of 4096 bytes and 96 of headers do not fit a host MTU of 4191`, false},
	{"buffers", good + "buffers: {alpha: 9, minLosslessPacket: 10KB, overSubscription: 0.5}\n", `7:18: alpha must be -8 to 7, not 9` + "\n" +
		`7:40: minLosslessPacket must be 64B to 9216B, not 10KB` + "\n" +
		`7:64: overSubscription must be 1 to 64, not 0.5`, true},
	{"fan and headroom", good + "buffers: {fanIn: 0, fanOut: 5000, headroom: ieee, pauseResponse: 905}\n", `7:18: fanIn must be 1 to 4096, not 0` + "\n" +
		`7:29: fanOut must be 1 to 4096, not 5000` + "\n" +
		`7:45: headroom must be ieee-quanta or sonic-dyn, not "ieee"` + "\n" +
		`7:66: pauseResponse: "905" has no unit`, true},
	{"pause response", good + "buffers: {pauseResponse: 0q}\nhosts: {h: {pauseResponse: 2s}}\n", `7:26: pauseResponse: "0q" is not a quantity` + "\n" +
		`8:28: pauseResponse: "2s" is not a quantity`, true},
	{"rollout", good + "rollout: {portGroup: 0}\n", `7:22: portGroup must be 1 to 1024, not 0`, true},
	{"windows", good + "rollout:\n  windows:\n  - {days: [mon, Tues], from: 7:00, to: 25:00, timezone: +02:00}\n  - {from: 24:00}\n", `9:18: days must be mon, tue, wed, thu, fri, sat or sun, not "Tues"` + "\n" +
		`9:31: from must be a time such as 22:00, not "7:00"` + "\n" +
		`9:41: to must be a time such as 04:00, not "25:00"` + "\n" +
		`9:58: timezone must be a time zone such as Europe/Berlin, not "+02:00"` + "\n" +
		`10:5: an entry of windows has no to` + "\n" +
		`10:12: from must be a time such as 22:00, not "24:00"`, true},
	{"approval", good + "rollout:\n  approval: {url: \"http://hunter2@x\", token: hunter2, command: [\"a\\nb\"], timeout: 90}\n", `8:13: approval needs either a command or a url` + "\n" +
		`8:19: url must be an address such as https://change.example.net/roce, not text` + "\n" +
		`8:46: token must be a reference to a secret, not text` + "\n" +
		`8:65: command must be one line of text, not text` + "\n" +
		`8:83: timeout: "90" has no unit`, true},
	{"approval of nobody", good + "rollout: {approval: {timeout: 0s}}\n", `7:21: approval needs either a command or a url` + "\n" +
		`7:31: timeout must be 1s to 24h, not 0s`, false},
	{"drain", good + "rollout:\n  reset: {drain: {command: [], token: env:X}, undrain: {url: \"https://x\", timeout: 90}, back: 25h}\n", `8:28: the command is empty` + "\n" +
		`8:84: timeout: "90" has no unit` + "\n" + `8:95: back must be 1s to 24h, not 25h0m0s`, false},
	{"baseline", good + "baseline: {ConectX-7: {firmware: {min: 1}}, nvidia: {}, Thor2: {driver: {min: 1, exact: 2}}}\n", `7:12: "ConectX-7" is no card that this tool knows` + "\n" +
		`7:45: baseline "nvidia" states neither firmware nor driver` + "\n" + `7:73: driver needs either min or exact`, false},
	{"approval of two", good + "rollout: {approval: {command: [x], url: \"https://x\"}}\n", `7:21: approval needs either a command or a url`, false},
	{"approval by a command", good + "rollout: {approval: {command: [], token: env:X}}\n", `7:31: the command is empty`, false},
	{"approval by a command with a token", good + "rollout: {approval: {command: [x], token: env:X}}\n", `7:43: a command takes no token and no ca, which are for a url`, false},
	{"windows that cannot be", good + "rollout:\n  windows:\n  - {days: [], from: 22:00, to: 22:00, timezone: Europe/Bonn}\n  - {from: 22:00, to: 23:00, timezone: Local}\n", `9:5: the window ends when it begins` + "\n" +
		`9:12: the window has no day` + "\n" +
		`9:50: there is no time zone "Europe/Bonn"` + "\n" +
		`10:40: there is no time zone "Local"`, false},
	{"trust", good + "trust: dcsp\n", `7:8: trust must be dscp, pcp or none, not "dcsp"`, true},
	{"override of an unknown class", good + "roles: {leaf: {classes: {rmda: {bandwidth: 5%}}}}\nswitches: {a: {os: sonic, role: leaf}}\n", `7:26: no class "rmda" in the fabric`, false},
	{"override of a priority", good + "roles: {leaf: {classes: {rdma: {priority: 4}}}}\nswitches: {a: {os: sonic, role: leaf}}\n", `7:33: unknown key "priority"`, true},
	{"override of the sum", good + "switches: {a: {os: sonic, classes: {rdma: {bandwidth: 80%}, default: {bandwidth: 30%}}}}\n", `7:82: the bandwidths of rdma and default add up to 110%, more than 100%`, false},
	{"port override of ECN", good + "switches: {a: {os: sonic, ports: {\"Ethernet[0-4:4]\": {classes: {default: {ecn: {min: 1KB}}}}}}}\n", `7:80: ecn has min but no max`, false},
	{"role of no switch", good + "roles: {laef: {trust: pcp}}\nswitches: {a: {os: sonic, role: leaf}}\n", `7:9: no switch has the role "laef"`, false},
	{"no os", good + "switches: {a: {}}\n", `7:15: "a" has no os`, true},
	{"os", good + "switches: {a: {os: sonc, bufferModel: static}}\n", `7:20: os must be sonic, eos, nxos or cumulus, not "sonc"` + "\n" +
		`7:39: bufferModel must be dynamic or traditional, not "static"`, true},
	{"device name", good + "switches: {\"a b\": {os: sonic}, -a: {os: sonic}, \"a[1-\": {os: sonic}}\n", `7:12: "a b" is not a name of at most 63 letters, digits, dots, dashes and underscores` + "\n" +
		`7:32: "-a" is not a name of at most 63 letters, digits, dots, dashes and underscores` + "\n" +
		`7:49: "a[1-" is not a name of at most 63 letters, digits, dots, dashes and underscores`, true},
	{"long device name", good + "switches: {aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: {os: sonic}}\n", `7:12: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..." is not a name of at most 63 letters, digits, dots, dashes and underscores`, false},
	{"range", good + "switches: {\"a[5-1]\": {os: sonic}, \"b[1-9:3]\": {os: sonic}, \"c[1-3:0]\": {os: sonic}, \"d[1,]\": {os: sonic}, \"e[1-9999999999]\": {os: sonic}}\n", `7:12: bad range: [5-1]: the last number is below the first` + "\n" +
		`7:35: bad range: [1-9:3]: steps of 3 reach 7 and not 9` + "\n" +
		`7:60: bad range: [1-3:0]: the step is 0` + "\n" +
		`7:85: bad range: [1,]: a number is missing` + "\n" +
		`7:107: bad range: [1-9999999999]: "9999999999" is not a number of at most 9 digits`, false},
	{"huge range", good + "switches: {\"a[1-999999][1-999999]\": {os: sonic}, \"b[1-999999999]\": {os: sonic}}\n", `7:12: bad range: a[1-999999][1-999999] stands for more than 1000000 names` + "\n" +
		`7:50: bad range: [1-999999999] stands for more than 1000000 names`, false},
	{"device twice", good + "switches: {\"a[1-3]\": {os: sonic}, a2: {os: sonic}}\nhosts: {a3: {}}\n", `7:35: device "a2" is already declared at 7:12` + "\n" +
		`8:9: device "a3" is already declared at 7:12`, false},
	{"address", good + "switches: {a: {os: sonic, address: \"192.0.2.300:8080\"}, b: {os: nxos, address: 192.0.2.1}, c: {os: eos, address: \"192.0.2.1:0\"}, d: {os: eos, address: \"[2001:db8::g]:1\"}, e: {os: eos, address: \"[2001]:1\"}}\n", `7:36: address "192.0.2.300:8080" is neither an IP address nor a host name with a port` + "\n" +
		`7:114: address "192.0.2.1:0" has a port outside 1 to 65535` + "\n" +
		`7:152: address "[2001:db8::g]:1" has no IPv6 address in its brackets` + "\n" +
		`7:194: address "2001:1" is neither an IP address nor a host name with a port`, false},
	{"address syntax", good + "switches: {a: {os: sonic, address: \"https://x\"}, b: {os: sonic, address: \"bob:hunter2@x\"}}\n", `7:36: address must be host:port, not "https://x"` + "\n" +
		`7:74: address must be host:port, not text`, true},
	{"address twice", good + "switches: {a: {os: sonic, address: 192.0.2.1}, b: {os: sonic, address: \"192.0.2.1:8080\"}}\n", `7:72: address 192.0.2.1:8080 of "b" is already used by "a" at 7:36`, false},
	{"one address for a range", good + "switches: {\"a[1-4]\": {os: sonic, address: 192.0.2.1}}\n", `7:43: address is one value for 4 names`, false},
	{"ranges of different length", good + "switches: {\"a[1-4]\": {os: sonic, address: \"192.0.2.[1-3]\"}}\n", `7:43: address stands for 3 values, its key for 4 names`, false},
	{"one RDMA device for a range", good + "hosts: {a: {nics: {\"n[0-1]\": {rdma: mlx5_0}}}}\n", `7:37: rdma is one value for 2 names`, false},
	{"serial number twice", good + "switches: {a: {os: sonic, identity: {serial: X1}}}\nhosts: {b: {identity: {serial: x1}}}\n", `8:32: serial number x1 of "b" is already used by "a" at 7:46`, false},
	{"MAC address twice", good + "switches: {a: {os: sonic, identity: {mac: \"52:54:00:00:00:0a\"}}, b: {os: sonic, identity: {mac: 5254.0000.000A}}}\n", `7:97: MAC address 52:54:00:00:00:0a of "b" is already used by "a" at 7:43`, false},
	{"not a MAC address", good + "switches: {a: {os: sonic, identity: {mac: 52-54-00}}}\n", `7:43: "52-54-00" is not a MAC address`, false},
	{"one serial number for two", good + "switches: {\"a[1-2]\": {os: sonic, identity: {serial: X1}}}\n", `7:53: serial is one value for 2 names`, false},
	{"RDMA device twice", good + "hosts: {a: {nics: {n0: {rdma: mlx5_0}, n1: {rdma: mlx5_0}}}}\n", `7:51: RDMA device "mlx5_0" of NIC "n1" is already used by NIC "n0" at 7:31`, false},
	{"cards", good + "hosts: {a: {nics: {n0: {dcqcn: {rp_ai_rat: 5, rp_gd: -1, init_cr: 5000000000, rtt: x}, maxReadRequest: 1000}, n1: {dcqcn: 5, relaxedOrdering: off, dcbx: os}}}}\n", `7:33: unknown key "rp_ai_rat"` + "\n" +
		`7:54: rp_gd must be 0 to 4294967295, not -1` + "\n" +
		`7:67: init_cr must be 0 to 4294967295, not 5000000000` + "\n" +
		`7:84: rtt must be a whole number, not "x"` + "\n" +
		`7:104: maxReadRequest must be 128, 256, 512, 1024, 2048 or 4096, not 1000` + "\n" +
		`7:123: dcqcn must be a map, not a whole number` + "\n" +
		`7:143: relaxedOrdering must be on or keep, not "off"` + "\n" +
		`7:154: dcbx must be host or keep, not "os"`, true},
	{"ring sizes", good + "hosts: {a: {nics: {n0: {rings: {rx: 8, tx: 70000, mini: 1}}, n1: {rings: 8192}}}}\n", `7:37: rx must be 16 to 65536, not 8` + "\n" +
		`7:44: tx must be 16 to 65536, not 70000` + "\n" +
		`7:51: unknown key "mini"` + "\n" +
		`7:74: rings must be a map, not a whole number`, true},
	{"NIC name", good + "hosts: {a: {nics: {a-very-long-name0: {}, n/0: {}}}}\n", `7:20: "a-very-long-name0" is not an interface name of at most 15 characters` + "\n" +
		`7:43: "n/0" is not an interface name of at most 15 characters`, false},
	{"NIC twice", good + "hosts: {a: {nics: {\"n[0-1]\": {}, n1: {}}}}\n", `7:34: NIC "n1" is already declared at 7:20`, false},
	{"bonds", good + "hosts:\n  a:\n    nics: {n0: {}, n1: {}}\n    bonds:\n      b0: {members: [n0, n9]}\n      b1: {members: [n0]}\n      b2: {members: []}\n      n1: {members: [n1]}\n", `11:26: bond "b0" has the member "n9", which is not in nics of the host` + "\n" +
		`12:22: NIC "n0" of bond "b1" is a member of bond "b0" at 11:22` + "\n" +
		`13:21: bond "b2" has no members` + "\n" +
		`14:7: bond "n1" is already declared at 9:20`, false},
	{"bond values", good + "hosts: {a: {nics: {n0: {}}, bonds: {b0: {}, b1: {members: n0, mtu: 9000}}}}\n", `7:41: "b0" has no members` + "\n" +
		`7:59: members must be a list, not "n0"` + "\n" +
		`7:63: unknown key "mtu"`, true},
	{"members in step", good + "hosts: {a: {nics: {\"n[0-3]\": {}}, bonds: {\"b[0-1]\": {members: [n0, \"n[1-3]\"]}}}}\n", `7:64: a member is one value for 2 names` + "\n" +
		`7:68: a member stands for 3 values, its key for 2 names`, false},
	{"sides of a card", good + "hosts:\n  h: {nics: {n0: {dpu: b/p0}, n1: {dpu: a/p9}, n2: {dpu: h/n3}, n3: {}, n4: {dpu: a/p1}, n5: {dpu: a/p1}, n6: {dpu: h2/n0}}}\n  h2: {nics: {n0: {dpu: a/p0, willing: off, sfs: {count: 2}}}}\n  a: {nics: {p0: {}, p1: {}}}\n", `8:24: NIC "h/n0" names b/p0 in dpu, but no host of the intent has such a NIC` + "\n" +
		`8:41: NIC "h/n1" names a/p9 in dpu, but no host of the intent has such a NIC` + "\n" +
		`8:58: NIC "h/n2" names a NIC of the same host in dpu` + "\n" +
		`8:100: NIC "h/n5" names a/p1 in dpu, but so does NIC "h/n4" at 8:83` + "\n" +
		`8:117: NIC "h/n6" names h2/n0 in dpu, but that NIC does not own its port either` + "\n" +
		`9:40: willing must be set on a/p0, the NIC that owns the port` + "\n" +
		`9:58: sfs must be set on a/p0, the NIC that owns the port`, false},
	{"link of the other side", good + "switches: {l1: {os: sonic}}\nhosts:\n  h: {nics: {n0: {dpu: a/p0}}}\n  a: {nics: {p0: {}}}\nlinks:\n  - {a: l1/Ethernet0, b: h/n0, cable: 3m, speed: 400G}\n", `12:5: the link ends at NIC "h/n0", and its port belongs to a/p0`, false},
	{"selectors", good + "hosts:\n  a:\n    nics:\n      n0: {select: {}}\n      n1: {select: {vendor: mellanox}}\n      n2: {select: {pci: \"3b\"}}\n      n3: {select: {vendor: intel, rail: 0}}\n", `10:20: select states nothing to choose a NIC by` + "\n" +
		`11:29: vendor must be nvidia, broadcom, intel, amd or the number of a PCI vendor, not "mellanox"` + "\n" +
		`12:26: pci must be a PCI address such as 0000:3b:00.0, not "3b"` + "\n" +
		`13:42: rail must be a number from 1, or a range of them, not "0"`, false},
	{"selectors of two", good + "hosts:\n  a:\n    nics:\n      n0: {select: {serial: x}}\n      n1: {select: {serial: x}}\n      \"n[2-3]\": {select: {vendor: amd, rail: 2}}\n      \"n[4-5]\": {select: {rail: \"[0-1]\"}}\n", `11:20: NIC "n1" is chosen by serial x, and so is NIC "n0" at 10:20` + "\n" +
		`12:46: rail is one value for 2 names` + "\n" +
		`13:33: rail must be 1 to 999, not 0`, false},
	{"VLANs", good + "hosts:\n  a:\n    nics: {n0: {}}\n    bonds: {b0: {members: [n0]}}\n    vlans:\n      v1: {on: b1, id: 100}\n      v2: {on: b0, id: 100}\n      v3: {on: b0, id: 100}\n      b0: {on: n0, id: 5}\n", `12:16: VLAN "v1" is on "b1", which is neither in nics nor in bonds of the host` + "\n" +
		`14:24: VLAN 100 on b0 of "v3" is already used by "v2" at 13:24` + "\n" +
		`15:7: VLAN "b0" is already declared at 10:13`, false},
	{"VLAN values", good + "hosts: {a: {nics: {n0: {}}, vlans: {v0: {on: n0, id: 0}, v1: {on: n0, id: 4095}, v2: {}}}}\n", `7:54: id must be 1 to 4094, not 0` + "\n" +
		`7:75: id must be 1 to 4094, not 4095` + "\n" +
		`7:86: "v2" has no id` + "\n" +
		`7:86: "v2" has no on`, true},
	{"port twice", good + "switches: {a: {os: sonic, ports: {\"Ethernet[0-8:4]\": {}, Ethernet4: {}}}}\n", `7:58: port "Ethernet4" is already declared at 7:35`, false},
	{"port values", good + "switches: {a: {os: sonic, ports: {Ethernet0: {speed: 410G, cable: 0m, fec: xx, admin: true, breakout: 4x, lag: \"a b\"}}}}\n", `7:54: speed: 410G is not a link rate` + "\n" +
		`7:67: cable: 0m would leave no headroom` + "\n" +
		`7:76: fec must be rs, fc or none, not "xx"` + "\n" +
		`7:87: admin must be text, not true or false` + "\n" +
		`7:103: breakout must be a breakout mode such as 4x100G, not "4x"` + "\n" +
		`7:112: lag must be a port name, not "a b"`, true},
	{"link without ends", wired + "links: [{a: l1/e0, cable: 5m, speed: 400G}]\n", `12:9: an entry of links has no b`, true},
	{"link end", wired + "links: [{a: l1, b: l2/e0, cable: 5m, speed: 400G}]\n", `12:13: a must be device/port, not "l1"`, true},
	{"unknown device", wired + "links: [{a: l1/e0, b: l3/e0, cable: 5m, speed: 400G}]\n", `12:23: no switch or host "l3"`, false},
	{"unknown devices of a range", wired + "links: [{a: \"l1/e[0-9]\", b: \"x[0-9]/e0\", cable: 5m, speed: 400G}]\n", `12:29: no switch or host "x0" (and 9 more)`, false},
	{"unknown NIC", wired + "links: [{a: l1/e0, b: h1/n1, cable: 5m, speed: 400G}]\n", `12:23: no NIC "n1" at host "h1"`, false},
	{"port in two links", wired + "links:\n  - {a: l1/e0, b: l2/e0, cable: 5m, speed: 400G}\n  - {a: l1/e0, b: l2/e1, cable: 5m, speed: 400G}\n", `14:9: "l1/e0" is already in the link at 13:5`, false},
	{"range over a linked port", wired + "links:\n  - {a: \"l1/e[0-3]\", b: \"l2/e[0-3]\", cable: 5m, speed: 400G}\n  - {a: \"l1/e[2-5]\", b: \"l2/e[4-7]\", cable: 5m, speed: 400G}\n", `14:9: "l1/e2" (and 1 more) is already in the link at 13:5`, false},
	{"NIC in two links", wired + "links:\n  - {a: l1/e0, b: h1/n0, cable: 5m, speed: 400G}\n  - {a: l1/e1, b: h1/n0, cable: 5m, speed: 400G}\n", `14:19: "h1/n0" is already in the link at 13:5`, false},
	{"port twice in one link", wired + "links: [{a: \"l1/e[0-1]\", b: \"l2/e[0,0]\", cable: 5m, speed: 400G}]\n", `12:29: "l2/e0" appears twice in this link`, false},
	{"link to itself", wired + "links: [{a: l1/e0, b: l1/e1, cable: 5m, speed: 400G}]\n", `12:9: a link joins "l1" with itself`, false},
	{"cable of nothing", wired + "links: [{a: l1/e0, b: l2/e0, cable: 0m, speed: 400G}]\n", `12:37: cable: 0m would leave no headroom`, false},
	{"cable of a slip", wired + "links: [{a: l1/e0, b: l2/e0, cable: 500km, speed: 450G}]\n", `12:37: cable: 500000m is longer than 100000m` + "\n" +
		`12:51: speed: 450G is not a link rate`, false},
	{"no cable, no speed", wired + "links: [{a: l1/e0, b: l2/e0}]\n", `12:9: the link has no cable` + "\n" +
		`12:9: the link has no speed`, false},
	{"pairs of different number", wired + "links: [{a: \"l1/e[0-3]\", b: \"l2/e[0-2]\", cable: 5m, speed: 400G}]\n", `12:9: a has 4 ends and b has 3`, false},
	{"mesh", wired + "links: [{a: \"l1/e[0-2]\", b: \"l2/e[0-3]\", pattern: mesh, cable: 5m, speed: 400G}]\n", `12:9: a mesh of 1 devices with 3 ports and 1 devices with 4 ports does not come out even`, false},
	{"rail of switches", wired + "links: [{a: l1/e0, b: l2/e0, pattern: rail, cable: 5m, speed: 400G}]\n", `12:23: a rail needs hosts at b, and "l2" is a switch`, false},
	{"rail of NICs", wired + "links: [{a: \"l[1-2]/e0\", b: h1/n0, pattern: rail, cable: 5m, speed: 400G}]\n", `12:9: a rail has 2 leaves at a and 1 NICs a host at b`, false},
	{"rail of ports", wired + "links: [{a: \"l1/e[0-1]\", b: h1/n0, pattern: rail, cable: 5m, speed: 400G}]\n", `12:9: a rail has 2 ports a leaf at a and 1 hosts at b`, false},
	{"pattern", wired + "links: [{a: l1/e0, b: l2/e0, pattern: mash, cable: 5m, speed: 400G}]\n", `12:39: pattern must be pairs, mesh or rail, not "mash"`, true},
	{"speed in two places", good + "switches:\n  a: {os: sonic, ports: {e0: {speed: 100G}}}\n  b: {os: sonic}\nlinks: [{a: a/e0, b: b/e0, cable: 5m, speed: 400G}]\n", `10:46: speed of "a/e0" is 400G here and 100G at 8:38`, false},
	{"password in plain", good + "credentials: {switches: {username: u, password: hunter2}}\n", `7:49: password must be a reference to a secret, not text`, true},
	{"password in plain, a number", good + "credentials: {switches: {password: 12345}}\n", `7:36: password must be text, not a whole number`, true},
	{"password without a space", good + "credentials: {switches: {password:hunter2}}\n", `7:26: unknown key "password:..."`, true},
	{"password as section", good + "credentials: {switches: hunter2}\n", `7:25: switches must be a map, not text`, true},
	{"password in the jump host", good + "credentials: {switches: {ssh: {jump: \"bob:hunter2@x:22\"}}}\n", `7:38: jump must be user@host:port, not text`, true},
	{"ssh address for all", good + "credentials: {switches: {ssh: {address: 192.0.2.1}}}\n", `7:32: unknown key "address"`, true},
	{"plaintext with a password", good + "switches: {a: {os: sonic, access: {tls: {plaintext: true}}}}\ncredentials: {switches: {password: env:P}}\n", `7:53: plaintext would send the password stated at 8:36 unprotected`, false},
	{"any certificate with a password", good + "switches: {a: {os: sonic, access: {tls: {insecure: true}}}}\ncredentials: {switches: {password: env:P}}\n", `7:52: insecure would send the password stated at 8:36 to whoever answers`, false},
	{"plaintext with a CA", good + "switches: {a: {os: sonic, access: {tls: {plaintext: true, ca: x.pem}}}}\n", `7:53: plaintext contradicts the TLS settings at 7:63`, false},
	{"insecure with a pin", good + "switches: {a: {os: sonic, access: {tls: {insecure: true, pin: \"sha256:abababababababababababababababababababababababababababababababab\"}}}}\n", `7:52: insecure accepts any certificate and contradicts the pin at 7:63`, false},
	{"pin", good + "switches: {a: {os: sonic, access: {tls: {pin: \"sha256:ab\"}}}}\n", `7:47: pin must be sha256: and 64 hex digits, not "sha256:ab"`, true},
	{"certificate without key", good + "switches: {a: {os: sonic, access: {tls: {cert: x.pem}}}}\n", `7:48: a client certificate needs both cert and key`, false},
	{"ssh", good + "switches: {\"a[1-2]\": {os: sonic, access: {ssh: {address: 192.0.2.1, jump: \"u@h:70000\"}}}}\n", `7:58: ssh address is one value for 2 names` + "\n" +
		`7:75: the address of the jump host has a port outside 1 to 65535`, false},
}

func TestBadInput(t *testing.T) {
	for _, c := range badCases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load("-", Options{Stdin: strings.NewReader(c.in)})
			if err == nil {
				t.Fatal("accepted")
			}
			got := strings.ReplaceAll(err.Error(), Stdin+":", "")
			if got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if strings.Contains(got, "hunter2") {
				t.Error("the message repeats a secret")
			}
		})
	}
}

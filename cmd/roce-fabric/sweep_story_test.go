package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// fault is a kind of failure injected by a story.
type fault string

const (
	connectionReset fault = "reset"
	halfOpen        fault = "half-open"
	slowBytes       fault = "slow bytes"
	ctrlC           fault = "interrupt"
	restart         fault = "restart"
	savedRestart    fault = "restart after a save"
	refusal         fault = "refused line"
	falseFailure    fault = "false failure"
	falseSuccess    fault = "false success"
	sigkill         fault = "SIGKILL"
	diskFull        fault = "full disk"
	partition       fault = "lock store out of reach"
)

// sweepFaults lists the faults that strike when data is exchanged, more likely ones several
// times. A kill needs no separate process: from that moment on, nothing that the run does
// reaches the devices or the state folder of the story.
var sweepFaults = []fault{sigkill, sigkill, sigkill, connectionReset, connectionReset, halfOpen, halfOpen, slowBytes,
	ctrlC, ctrlC, restart, savedRestart, refusal, refusal, falseFailure, falseFailure, falseSuccess, falseSuccess, falseSuccess, diskFull}

// kind is a way in which the tool accesses devices.
type kind struct {
	name    string
	names   [2]string // names of the devices of a story
	gnmi    bool      // gNMI only, without SSH
	devices string
}

// sweepFabric is the intent of stories without devices, before it is varied.
const sweepFabric = `apiVersion: roce-fabric/v1
kind: Fabric
name: faults
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
pfc: {watchdog: off}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
credentials:
  switches: {username: env:FABRIC_USER, password: env:FABRIC_PASSWORD, ssh: {}}
hosts:
  gpu[1-2]: {address: "192.0.2.[101-102]", nics: {ens1f0np0: {rdma: mlx5_0}}}
`

func switches(line, port string) string {
	return "switches:\n  leaf[1-2]: {role: leaf, address: \"192.0.2.[11-12]:8080\", " + line + "}\n" +
		"links:\n  - {a: \"leaf[1-2]/" + port + "\", b: \"gpu[1-2]/ens1f0np0\", cable: 5m, speed: 400G}\n"
}

// wide returns switches with three ports, each in its own port group, so that a run has many
// steps.
func wide(line, port string) string {
	return "rollout: {portGroup: 1}\nswitches:\n  leaf[1-2]: {role: leaf, address: \"192.0.2.[11-12]:8080\", " + line + "}\n" +
		"  spine1: {role: spine, address: \"192.0.2.21:8080\", " + line + "}\n" +
		"links:\n  - {a: \"leaf[1-2]/" + port + "\", b: \"gpu[1-2]/ens1f0np0\", cable: 5m, speed: 400G}\n" +
		"  - {a: \"leaf1/Ethernet[32,40]\", b: \"spine1/Ethernet[0,8]\", cable: 40m, speed: 400G}\n" +
		"  - {a: \"leaf2/Ethernet[32,40]\", b: \"spine1/Ethernet[16,24]\", cable: 40m, speed: 400G}\n"
}

var (
	leaves  = [2]string{"leaf1", "leaf2"}
	eosLeaf = switches("os: eos, model: DCS-7060DX5-64S, release: 4.34.2F", "Ethernet1/1")
)

// ways lists the nine ways in which the tool accesses devices.
var ways = []kind{
	{"eos ssh", leaves, false, eosLeaf},
	{"eos gnmi", leaves, true, eosLeaf},
	{"nxos 9.3", leaves, false, switches("os: nxos, model: N9K-C93600CD-GX, release: 9.3(9)", "Ethernet1/1")},
	{"nxos 10", leaves, false, switches("os: nxos, model: N9K-C9332D-GX2B, release: 10.4(3)", "Ethernet1/1")},
	{"sonic gnmi", leaves, true, wide("os: sonic, model: ACS-MSN4700, release: 202511", "Ethernet0")},
	{"sonic gnmi and ssh", leaves, false, wide("os: sonic, write: gnmi, model: ACS-MSN4700, release: 202511", "Ethernet0")},
	{"sonic direct", leaves, false, wide("os: sonic, write: direct, model: ACS-MSN4700, release: 202511", "Ethernet0")},
	{"cumulus", leaves, true, switches("os: cumulus, model: SN5600, release: 5.15.0", "swp1")},
	{"host", [2]string{"gpu1", "gpu2"}, false, eosLeaf},
}

// cannotSave reports whether the device's transport cannot save the configuration.
func (k kind) cannotSave() bool { return k.name == "eos gnmi" }

// watchdog reports whether the SONiC switches have their PFC watchdog on, which requires SSH.
func (k kind) watchdog() bool { return strings.HasPrefix(k.name, "sonic") && !k.gnmi }

const (
	watchdogOff = "pfc: {watchdog: off}"
	watchdogOn  = "pfc: {watchdog: {detect: 400ms, restore: 400ms, action: drop}}"
)

// intents returns the intent in effect before a story, "" for none, and the intent that the
// story applies. Pair 0 starts with the factory configuration.
func (k kind) intents(pair int) (before, after string) {
	base := sweepFabric + k.devices
	if pair == 0 {
		if k.watchdog() {
			base = strings.Replace(base, watchdogOff, watchdogOn, 1)
		}
		return "", base
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(k.name)) // writing to a hash cannot fail
	rnd := rand.New(rand.NewPCG(uint64(pair), h.Sum64()))
	before = k.vary(base, rnd)
	for after = before; after == before; {
		after = k.vary(base, rnd)
	}
	return before, after
}

// vary changes classes, thresholds, the MTU and the watchdog of an intent.
func (k kind) vary(text string, rnd *rand.Rand) string {
	one := func(old string, now ...string) {
		text = strings.ReplaceAll(text, old, now[rnd.IntN(len(now))])
	}
	share := []string{"60%", "40%", "50%", "50%", "70%", "30%"}
	i := 2 * rnd.IntN(3)
	text = strings.Replace(strings.Replace(text, "bandwidth: 60%", "bandwidth: "+share[i], 1), "bandwidth: 40%", "bandwidth: "+share[i+1], 1)
	one("priority: 3", "priority: 3", "priority: 3", "priority: 4")
	one("dscp: [26]", "dscp: [26]", "dscp: [24, 26]", "dscp: [28]")
	one("dscp: [48]", "dscp: [48]", "dscp: [46]")
	one("priority: 6", "priority: 6", "priority: 6", "priority: 7")
	one("{min: 150KB, max: 1500KB, probability: 10%}", "{min: 150KB, max: 1500KB, probability: 10%}", "{min: 200KB, max: 2000KB, probability: 5%}", "{min: 100KB, max: 400KB, probability: 20%}")
	one("fabric: 9100", "fabric: 9100", "fabric: 9200")
	if k.watchdog() {
		one(watchdogOff, watchdogOff, watchdogOn)
	}
	if strings.Contains(text, "leaf1/Ethernet[32,40]") {
		one("leaf1/Ethernet[32,40]\", b: \"spine1/Ethernet[0,8]", "leaf1/Ethernet[32,40]\", b: \"spine1/Ethernet[0,8]", "leaf1/Ethernet32\", b: \"spine1/Ethernet0")
	}
	return text
}

// strike is a fault and the moment at which it strikes.
type strike struct {
	Fault fault `json:"fault"`
	// Device is 0 or 1, or -1 for the store of the runs.
	Device int `json:"device"`
	// At counts, from 1, the moments at which the command exchanges data with the device, or its
	// requests to the store.
	At int `json:"at"`
	// Variant selects how much of the data gets through, how long a fault lasts, and so on.
	Variant int `json:"variant"`
}

func (k strike) String() string {
	return fmt.Sprintf("%s of %d at %d, variant %d", k.Fault, k.Device, k.At, k.Variant)
}

// deed is one command of a story, with its faults.
type deed struct {
	Command string   `json:"command"`
	Gate    bool     `json:"gate,omitempty"`
	Strikes []strike `json:"strikes,omitempty"`
	// Rival is the command of a second operator, who starts after Later and retries while the
	// lock is held; "" for none.
	Rival string        `json:"rival,omitempty"`
	Later time.Duration `json:"later,omitempty"`
}

func (d deed) String() string {
	out := d.Command
	if d.Gate {
		out += " with a gate"
	}
	if d.Rival != "" {
		out += fmt.Sprintf(", and %s by a second operator after %s", d.Rival, d.Later)
	}
	for _, k := range d.Strikes {
		out += fmt.Sprintf(" (%s)", k)
	}
	return out
}

func (d deed) has(f ...fault) bool {
	return slices.ContainsFunc(d.Strikes, func(k strike) bool { return slices.Contains(f, k.Fault) })
}

// reads reports whether the command only reads devices.
func (d deed) reads() bool { return slices.Contains([]string{"plan", "validate", "watch"}, d.Command) }

// commands maps the commands of a story to their command lines. A rollback undoes the newest run
// whose changes are still in effect.
var commands = map[string][]string{
	"apply":    {"apply", "--only", "leaf1,leaf2", "--yes", "--allow", "traffic-loss"},
	"resume":   {"apply", "--resume", "--yes", "--allow", "traffic-loss"},
	"rollback": {"rollback", "--yes", "--allow", "traffic-loss"},
	"plan":     {"plan", "--only", "leaf1,leaf2", "--exit-code"},
	"validate": {"validate", "--only", "leaf1,leaf2"},
	"watch":    {"watch", "--only", "leaf1,leaf2", "--rounds", "1"},
}

// line returns the command line of a deed.
func (d deed) line(k kind) []string {
	out := slices.Clone(commands[d.Command])
	if i := slices.Index(out, "leaf1,leaf2"); i > 0 {
		out[i] = strings.Join(k.names[:], ",")
	}
	gate := "off"
	if d.Gate {
		gate = "quick"
	}
	if !d.reads() {
		out = append(out, "--gate", gate)
	}
	return out
}

// story is a sequence of commands and faults.
type story struct {
	Way string `json:"way"`
	// Pair is the number of the intents before and after; see kind.intents.
	Pair  int    `json:"pair"`
	Deeds []deed `json:"deeds"`
	// Together makes a run change both devices in parallel.
	Together bool `json:"together,omitempty"`
	// Leases keeps the lock and the journals in a store with leases instead of a folder.
	Leases bool   `json:"leases,omitempty"`
	Last   string `json:"last"`
}

func (s story) way() kind {
	return ways[slices.IndexFunc(ways, func(k kind) bool { return k.name == s.Way })]
}

// String returns the story as a value for -sweep.story.
func (s story) String() string {
	b, err := json.Marshal(s)
	must(err)
	return string(b)
}

// tell invents a story. talk holds the number of data exchanges per device of each command when
// no fault strikes.
func tell(rnd *rand.Rand, way kind, pair int, talk map[string]int) story {
	s := story{Way: way.name, Pair: pair, Together: rnd.IntN(3) == 0, Leases: rnd.IntN(4) == 0, Last: []string{"apply", "rollback"}[rnd.IntN(2)]}
	if rnd.IntN(3) == 0 { // start with a complete apply
		s.Deeds = append(s.Deeds, deed{Command: "apply"})
	}
	for n := range 1 + rnd.IntN(3) {
		d := deed{Command: "apply"}
		if n > 0 || len(s.Deeds) > 0 {
			d.Command = []string{"apply", "apply", "resume", "resume", "rollback", "rollback", "rollback", "rollback", "validate", "watch"}[rnd.IntN(10)]
		}
		d.Gate = !d.reads() && rnd.IntN(5) == 0
		if n == 0 || rnd.IntN(3) > 0 {
			s.strikes(rnd, &d, talk)
		}
		if !d.reads() && !d.has(sigkill) && rnd.IntN(6) == 0 {
			d.Rival = []string{"apply", "rollback", "plan", "watch"}[rnd.IntN(4)]
			d.Later = time.Duration(rnd.Int64N(int64(3 * time.Second)))
		}
		s.Deeds = append(s.Deeds, d)
	}
	// Insert a plan at any position.
	at := 1 + rnd.IntN(len(s.Deeds))
	s.Deeds = slices.Insert(s.Deeds, at, deed{Command: "plan"})
	return s
}

// strikes invents the faults of a deed.
func (s story) strikes(rnd *rand.Rand, d *deed, talk map[string]int) {
	pieces := talk[d.Command]
	if d.Gate {
		pieces += talk["gate"]
	}
	k := strike{Fault: sweepFaults[rnd.IntN(len(sweepFaults))], Device: rnd.IntN(2), At: 1 + rnd.IntN(pieces), Variant: rnd.IntN(12)}
	switch {
	case *sweepFault != "":
		k.Fault = fault(*sweepFault)
	case s.Leases && rnd.IntN(3) == 0:
		k.Fault = partition
	case rnd.IntN(8) == 0:
		k.Fault, k.Device, k.At = []fault{sigkill, diskFull, ctrlC}[rnd.IntN(3)], -1, 1+rnd.IntN(talk["store"])
	}
	d.Strikes = []strike{k}
	switch {
	case k.Fault == ctrlC && k.Device >= 0 && rnd.IntN(3) > 0:
		// While the run reverts the device.
		d.Strikes = append(d.Strikes, strike{sweepFaults[rnd.IntN(len(sweepFaults))], k.Device, k.At + 1 + rnd.IntN(60), rnd.IntN(12)})
	case k.Device >= 0 && (s.Together && rnd.IntN(2) == 0 || rnd.IntN(6) == 0):
		d.Strikes = append(d.Strikes, strike{sweepFaults[rnd.IntN(len(sweepFaults))], 1 - k.Device, 1 + rnd.IntN(pieces), rnd.IntN(12)})
	}
}

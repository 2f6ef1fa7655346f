package nxos

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

func TestMain(m *testing.M) {
	sharedtest.CollectLess()
	os.Exit(m.Run())
}

// device draws a fitted device as compiled from an intent.
func device(t *rapid.T, ports int) *qos.Device {
	d := &qos.Device{Name: "leaf1", Ports: map[string]*qos.Port{}}
	strictFrom := rapid.SampledFrom([]int{8, 8, 7, 6, 5}).Draw(t, "strict from")
	var lossless qos.PrioritySet
	used := []int{0}
	d.Classes = append(d.Classes, qos.Class{Name: "rest"})
	for p := 1; p < qos.NumPriorities; p++ {
		if rapid.IntRange(0, 2).Draw(t, "class") == 0 {
			continue
		}
		c := qos.Class{Name: rapid.SampledFrom([]string{"roce", "Storage_2", "cnp", "a-name-that-is-much-longer-than-any-device-takes"}).Draw(t, "name"), Priority: p, Queue: p, Strict: p >= strictFrom}
		if slices.ContainsFunc(d.Classes, func(o qos.Class) bool { return o.Name == c.Name }) {
			c.Name = fmt.Sprintf("c%d", p)
		}
		if !c.Strict && lossless.List() == nil || rapid.IntRange(0, 3).Draw(t, "lossless") == 0 {
			c.Lossless = true
			lossless |= qos.Priorities(p)
		}
		used = append(used, p)
		d.Classes = append(d.Classes, c)
	}
	// A lossless class may be in a group without a class of its own, if a port pauses it.
	apart := false
	for i := range d.Classes {
		c := &d.Classes[i]
		g := rapid.IntRange(1, 2*qos.NumPriorities).Draw(t, "group")
		taken := func(o qos.Class) bool { return o.Priority == g || o.Queue == g }
		if c.Lossless && !c.Strict && g < strictFrom && g < qos.NumPriorities && !slices.ContainsFunc(d.Classes, taken) {
			c.Queue, apart = g, true
		}
	}
	trust := rapid.SampledFrom([]qos.Trust{qos.TrustDSCP, qos.TrustDSCP, qos.TrustPCP}).Draw(t, "trust")
	var sets []*qos.Maps
	for range rapid.IntRange(1, 2).Draw(t, "map sets") {
		m := drawMaps(t, trust, used, lossless)
		for _, c := range d.Classes {
			m.TCToQueue[c.Priority], m.PFCToQueue[c.Priority] = int8(c.Queue), int8(c.Queue)
		}
		sets = append(sets, m)
	}
	var queues [][qos.NumPriorities]qos.Queue
	for range rapid.IntRange(1, 2).Draw(t, "queue sets") {
		queues = append(queues, drawQueues(t, d.Classes))
	}
	interval := time.Duration(rapid.SampledFrom([]int{100, 200, 250}).Draw(t, "interval")) * time.Millisecond
	w := qos.Watchdog{
		Enabled: true, Priorities: lossless, Action: qos.ActionDrop,
		Detect: interval * time.Duration(rapid.IntRange(1, 10).Draw(t, "detect")), Restore: interval * time.Duration(rapid.IntRange(1, 40).Draw(t, "restore")),
	}
	for i := range ports {
		p := &qos.Port{
			MTU: qos.Of(rapid.SampledFrom([]int{1500, 9000, 9216}).Draw(t, "mtu")), Trust: qos.Of(trust),
			Speed: qos.Of(units.Rate(400e9)), FEC: qos.Of("rs"), PFCAsymmetric: qos.Of(false),
			Maps: qos.Of(rapid.SampledFrom(sets).Draw(t, "maps")), Queues: rapid.SampledFrom(queues).Draw(t, "queues"),
			PFC: qos.Of(lossless), Watchdog: qos.Of(qos.Watchdog{}),
		}
		if rapid.IntRange(0, 4).Draw(t, "no pfc") == 0 && (i > 0 || !apart) {
			p.PFC.V = 0
		}
		if p.PFC.V != 0 && rapid.Bool().Draw(t, "watchdog") {
			p.Watchdog.V = w
			d.WatchdogPoll = qos.Of(interval)
		}
		if rapid.Bool().Draw(t, "admin") {
			p.AdminUp = qos.Of(rapid.Bool().Draw(t, "up"))
		}
		if rapid.IntRange(0, 3).Draw(t, "pause") == 0 {
			p.LinkPause = qos.Of(rapid.Bool().Draw(t, "link pause"))
		}
		d.Ports[fmt.Sprintf("Ethernet1/%d", i+1)] = p
	}
	qos.Normalize(d)
	Fit(d)
	return d
}

func drawMaps(t *rapid.T, trust qos.Trust, used []int, lossless qos.PrioritySet) *qos.Maps {
	m := qos.UnmappedMaps()
	tc := rapid.SampledFrom(used)
	for i := range qos.NumPriorities {
		m.TCToQueue[i], m.TCToGroup[i], m.PFCToQueue[i] = int8(i), 0, int8(i)
	}
	table := m.DSCPToTC[:]
	if trust == qos.TrustPCP {
		table = m.PCPToTC[:]
	}
	partly := rapid.IntRange(0, 4).Draw(t, "partly") == 0
	for i := range table {
		if !partly || rapid.Bool().Draw(t, "listed") {
			table[i] = int8(tc.Draw(t, "tc"))
		}
	}
	// Every lossless class has traffic.
	for i, p := range lossless.List() {
		table[i] = int8(p)
	}
	return m
}

func drawQueues(t *rapid.T, classes []qos.Class) (out [qos.NumPriorities]qos.Queue) {
	left := 100
	for _, c := range classes {
		q := &out[c.Queue]
		s := qos.Scheduler{Strict: c.Strict}
		if !c.Strict {
			s.Weight = rapid.IntRange(0, left).Draw(t, "weight")
			left -= s.Weight
		}
		if rapid.IntRange(0, 3).Draw(t, "shaped") == 0 {
			s.MaxRate = units.Rate(rapid.SampledFrom([]int64{100e9, 250e6, 1500e3}).Draw(t, "rate"))
		}
		q.Scheduler, q.ECN = qos.Of(s), qos.Of(qos.ECN{})
		if rapid.Bool().Draw(t, "ecn") {
			lo := rapid.Int64Range(1, 1<<20).Draw(t, "min")
			q.ECN = qos.Of(qos.ECN{Enabled: true, Min: lo, Max: lo + rapid.Int64Range(0, 1<<20).Draw(t, "more"), Probability: rapid.IntRange(0, 100).Draw(t, "p"), Weight: rapid.IntRange(0, 15).Draw(t, "w")})
		}
	}
	return out
}

// surroundings is foreign configuration of every kind that this package writes, as a Nexus
// prints it.
const surroundings = `!Command: show running-config
version 10.4(3) Bios:version 01.11
hostname leaf1
policy-map type network-qos SITE-NETWORK
  class type network-qos c-8q-nq5
    mtu 4200
  class type network-qos c-8q-nq-default
    mtu 9000
vdc leaf1 id 1
  limit-resource vlan minimum 16 maximum 4094
feature lldp
banner motd #
policy-map type qos NOT-CONFIGURATION
#
ip access-list copp
  10 permit ip any any
class-map type qos match-any SITE-VOICE
  match dscp 46
  match access-group name VOICE
class-map type control-plane match-any copp-class
  match exception ip option
policy-map type qos SITE-POLICY
  description theirs
  class SITE-VOICE
    set qos-group 5
    police cir 10 mbps
  class class-default
policy-map type queuing SITE-QUEUES
  class type queuing c-out-8q-q7
    priority level 1
  class type queuing c-out-8q-q5
    bandwidth remaining percent 30
    queue-limit dynamic 3
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 70
`

const behind = `interface Ethernet1/99
  description nobody's
  mtu 1600
  service-policy type qos input SITE-POLICY

interface mgmt0
  vrf member management

line console
line vty
`

// have draws the running configuration of a switch, made from another device: written by this
// package or with the same lines under other names, among foreign configuration.
func have(t *rapid.T, ports int) *Config {
	text := Encode(device(t, ports), EightQueue).String()
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	switch kind {
	case 0: // nothing of ours
		text = ""
		for i := range ports {
			text += fmt.Sprintf("interface Ethernet1/%d\n  description port %d\n\n", i+1, i+1)
		}
		if rapid.Bool().Draw(t, "site network") {
			text = "system qos\n  service-policy type network-qos SITE-NETWORK\n  service-policy type queuing output SITE-QUEUES\n" + text
		}
	case 1:
		text = strings.ReplaceAll(text, prefix, "OTHER-")
	}
	if rapid.Bool().Draw(t, "theirs on ours") {
		text = strings.Replace(text, "interface Ethernet1/1\n", "interface Ethernet1/1\n  service-policy type queuing input SITE-IN\n  ip address 10.0.0.0/31\n", 1)
	}
	c, err := Parse([]byte(surroundings + text + behind))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func parse(t testing.TB, text string) *Config {
	t.Helper()
	c, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

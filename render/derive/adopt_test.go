package derive

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/eos"
	"github.com/roce-fabric/roce-fabric/render/nxos"
	"github.com/roce-fabric/roce-fabric/render/sonic"
)

// operator writes running configurations in the style of operators: maps that list only some
// code points, thresholds in every unit, marking of some colours.
type operator struct{ maker }

// dscp draws the class of some code points; the others are in class 0.
func (o *operator) dscp() map[int]int {
	out := map[int]int{}
	for range 1 + o.IntN(12) {
		out[o.IntN(64)] = 3
	}
	for range o.IntN(6) {
		out[o.IntN(64)] = o.IntN(8)
	}
	return out
}

func (o *operator) between(lo, hi int) int { return lo + o.IntN(hi-lo+1) }

type object = map[string]any

// sonic returns a config_db.json.
func (o *operator) sonic() string {
	dscp := object{}
	for code, tc := range o.dscp() {
		dscp[strconv.Itoa(code)] = strconv.Itoa(tc)
	}
	if o.often(40) {
		for code := range 64 {
			if dscp[strconv.Itoa(code)] == nil {
				dscp[strconv.Itoa(code)] = o.one("0", "0", "1")
			}
		}
	}
	same := object{}
	for i := range 8 {
		same[strconv.Itoa(i)] = strconv.Itoa(i)
	}
	wred := func() object {
		w := object{}
		if o.often(40) {
			lo := o.between(1, 2000) * 1024
			w["ecn"] = "ecn_all"
			for _, colour := range []string{"green", "yellow", "red"} {
				w["wred_"+colour+"_enable"], w[colour+"_drop_probability"] = "true", "5"
				w[colour+"_min_threshold"], w[colour+"_max_threshold"] = strconv.Itoa(lo), strconv.Itoa(lo*2)
			}
			return w
		}
		if o.often(90) {
			w["ecn"] = o.one("ecn_all", "ecn_all", "ecn_green", "ecn_none", "ecn_green_yellow", "ecn_yellow", "ecn_red")
		}
		lo := o.between(1, 2000) * 1024
		for _, colour := range []string{"green", "yellow", "red"} {
			if colour != "green" && o.often(30) {
				continue
			}
			if o.often(80) {
				w["wred_"+colour+"_enable"] = o.one("true", "true", "true", "false")
			}
			w[colour+"_min_threshold"], w[colour+"_max_threshold"] = strconv.Itoa(lo), strconv.Itoa(lo*2)
			if o.often(70) {
				w[colour+"_drop_probability"] = strconv.Itoa(o.between(0, 100))
			}
			if o.often(10) {
				lo += 1024
			}
		}
		return w
	}
	ports, bound, queues := object{}, object{}, object{}
	for i := range 1 + o.IntN(3) {
		name := fmt.Sprintf("Ethernet%d", i*8)
		ports[name] = object{"speed": "400000", "mtu": "9100", "admin_status": "up"}
		bound[name] = object{"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_to_queue_map": "AZURE", "pfc_enable": o.one("3", "3", "3,4", "")}
		queues[name+"|"+o.one("3", "3-4", "0-3")] = object{"wred_profile": o.one("AZURE_LOSSLESS", "MINE", "GONE"), "scheduler": "s"}
	}
	if o.often(40) {
		bound["global"] = object{"dscp_to_tc_map": "AZURE"}
	}
	b, err := json.Marshal(object{
		"DEVICE_METADATA": object{"localhost": object{"hostname": "leaf1"}}, "PORT": ports, "PORT_QOS_MAP": bound, "QUEUE": queues,
		"DSCP_TO_TC_MAP": object{"AZURE": dscp}, "TC_TO_QUEUE_MAP": object{"AZURE": same}, "MAP_PFC_PRIORITY_TO_QUEUE": object{"AZURE": same},
		"WRED_PROFILE": object{"AZURE_LOSSLESS": wred(), "MINE": wred()}, "SCHEDULER": object{"s": object{"type": "DWRR", "weight": "15"}},
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// eos returns the output of "show running-config".
func (o *operator) eos() string {
	var b strings.Builder
	mark := func() string {
		unit := o.one("segments", "bytes", "kbytes", "mbytes", "milliseconds")
		lo := o.between(1, 4000)
		s := fmt.Sprintf("      random-detect ecn minimum-threshold %d %s maximum-threshold %d %s", lo, unit, lo+o.IntN(4000), unit)
		if o.often(80) {
			s += fmt.Sprintf(" max-mark-probability %d", o.between(1, 100))
		}
		if o.often(40) {
			s += fmt.Sprintf(" weight %d", o.IntN(16))
		}
		return o.one(s, s, s, s+"\n      random-detect ecn count", "      random-detect drop minimum-threshold 10 kbytes maximum-threshold 20 kbytes drop-probability 5")
	}
	b.WriteString("! Command: show running-config\n! device: leaf1 (DCS-7060DX5-64S, EOS-4.30.1F)\n!\n")
	for _, name := range []string{"ONE", "TWO"} {
		fmt.Fprintf(&b, "qos profile %s\n   qos trust dscp\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n   uc-tx-queue 0\n      no priority\n      bandwidth percent 30\n   uc-tx-queue 3\n      no priority\n      bandwidth percent 50\n", name)
		if o.often(80) {
			b.WriteString(mark() + "\n")
		}
		b.WriteString("!\n")
	}
	for i := range 1 + o.IntN(3) {
		fmt.Fprintf(&b, "interface Ethernet%d/1\n   no switchport\n   mtu 9214\n   service-profile %s\n", i+1, o.one("ONE", "TWO"))
		if o.often(20) {
			b.WriteString("   uc-tx-queue 3\n" + mark() + "\n")
		}
		if o.often(20) {
			b.WriteString("   flowcontrol " + o.one("send", "receive") + " on\n")
		}
		b.WriteString("!\n")
	}
	for code, tc := range o.dscp() {
		fmt.Fprintf(&b, "qos map dscp %d to traffic-class %d\n", code, tc)
	}
	b.WriteString("class-map type qos match-any VOICE\n   match ip dscp 46\npolicy-map type quality-of-service MARK\n   class VOICE\n      set traffic-class 5\nend\n")
	return b.String()
}

// nxos returns the output of "show running-config".
func (o *operator) nxos() string {
	var b strings.Builder
	b.WriteString("!Command: show running-config\nversion 10.3(2) Bios:version 05.47\nhostname leaf1\n")
	codes := o.dscp()
	var rdma []int
	for code, tc := range codes {
		if tc == 3 {
			rdma = append(rdma, code)
		}
	}
	slices.Sort(rdma)
	fmt.Fprintf(&b, "class-map type qos match-any ROCE\n  match dscp %s\n", strings.Trim(strings.ReplaceAll(fmt.Sprint(rdma), " ", ","), "[]"))
	b.WriteString("policy-map type qos IN\n  class ROCE\n    set qos-group 3\n  class class-default\n    set qos-group 0\n")
	b.WriteString("policy-map type network-qos NQ\n  class type network-qos c-8q-nq3\n    mtu 9216\n    pause pfc-cos 3\n  class type network-qos c-8q-nq-default\n    mtu 9216\n")
	b.WriteString("policy-map type queuing OUT\n  class type queuing c-out-8q-q7\n    priority level 1\n")
	mark := func() string {
		unit := o.one("packets", "bytes", "kbytes", "mbytes")
		lo := o.between(1, 4000)
		s := fmt.Sprintf("    random-detect minimum-threshold %d %s maximum-threshold %d %s drop-probability %d weight %d", lo, unit, lo+o.IntN(4000), unit, o.IntN(101), o.one0(0, 0, 3))
		return o.one(s+" ecn", s+" ecn", s, "    random-detect threshold burst-optimized ecn", "    random-detect threshold mesh-optimized ecn", "    random-detect ecn", "    random-detect", "    afd queue-desired 150 kbytes ecn")
	}
	for q := 6; q >= 0; q-- {
		name := fmt.Sprintf("c-out-8q-q%d", q)
		if q == 0 {
			name = "c-out-8q-q-default"
		}
		fmt.Fprintf(&b, "  class type queuing %s\n    bandwidth remaining percent %d\n", name, map[int]int{3: 50, 0: 50}[q])
		if q == 3 && o.often(80) || q == 0 && o.often(30) {
			b.WriteString(mark() + "\n")
		}
	}
	b.WriteString("system qos\n  service-policy type network-qos NQ\n  service-policy type queuing output OUT\n")
	for i := range 1 + o.IntN(3) {
		fmt.Fprintf(&b, "interface Ethernet1/%d\n  mtu 9216\n  priority-flow-control mode on\n  service-policy type qos input IN\n  no shutdown\n", i+1)
		if o.often(20) {
			b.WriteString("  flowcontrol " + o.one("send", "receive") + " on\n")
		}
	}
	return b.String()
}

func (o *operator) one0(of ...int) int { return of[o.IntN(len(of))] }

// adopted holds the functions of an OS for the test.
type adopted struct {
	write  func(*operator) string
	decode func(*testing.T, string) *qos.Device
	// carry changes the configuration text to the desired state and decodes the result.
	carry func(t *testing.T, text string, desired *qos.Device) *qos.Device
}

var adoptions = map[string]adopted{
	"sonic": {(*operator).sonic, func(t *testing.T, text string) *qos.Device {
		d, _ := sonic.Decode(must(sonic.Parse([]byte(text), sonic.WantTable))(t))
		return d
	}, func(t *testing.T, text string, desired *qos.Device) *qos.Device {
		cfg := must(sonic.Parse([]byte(text), sonic.WantTable))(t)
		for table, rows := range sonic.Target(desired) {
			for key, row := range rows {
				// A new row starts from the range rows that cover it.
				now := sonic.Row{}
				for have, r := range cfg[table] {
					if covers(have, key) {
						for f, v := range r {
							now[f] = v
						}
					}
				}
				for f, v := range row {
					if now[f] = v; v == sonic.Absent {
						delete(now, f)
					}
				}
				cfg.Put(table, key, now)
			}
		}
		// Split the remaining range rows; rows written above win.
		for table := range cfg {
			for key := range cfg[table] {
				if port, span, ok := strings.Cut(key, "|"); ok && strings.Contains(span, "-") && desired.Ports[port] != nil {
					lo, hi, _ := strings.Cut(span, "-")
					from, _ := strconv.Atoi(lo)
					to, _ := strconv.Atoi(hi)
					for i := from; i <= to; i++ {
						if one := fmt.Sprintf("%s|%d", port, i); cfg.Row(table, one) == nil {
							cfg.Put(table, one, cfg.Row(table, key))
						}
					}
					delete(cfg[table], key)
				}
			}
		}
		d, _ := sonic.Decode(cfg)
		return d
	}},
	"eos": {(*operator).eos, func(t *testing.T, text string) *qos.Device {
		d, _ := eos.Decode(must(eos.Parse([]byte(text)))(t))
		return d
	}, func(t *testing.T, text string, desired *qos.Device) *qos.Device {
		cfg := must(eos.Parse([]byte(text)))(t)
		d, _ := eos.Decode(eos.Change(cfg, desired, eos.UCTxQueue).Apply(cfg))
		return d
	}},
	"nxos": {(*operator).nxos, func(t *testing.T, text string) *qos.Device {
		d, _ := nxos.Decode(must(nxos.Parse([]byte(text)))(t), nxos.EightQueue)
		return d
	}, func(t *testing.T, text string, desired *qos.Device) *qos.Device {
		cfg := must(nxos.Parse([]byte(text)))(t)
		d, _ := nxos.Decode(nxos.Change(cfg, desired, nxos.EightQueue).Apply(cfg), nxos.EightQueue)
		return d
	}},
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// covers reports whether a row key, such as "Ethernet0|0-3", covers another key.
func covers(have, key string) bool {
	port, index, _ := strings.Cut(key, "|")
	p, span, _ := strings.Cut(have, "|")
	lo, hi, ranged := strings.Cut(span, "-")
	if !ranged {
		return have == key
	}
	i, _ := strconv.Atoi(index)
	from, _ := strconv.Atoi(lo)
	to, _ := strconv.Atoi(hi)
	return p == port && i >= from && i <= to
}

// A plan for an intent that was derived from a running switch moves no code point to another
// class, makes no class lossless or lossy, and changes no marking. Neither does a plan for other
// changes.
func TestAdoptionMovesNothing(t *testing.T) {
	n := 150
	if testing.Short() {
		n = 60
	}
	for system, a := range adoptions {
		t.Run(system, func(t *testing.T) {
			kept, marked := 0, 0
			for seed := range n {
				o := &operator{maker{Rand: rand.New(rand.NewPCG(uint64(seed), 11))}}
				text := a.write(o)
				run := a.decode(t, text)
				in := Input{Name: "x", Fits: fits, Switches: []Switch{{Name: "leaf1", OS: system, Running: run}}}
				r, err := Derive(in)
				if err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, text)
				}
				for _, c := range differing(in, r) {
					moves := strings.HasSuffix(c.Field.String(), "dscp_to_tc") && c.Old != "0-63:-" // adding a map where there was none is allowed
					if moves || c.Field.Kind == qos.KindPFC || c.Field.Kind == qos.KindLinkPause || c.Field.Kind == qos.KindECN || c.Field.Kind == qos.KindTrust {
						t.Fatalf("seed %d: a plan changes %s: %s -> %s, impact %s\n%s\n%s", seed, c.Path(), c.Old, c.New, c.Impact, text, r.Text)
					}
				}
				// With a different bandwidth share for every class, ports get other profiles and
				// policies.
				other := strings.NewReplacer("bandwidth: 50%", "bandwidth: 49%", "bandwidth: 30%", "bandwidth: 29%", "bandwidth: 15%", "bandwidth: 14%").Replace(string(r.Text))
				c := compiler(t, []byte(other))
				desired := c.Device(c.Fabric().Switch("leaf1")).Desired
				now := a.carry(t, text, desired)
				for name, port := range desired.Ports {
					was, is := run.Ports[name], now.Ports[name]
					if was.PFC != is.PFC || run.MapsOf(name).DSCPToTC != now.MapsOf(name).DSCPToTC {
						t.Fatalf("seed %d: %s has PFC %s and %v after it\n%s\n%s", seed, name, is.PFC.V, now.MapsOf(name).DSCPToTC, text, other)
					}
					for _, class := range desired.Classes {
						q := class.Queue
						if have, got := was.Queues[q].ECN.V, is.Queues[q].ECN.V; have.Enabled && !have.Same(got) {
							t.Fatalf("seed %d: %s queue %d marks %s, and %s after a change of shares\n%s\n%s", seed, name, q, have, got, text, other)
						}
						if was.Queues[q].ECN.V.Enabled {
							marked++
							if !port.Queues[q].ECN.Set {
								kept++
							}
						}
					}
				}
			}
			// An intent can express every curve of SONiC.
			if system != "sonic" && kept == 0 || marked == kept {
				t.Errorf("of %d curves %d are kept: nothing is shown", marked, kept)
			}
		})
	}
}

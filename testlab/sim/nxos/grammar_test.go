package nxos

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

func TestParseInterfaces(t *testing.T) {
	for in, want := range map[string]string{
		"Ethernet1/1":       "Ethernet1/1",
		"e1/1":              "Ethernet1/1",
		"eth1/1-3":          "Ethernet1/1,Ethernet1/2,Ethernet1/3",
		"Eth1/1,e1/3,1/5-6": "Ethernet1/1,Ethernet1/3,Ethernet1/5,Ethernet1/6",
		"Ethernet1/1/4":     "Ethernet1/1/4",
		"Ethernet1/1.100":   "Ethernet1/1.100",
		"po10":              "port-channel10",
		"mgmt0":             "mgmt0",
		"lo0":               "loopback0",
		"vlan10-11":         "Vlan10,Vlan11",
		"e1/1,e1/1":         "Ethernet1/1",
		"":                  "",
		"1/1":               "",
		"Ethernet":          "",
		"Ethernet1":         "",
		"Ethernet1/4-1":     "",
		"Ethernet1/1-99999": "",
		"mgmt1":             "",
		"po1/1":             "",
		"Wlan1":             "",
	} {
		names, ok := parseInterfaces(in)
		if got := strings.Join(names, ","); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q %v, want %q", in, got, ok, want)
		}
	}
}

// FuzzLine checks that no line crashes the switch, that a refused line changes nothing, that the
// configuration after an accepted line is printed as lines that produce it again, and that a
// rollback restores the previous configuration.
func FuzzLine(f *testing.F) {
	for _, s := range []string{
		"class-map type qos match-any A\nmatch dscp 26,ef\nno match dscp 46\npolicy-map P\nclass A\nset qos-group 3\nclass class-default\nclass A insert-before class-default\nno class A\nno class-map match-any A",
		"policy-map type network-qos P\nclass type network-qos c-8q-nq3\npause pfc-cos 3,4\nmtu 9216\nsystem qos\nservice-policy type network-qos P\nno policy-map type network-qos P",
		"policy-map type queuing Q\nclass type queuing c-out-8q-q3\nbandwidth remaining percent 50\nrandom-detect minimum-threshold 1 kbytes maximum-threshold 2 kbytes drop-probability 7 weight 0 ecn\nclass type queuing c-out-8q-q7\npriority level 1",
		"interface Ethernet1/1-2\nmtu 9216\npriority-flow-control mode on send-tlv\nno switchport\nno shutdown\ndescription ! x\ndefault interface e1/2\nshutdown",
		"banner motd #a\nb\nc#d\nno banner motd",
		"ip access-list A\npermit ip any any\n10 deny x y\nno 10\nremark z",
		"no lldp tlv-select dcbxp\nrouter bgp 1\nvrf A\nneighbor 1.1.1.1\nshutdown\nno shutdown\nend\nexit",
		"no system default switchport\nint e1/1\nswitchport\nno switchport\ndefault switchport\nsystem jumbomtu 9000\nmtu 9000",
		"hardware access-list tcam region ing-l2-qos 512\nno hardware access-list tcam region ing-l2-qos\nfeature bgp\nhostname b\nvlan 1-3\nname x",
		"prio watch-dog-interval on\nno\ndefault\n\x00\xff\tx",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, old bool) {
		if len(text) > 2000 {
			return
		}
		n := newBox(t, Options{Config: small, OldOrder: old})
		n.addCheckpoint("c")
		c := n.openTerminal("fuzz")
		for _, l := range cli.SplitLines(text) {
			before, prompt := n.body(n.running), c.prompt()
			out := c.line(l)
			if failed(out) && (n.body(n.running) != before || c.prompt() != prompt && !strings.Contains(out, "banner")) {
				t.Fatalf("%q was refused and changed something: %s", l, out)
			} else if out != "" && !failed(out) {
				t.Fatalf("%q: answer %q", l, out)
			}
		}
		printed := bodyOf(t, n)
		again := newBox(t, Options{Config: n.Running(), OldOrder: old})
		if got := bodyOf(t, again); got != printed {
			t.Fatalf("it reads back as another configuration:\n%s", cmp.Diff(printed, got))
		}
		if out := n.rollback("c", ""); failed(out) {
			t.Fatalf("rollback from\n%s\n%s", printed, out)
		}
	})
}

// samples returns the commands of a tree with a value for each parameter.
func samples(n *cli.Node[*exec], words []string) []string {
	var out []string
	if n.Run != nil {
		out = append(out, strings.Join(words, " "))
	}
	at := func(w string) []string { return append(words[:len(words):len(words)], w) }
	for w, next := range n.Words {
		out = append(out, samples(next, at(w))...)
	}
	for _, e := range n.Params {
		var values []string
		switch e.Type {
		case "interfaces":
			values = []string{"Ethernet1/1.2"}
			for _, t := range interfaceTypes {
				values = append(values, map[string]string{"Ethernet": "Ethernet1/1", "mgmt": "mgmt0"}[t.name])
				if values[len(values)-1] == "" {
					values[len(values)-1] = t.name + "1"
				}
			}
		case "dscps", "eights":
			values = []string{"1,3,5-6"}
		case "ipv4":
			values = []string{"192.0.2.1"}
		case "text", "blurb":
			values = []string{"some text"}
		case "qname":
			values = []string{"N1", "class-default", "c-8q-nq3", "c-out-8q-q3", "c-in-q3", "c-nq3", "c-out-q3"}
		case "word", "name":
			values = []string{"N1"}
		default:
			if lo, _, ok := strings.Cut(e.Type, "-"); ok && strings.Trim(lo, "0123456789") == "" {
				values = []string{lo}
			} else {
				values = strings.Split(e.Type, "|")
			}
		}
		for _, v := range values {
			out = append(out, samples(e.Next, at(v))...)
		}
	}
	slices.Sort(out)
	return out
}

// A configuration with every command of every mode reads back unchanged: no block absorbs a line
// that is printed after it.
func TestEveryCommandReadsBack(t *testing.T) {
	const world = small + "class-map type qos match-all N1\npolicy-map type qos N1\n"
	for _, o := range []Options{{Config: world}, {Config: world, OldOrder: true}, {Config: world, FourQueue: true}} {
		n := newBox(t, o)
		c := n.openTerminal("all")
		accepted := 0
		seen := map[string]bool{}
		paths := [][]string{nil}
		for len(paths) > 0 {
			path := paths[0]
			paths = paths[1:]
			enter := func() {
				c.stack = nil
				for _, l := range path {
					if out := c.line(l); out != "" {
						t.Fatalf("%q: %s: %s", path, l, out)
					}
				}
			}
			enter()
			mode := cli.ModeAt(c.stack, len(c.stack), modeGlobal)
			for _, line := range samples(commands().Modes[mode].Set, nil) {
				if strings.Contains(line, "queuing input") {
					continue // the policy is in use for output
				}
				enter()
				if failed(c.line(line)) {
					continue
				}
				accepted++
				if c.heredoc != nil {
					c.line("text" + string(c.heredoc.delim))
				}
				if len(c.stack) > len(path) {
					if m := cli.ModeAt(c.stack, len(c.stack), modeGlobal); !seen[m] {
						seen[m] = true
						paths = append(paths, append(slices.Clone(path), line))
					}
				}
			}
		}
		for m := range commands().Modes {
			if m != modeGlobal && !seen[m] {
				t.Errorf("no command opens mode %q", m)
			}
		}
		if accepted < 300 {
			t.Errorf("%d commands", accepted)
		}
		o.Config = n.Running()
		again := newBox(t, o)
		if d := cmp.Diff(cli.SplitLines(bodyOf(t, n)), cli.SplitLines(bodyOf(t, again))); d != "" {
			t.Errorf("read back (-first +second):\n%s", d)
		}
		// A rollback removes all of it.
		factory := newBox(t, Options{Config: small, FourQueue: o.FourQueue})
		n.checkpoints = []*checkpoint{{name: "c", cfg: factory.running}}
		if out := n.rollback("c", ""); failed(out) {
			t.Errorf("rollback:\n%s", out)
		}
	}
}

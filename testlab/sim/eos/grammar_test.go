package eos

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

func TestParseInterfaces(t *testing.T) {
	for in, want := range map[string]string{
		"Ethernet1/1":     "Ethernet1/1",
		"et3":             "Ethernet3",
		"Et1/1,3/1-5/1":   "Ethernet1/1,Ethernet3/1,Ethernet4/1,Ethernet5/1",
		"Ethernet1/1-4":   "Ethernet1/1,Ethernet1/2,Ethernet1/3,Ethernet1/4",
		"po10":            "Port-Channel10",
		"Ma0":             "Management0",
		"Ethernet1/1.100": "Ethernet1/1.100",
		"Vl10":            "Vlan10",
		"":                "",
		"Ethernet":        "",
		"e1":              "",
		"v1":              "",
		"Ethernet4-1":     "",
		"Ethernet1-9999":  "",
		"Ethernet1/1-2/2": "",
		"Ethernet1/":      "",
		"Wlan1":           "",
	} {
		names, ok := parseInterfaces(in)
		if got := strings.Join(names, ","); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q %v, want %q", in, got, ok, want)
		}
	}
}

// FuzzLine checks that no line crashes the switch, that a rejected line changes nothing, and that
// the printed result of an accepted line reads back as the same configuration.
func FuzzLine(f *testing.F) {
	for _, s := range []string{
		"interface Ethernet1/1\nmtu 9000\nuc-tx-queue 3\nno priority\nbandwidth percent 5",
		"qos profile P\nqos trust dscp\npriority-flow-control on\npriority-flow-control priority 3 no-drop\nno qos profile P\nqos trust cos",
		"qos map dscp 1,3-7 9 to traffic-class 3 drop-precedence 1\ndefault qos map dscp 4",
		"banner login\nx\nEOF\nno banner login",
		"ip access-list A\npermit ip any any\n10 deny x y\nno 10\n!! z",
		"interface Ethernet1/1-2/1\nno qos trust\ndescription !! x\ndefault interface Ethernet2/1",
		"rollback clean-config\nhostname b\nrouter bgp 1\nno bgp default ipv4-unicast\nvrf A\nrd 1:1",
		"policy-map type quality-of-service P\nclass a\nset dscp 1\nclass b\nno class a",
		"priority-flow-control pause watchdog default timeout 00.20\npriority-flow-control pause watchdog default polling-interval 30",
		"management api gnmi\ntransport grpc default\nno shutdown\nprovider eos-native\nend\nexit",
		"pri on\nno\ndefault\n\x00\xff\tx",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, explicit bool) {
		if len(text) > 2000 {
			return
		}
		o := Options{Config: small, PrintDefaults: explicit}
		e := newEOS(t, o)
		s := open(t, e, "fuzz")
		for _, l := range cli.SplitLines(text) {
			before, prompt := s.text(), s.prompt()
			if out := s.line(l); strings.HasPrefix(out, "%") && (s.text() != before || s.prompt() != prompt) {
				t.Fatalf("%q was refused and changed something: %s", l, out)
			} else if out != "" && out[0] != '%' && out[0] != '!' {
				t.Fatalf("%q: answer %q", l, out)
			}
		}
		s.heredoc = nil
		o.Config = s.text()
		again := newEOS(t, o)
		if got := again.document("show session-config", again.running, false); got != s.text() {
			t.Fatalf("it reads back as another configuration:\n%s\nfrom\n%s", got, s.text())
		}
	})
}

// samples returns the commands of a tree, with a value for each parameter.
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
			for _, t := range interfaceTypes {
				values = append(values, t.name+"1")
			}
		case "dscps", "eights":
			values = []string{"1 3,5-6"}
		case "ipv4":
			values = []string{"192.0.2.1"}
		case "fraction":
			values = []string{"1/4"}
		case "timeout", "polling":
			values = []string{"0.5"}
		case "text":
			values = []string{"some text"}
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

// A configuration with every command of every mode reads back unchanged: no block swallows a line
// that is printed after it.
func TestEveryCommandReadsBack(t *testing.T) {
	for _, o := range []Options{{Config: small}, {Config: small, PrintDefaults: true}, {Config: small, Model: "DCS-7280CR3-32P4", PFCFirst: true}} {
		e := newEOS(t, o)
		s := open(t, e, "all")
		accepted := 0
		seen := map[string]bool{}
		paths := [][]string{nil}
		for len(paths) > 0 {
			path := paths[0]
			paths = paths[1:]
			enter := func() {
				s.stack = nil
				for _, l := range path {
					if out := s.line(l); strings.HasPrefix(out, "%") {
						t.Fatalf("%q: %s: %s", path, l, out)
					}
				}
			}
			enter()
			mode := cli.ModeAt(s.stack, len(s.stack), modeGlobal)
			for _, line := range samples(commands().Modes[mode].Set, nil) {
				if line == "rollback clean-config" {
					continue
				}
				enter()
				if out := s.line(line); strings.HasPrefix(out, "%") {
					continue
				}
				accepted++
				if s.heredoc != nil {
					s.line("text")
					s.line("EOF")
				}
				if len(s.stack) > len(path) {
					if m := cli.ModeAt(s.stack, len(s.stack), modeGlobal); !seen[m] {
						seen[m] = true
						paths = append(paths, append(slices.Clone(path), line))
					}
				}
			}
		}
		for m := range commands().Modes {
			if m != modeGlobal && !seen[m] && (m != modeMMU && m != modeMcQueue || !e.sand) {
				t.Errorf("no command opens mode %q", m)
			}
		}
		if accepted < 500 {
			t.Errorf("%d commands", accepted)
		}
		o.Config = s.text()
		again := newEOS(t, o)
		if d := cmp.Diff(cli.SplitLines(s.text()), cli.SplitLines(again.document("show session-config", again.running, false))); d != "" {
			t.Errorf("read back (-first +second):\n%s", d)
		}
	}
}

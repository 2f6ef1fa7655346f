package intent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestLinkPatterns(t *testing.T) {
	const fabric = good + "switches: {\"l[1-2]\": {os: sonic}, \"s[1-2]\": {os: sonic}}\nhosts: {\"h[1-3]\": {nics: {\"n[0-1]\": {}}}}\n"
	for _, c := range []struct{ name, link, want string }{
		{"plain", "a: l1/Ethernet1/1, b: h1/n0", "l1/Ethernet1/1-h1/n0"},
		{"pairs", "a: \"l[1-2]/e[0,4]\", b: \"s1/e[0-3]\"", "l1/e0-s1/e0 l1/e4-s1/e1 l2/e0-s1/e2 l2/e4-s1/e3"},
		{"pairs spelled out", "pattern: pairs, a: \"l[1-2]/e0\", b: \"s[1-2]/e0\"", "l1/e0-s1/e0 l2/e0-s2/e0"},
		{"mesh", "pattern: mesh, a: \"l[1-2]/e[0-1]\", b: \"s[1-2]/f[0-1]\"", "l1/e0-s1/f0 l1/e1-s2/f0 l2/e0-s1/f1 l2/e1-s2/f1"},
		{"mesh of parallel links", "pattern: mesh, a: \"l1/e[0-3]\", b: \"s[1-2]/f[0-1]\"", "l1/e0-s1/f0 l1/e1-s1/f1 l1/e2-s2/f0 l1/e3-s2/f1"},
		{"rail", "pattern: rail, a: \"l[1-2]/e[0-8:4]\", b: \"h[1-3]/n[0-1]\"", "l1/e0-h1/n0 l1/e4-h2/n0 l1/e8-h3/n0 l2/e0-h1/n1 l2/e4-h2/n1 l2/e8-h3/n1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := load(t, fabric+"links: [{"+c.link+", cable: 5m, speed: 400G}]\n")
			var got []string
			for _, l := range f.Links {
				got = append(got, l.A.String()+"-"+l.B.String())
				if l.Pos.Line != 9 || l.Cable.V != 5 || l.Speed.V != 400e9 {
					t.Errorf("link %+v", l)
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("\n got %s\nwant %s", s, c.want)
			}
		})
	}
}

func TestLinkEnds(t *testing.T) {
	f := load(t, good+`switches:
  l: {os: sonic, ports: {"Ethernet[0-8:4]": {speed: 100G, cable: 3m, fec: rs}, Ethernet64: {lag: PortChannel1, breakout: 4x100G}}}
  s: {os: eos}
links: [{a: s/Ethernet1/10, b: l/Ethernet4}, {a: l/Ethernet72, b: s/Ethernet1/2, cable: 1km, speed: 1.6T}]
`)
	l, s := f.Switch("l"), f.Switch("s")
	var names []string
	for _, p := range append(l.Ports, s.Ports...) {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); got != "Ethernet0 Ethernet4 Ethernet8 Ethernet64 Ethernet72 Ethernet1/2 Ethernet1/10" {
		t.Errorf("ports %s", got)
	}
	far := s.Port("Ethernet1/10")
	if far.Speed.V != 100e9 || far.Cable.V != 3 || far.Speed.From.Pos.Line != 8 || f.Links[0].Cable.V != 3 {
		t.Errorf("a port does not learn from the other end's section: %+v", far)
	}
	if e, ok := far.Peer(); !ok || e.String() != "l/Ethernet4" {
		t.Errorf("peer %v", e)
	}
	if e, ok := l.Port("Ethernet4").Peer(); !ok || e.String() != "s/Ethernet1/10" {
		t.Errorf("peer %v", e)
	}
	if _, ok := l.Port("Ethernet64").Peer(); ok || l.Port("Ethernet64").LAG.V != "PortChannel1" || l.Port("Ethernet64").Breakout.V != "4x100G" {
		t.Error("a port without a link")
	}
	if l.Port("Ethernet72").Speed.V != 1600e9 || l.Port("Ethernet72").Cable.V != 1000 || l.Port("Ethernet4").FEC.V != "rs" {
		t.Error("values of a link")
	}
}

// A range creates the same ports, by name and order, as one line per port, even if other lines
// already named some of them.
func TestPortsOfRanges(t *testing.T) {
	const switches = "switches: {\"l[1-3]\": {os: sonic%s}, \"s[1-3]\": {os: sonic}}\nlinks:\n"
	const line = "  - {a: %q, b: %q, cable: 5m, speed: 100G}\n"
	for _, c := range []struct{ name, ports, links string }{
		{"one side after the other, the later first in order", "", fmt.Sprintf(line+line, "l[1-3]/e[32-39]", "s[1-3]/e[0-7]", "l[1-3]/e[0-15]", "s[1-3]/e[8-23]")},
		{"a section names some", `, ports: {"e[4-9]": {fec: rs}}`, fmt.Sprintf(line, "l[1-3]/e[0-15]", "s[1-3]/e[0-15]")},
		{"a section names all", `, ports: {"e[0-3]": {}, "e[4-19]": {fec: rs}}`, fmt.Sprintf(line, "l[1-3]/e[4-15]", "s[1-3]/e[0-11]")},
		{"one switch has more than the others", "", fmt.Sprintf(line+line, "l2/e10", "s1/e9", "l[1-3]/e[0-3]", "s[1-3]/e[3,2,1,0]")},
		{"a mesh", "", strings.Replace(fmt.Sprintf(line, "l[1-3]/e[0-5]", "s[1-3]/e[10-15]"), "{a", "{pattern: mesh, a", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := load(t, good+fmt.Sprintf(switches, c.ports)+c.links)
			var single strings.Builder
			for _, l := range f.Links {
				fmt.Fprintf(&single, line, l.A, l.B)
			}
			want := load(t, good+fmt.Sprintf(switches, c.ports)+single.String())
			for i, s := range f.Switches {
				w := want.Switches[i]
				if got, all := each(s.Ports, func(p *Port) string { return p.Name }), each(w.Ports, func(p *Port) string { return p.Name }); !slices.Equal(got, all) {
					t.Fatalf("%s has %v, and with a line for each link %v", s.Name, got, all)
				}
				for k, p := range s.Ports {
					a, _ := p.Peer()
					if b, _ := w.Ports[k].Peer(); s.Port(p.Name) != p || p.Switch != s || a != b || p.FEC.V != w.Ports[k].FEC.V || p.Speed.V != w.Ports[k].Speed.V {
						t.Errorf("%s %s: %+v, and with a line for each link %+v", s.Name, p.Name, p, w.Ports[k])
					}
				}
				if s.Port("e99") != nil {
					t.Errorf("%s has a port that nothing names", s.Name)
				}
			}
		})
	}
}

// No combination of ranges can exceed the limits.
func TestLimits(t *testing.T) {
	lim := &limits{devices: 100, ports: 1000, links: 500, expand: 5000}
	for _, c := range []struct{ name, in, want string }{
		{"devices", "switches: {\"a[1-101]\": {os: sonic}}\n", "7:12: more than 100 devices"},
		{"names of one range", "switches: {\"a[1-2000]\": {os: sonic}}\n", "7:12: bad range: a[1-2000] stands for more than 1000 names"},
		{"ports", "switches: {\"a[1-99]\": {os: sonic, ports: {\"e[1-99]\": {}}}}\n", "7:43: more than 1000 ports and NICs"},
		{"NICs", "hosts: {\"a[1-99]\": {nics: {\"e[1-99]\": {}}}}\n", "7:9: more than 1000 ports and NICs"},
		{"ends of a link", "switches: {a: {os: sonic}, b: {os: sonic}}\nlinks: [{a: \"a/e[1-600]\", b: \"b/e[1-600]\", cable: 5m, speed: 1G}]\n", "8:13: a/e[1-600] stands for 600 ends, more than 500"},
		{"links", "switches: {a: {os: sonic}, b: {os: sonic}}\nlinks:\n  - {a: \"a/e[1-400]\", b: \"b/e[1-400]\", cable: 5m, speed: 1G}\n  - {a: \"a/f[1-400]\", b: \"b/f[1-400]\", cable: 5m, speed: 1G}\n", "10:9: more than 1000 ports and NICs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load("-", Options{Stdin: strings.NewReader(good + c.in), limits: lim})
			if err == nil {
				t.Fatal("accepted")
			}
			first, _, _ := strings.Cut(err.Error(), "\n")
			if got := strings.TrimPrefix(first, Stdin+":"); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	many := good + "switches: {a: {os: sonic}, b: {os: sonic}}\nlinks:\n" + strings.Repeat("  - {a: \"x/e[1-400]\", b: \"y/e[1-400]\", cable: 5m, speed: 1G}\n", 50)
	_, err := Load("-", Options{Stdin: strings.NewReader(many), limits: lim})
	if err == nil || !strings.Contains(err.Error(), "the ranges stand for more than 5000 names together") {
		t.Errorf("the budget of all ranges: %v", err)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(good + "mtu:\n")
	for i := range 5000 {
		b.WriteString("  k" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + ": 1\n")
	}
	_, err := Load("-", Options{Stdin: strings.NewReader(b.String())})
	es, ok := err.(Errors)
	if !ok || len(es) > maxErrors+1 {
		t.Fatalf("%d errors", len(es))
	}
	if !strings.HasSuffix(es[len(es)-1].Msg, "more errors are not shown") {
		t.Errorf("last: %v", es[len(es)-1])
	}
}

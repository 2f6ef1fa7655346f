package derive

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// maker writes random intents: two tiers with random operating systems, and overrides by role,
// switch and port.
type maker struct {
	*rand.Rand
	strings.Builder
}

func (m *maker) line(format string, a ...any) { fmt.Fprintf(m, format+"\n", a...) }

func (m *maker) one(of ...string) string { return of[m.IntN(len(of))] }

// often returns true with a probability of p percent.
func (m *maker) often(p int) bool { return m.IntN(100) < p }

type kind struct{ os, model, port string } // port is a format

var kinds = []kind{
	{"sonic", "DellEMC-Z9332f-O32", "Ethernet%d"}, {"sonic", "ACS-MSN4700", "Ethernet%d"},
	{"eos", "DCS-7060DX5-64S", "Ethernet%d/1"}, {"nxos", "N9K-C9332D-GX2B", "Ethernet1/%d"}, {"sonic", "Unheard-Of", "Ethernet%d"},
}

func (k kind) portName(i int) string {
	if k.os == "sonic" {
		return fmt.Sprintf(k.port, i*8)
	}
	return fmt.Sprintf(k.port, i+1)
}

func (m *maker) ecn() string {
	if m.often(40) {
		return m.one("auto", "auto", "{auto: true, probability: 20%}")
	}
	lo := 100 + m.IntN(20)*50
	return fmt.Sprintf("{min: %dKB, max: %dKB, probability: %d%%}", lo, lo*(2+m.IntN(5)), 1+m.IntN(100))
}

func (m *maker) watchdog() string {
	if m.often(20) {
		return "off"
	}
	t := []string{"400ms", "600ms", "800ms", "1200ms"}
	return fmt.Sprintf("{detect: %s, restore: %s, action: drop}", m.one(t...), m.one(t...))
}

// overrides returns random settings of a role, switch or port.
func (m *maker) overrides(sonic bool) string {
	var out []string
	var classes []string
	if sonic && m.often(20) {
		classes = append(classes, "lossless1: {lossless: false, ecn: off}")
	} else if m.often(40) {
		classes = append(classes, "lossless1: {ecn: "+m.ecn()+"}")
	}
	if m.often(20) {
		o := fmt.Sprintf("bandwidth: %d%%", 1+m.IntN(20))
		switch {
		case m.often(20):
			o = "strict: true"
		case m.often(20):
			o += ", maxRate: " + m.one("10G", "20G")
		}
		classes = append(classes, "default: {"+o+"}")
	}
	if sonic && m.often(10) {
		out = append(out, "buffers: {alpha: "+m.one("-3", "1", "2")+"}")
	}
	if len(classes) > 0 {
		out = append(out, "classes: {"+strings.Join(classes, ", ")+"}")
	}
	if m.often(20) {
		asym := ""
		if sonic {
			asym = ", asymmetric: " + m.one("true", "false")
		}
		out = append(out, "pfc: {watchdog: "+m.watchdog()+asym+"}")
	}
	if m.often(20) {
		out = append(out, m.one("mtu: {fabric: 9000}", "mtu: {fabric: 9216}", "mtu: {fabric: 4400, host: 4200}"))
	}
	return strings.Join(out, ", ")
}

var alphaOfAPort = regexp.MustCompile(`buffers: \{alpha: \S+\}(, )?`)

func (m *maker) fabric() string {
	m.line("apiVersion: roce-fabric/v1\nkind: Fabric\nname: random\nclasses:")
	prios := m.Perm(8)[:2+m.IntN(3)]
	codes := m.Perm(64)
	left := 78
	for i, p := range prios {
		name, extra := "default", "dscp: rest, bandwidth: 20%"
		if i > 0 {
			n := 1 + m.IntN(5)
			list := slices.Sorted(slices.Values(codes[:n]))
			codes = codes[n:]
			extra = strings.ReplaceAll(fmt.Sprintf("dscp: %v", list), " ", ", ")
			extra = strings.Replace(extra, "dscp:,", "dscp:", 1)
			share := 1 + m.IntN(left/2)
			left -= share
			name = fmt.Sprintf("lossy%d", i)
			switch {
			case i == 1 || i == 2 && m.often(40):
				name = fmt.Sprintf("lossless%d", i)
				extra += fmt.Sprintf(", lossless: true, bandwidth: %d%%, ecn: %s", share, m.ecn())
			case m.often(50):
				extra += ", strict: true"
			default:
				extra += fmt.Sprintf(", bandwidth: %d%%", share)
				if m.often(30) {
					extra += ", ecn: {min: 1MB, max: 2MB}"
				}
			}
		}
		m.line("  %s: {priority: %d, %s}", name, p, extra)
	}
	m.line("pfc: {watchdog: %s}", m.watchdog())
	m.line("mtu: {fabric: %s}", m.one("9100", "9000", "9216"))
	leafKind, spineKind := kinds[m.IntN(len(kinds))], kinds[m.IntN(len(kinds))]
	if leafKind.os == "sonic" && spineKind.os == "sonic" && m.often(20) {
		m.line("trust: pcp")
	}
	leaves, spines, hosts, parallel := 1+m.IntN(4), 1+m.IntN(3), 1+m.IntN(3), 1+m.IntN(2)
	m.line("switches:")
	put := func(name, role string, k kind) {
		s := fmt.Sprintf("os: %s, role: %s, model: %s", k.os, role, k.model)
		if o := m.overrides(k.os == "sonic"); o != "" && m.often(25) {
			s += ", " + o
		}
		if o := m.overrides(k.os == "sonic"); o != "" && m.often(25) {
			o = alphaOfAPort.ReplaceAllString(o, "") // a SONiC switch has one alpha
			s += fmt.Sprintf(", ports: {%s: {%s}}", k.portName(0), o)
		}
		m.line("  %s: {%s}", name, s)
	}
	for i := range leaves {
		put(fmt.Sprintf("leaf%d", i+1), "leaf", leafKind)
	}
	for i := range spines {
		put(fmt.Sprintf("spine%d", i+1), "spine", spineKind)
	}
	var roles []string
	for role, k := range map[string]kind{"leaf": leafKind, "spine": spineKind} {
		if o := m.overrides(k.os == "sonic"); o != "" && m.often(40) {
			roles = append(roles, fmt.Sprintf("  %s: {%s}", role, o))
		}
	}
	if slices.Sort(roles); len(roles) > 0 {
		m.line("roles:\n%s", strings.Join(roles, "\n"))
	}
	m.line("hosts:\n  gpu[1-%d]: {nics: {eth0: {}, eth1: {}}}", leaves*hosts)
	m.line("links:")
	speed := m.one("100G", "400G")
	for i := range leaves {
		for h := range hosts {
			m.line("  - {a: %q, b: gpu%d/eth%d, cable: %s, speed: %s}", fmt.Sprintf("leaf%d/%s", i+1, leafKind.portName(h)), i*hosts+h+1, m.IntN(2), m.one("1m", "5m", "5m"), speed)
		}
		for j := range spines {
			for k := range parallel {
				m.line("  - {a: %q, b: %q, cable: %s, speed: %s}", fmt.Sprintf("leaf%d/%s", i+1, leafKind.portName(hosts+j*parallel+k)),
					fmt.Sprintf("spine%d/%s", j+1, spineKind.portName(i*parallel+k)), m.one("30m", "40m", "40m", "100m"), speed)
			}
		}
	}
	return m.String()
}

// pollOfNothing matches a polling interval that only one of two intents manages: only some ports
// of the switch have a watchdog, by their own overrides.
var pollOfNothing = regexp.MustCompile(`(?m)^\S+ watchdog_poll: - -> \S+\n`)

// The intent derived from switches that run a random intent compiles to the same state.
func TestRandomIntentsComeBack(t *testing.T) {
	n := sharedtest.Sized(150, 400)
	if testing.Short() {
		n = 60
	}
	for seed := range n {
		m := &maker{Rand: rand.New(rand.NewPCG(uint64(seed), 7))}
		text := m.fabric()
		c := compiler(t, []byte(text))
		in := inputOf(c)
		in.ClassNames = map[int]string{} // classes without a name may be left out
		for _, k := range c.Fabric().Settings.Classes {
			in.ClassNames[k.Priority.V] = k.Name
		}
		r, err := Derive(in)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		diff := same(c, compiler(t, r.Text))
		for _, change := range differing(in, r) {
			diff += fmt.Sprintf("%s: %s -> %s\n", change.Path(), change.Old, change.New)
		}
		if diff = pollOfNothing.ReplaceAllString(diff, ""); diff != "" {
			t.Fatalf("seed %d: the derived intent means something else:\n%s%s\n%s", seed, diff, text, r.Text)
		}
	}
}

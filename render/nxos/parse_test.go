package nxos

import (
	"fmt"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// A pasted session, without indentation or with prompts, parses like the configuration itself.
func TestParseForms(t *testing.T) {
	want := parse(t, roceText).String()
	flat := ""
	typed := ""
	mode := map[int]string{0: "", 2: "-sub", 4: "-sub-c"}
	for _, l := range strings.Split(roceText, "\n") {
		bare := strings.TrimLeft(l, " ")
		flat += bare + "\n"
		if l == "" {
			continue
		}
		m := "config" + mode[len(l)-len(bare)]
		if strings.HasPrefix(l, "  ") && strings.Contains(typed[strings.LastIndex(typed, "config)#")+1:], "interface") {
			m = "config-if"
		}
		typed += "leaf1(" + m + ")# " + bare + "\r\n"
	}
	for name, text := range map[string]string{
		"flat":           flat,
		"commands":       strings.Join(Change(parse(t, "interface Ethernet1/1\n"), roce(), EightQueue).Commands(parse(t, "interface Ethernet1/1\n")), "\n"),
		"prompts":        "leaf1# configure terminal\nleaf1# show version\n" + typed + "leaf1(config-if)# end\nleaf1#",
		"one space":      strings.ReplaceAll(roceText, "  ", " "),
		"uniform":        "   " + strings.ReplaceAll(roceText, "\n", "\n   "),
		"blank lines":    strings.ReplaceAll(strings.ReplaceAll(roceText, "    ", "  "), "\n", "\n\n"),
		"tabs":           strings.ReplaceAll(roceText, "  ", "\t"),
		"class unnested": strings.ReplaceAll(roceText, "    ", "  "),
		"twice":          roceText + "\ninterface Ethernet1/1\n",
	} {
		if got := parse(t, text).String(); got != want {
			t.Errorf("%s: read\n%s\nas\n%s", name, text, got)
		}
	}
	for _, bad := range []string{"hostname a\x00", strings.Repeat("x", lines.MaxLine+1), nested(lines.MaxDepth + 1)} {
		if _, err := Parse([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%.20q is taken: %v", bad, err)
		}
	}
}

func nested(n int) string {
	s := ""
	for i := range n {
		s += strings.Repeat(" ", i) + "x\n"
	}
	return s
}

func TestComplete(t *testing.T) {
	for text, want := range map[string]bool{
		worked:                  true,
		worked + "\nleaf1# ":    true,
		worked[:len(worked)-9]:  false,
		worked + " --More-- \n": false,
		worked[:strings.Index(worked, "interface ")]:                                       false,
		strings.Replace(worked, "show running-config\n", "show running-config all\n", 1):   true,
		strings.Replace(worked, "show running-config\n", "show running-config ipqos\n", 1): false,
		strings.Replace(worked, "version ", "no version ", 1):                              false,
		worked + "banner motd #\nopen\n":                                                   false,
		"":                                                                                 false,
	} {
		if got := parse(t, text).Complete(); got != want {
			t.Errorf("%v for ...%q", got, text[max(0, len(text)-60):])
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(worked))
	f.Add([]byte(surroundings + behind))
	f.Add([]byte("leaf1(config)# policy-map type qos x\nclass class-default\nset qos-group 9\n"))
	f.Add([]byte("system qos\n  service-policy type network-qos n\npolicy-map type network-qos n\n class type network-qos c-8q-nq3\n  pause pfc-cos 0-7\n"))
	want := roce()
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			return
		}
		text := c.String()
		again, err := Parse([]byte(text))
		if err != nil || again.String() != text {
			t.Fatalf("what was written is read otherwise: %v\n%q\n%q", err, text, again)
		}
		for _, m := range []ClassModel{EightQueue, FourQueue} {
			Decode(c, m)
			Conditions(c, want, m)
			e := Change(c, want, m)
			e.Commands(c)
			e.Undo(c).Apply(e.Apply(c))
			Digest(c, want, m)
		}
		ModelOf(text)
		c.Complete()
	})
}

// large returns a configuration of about n lines.
func large(n int) string {
	var b strings.Builder
	b.WriteString(worked)
	for i := 0; i*10 < n; i++ {
		fmt.Fprintf(&b, "\ninterface Ethernet%d/%d\n  description %d\n  no switchport\n  priority-flow-control mode on\n  mtu 9216\n  service-policy type qos input QOS_CLASSIFICATION\n  ip address 10.0.0.0/31\n  ip ospf cost 1\n  no shutdown\n", 2+i/64, i%64+1, i)
	}
	return b.String()
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{5000, 50000} {
		text := []byte(large(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				c, err := Parse(text)
				if err != nil {
					b.Fatal(err)
				}
				Decode(c, EightQueue)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/line")
		})
	}
}

func BenchmarkChange(b *testing.B) {
	for _, n := range []int{5000, 50000} {
		c, err := Parse([]byte(large(n)))
		if err != nil {
			b.Fatal(err)
		}
		want := roce()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				e := Change(c, want, EightQueue)
				e.Commands(c)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/line")
		})
	}
}

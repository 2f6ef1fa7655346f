package eos

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

func golden(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func samePort(t *testing.T, name string, got, want *qos.Port) {
	t.Helper()
	if got == nil {
		t.Fatalf("no port %s", name)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s:\n%s", name, d)
	}
}

// leafPort returns the state of the ports in the golden texts.
func leafPort(weights map[int]int, pfc qos.PrioritySet, ecn map[int]qos.ECN) *qos.Port {
	p := &qos.Port{
		AdminUp: qos.Of(true), MTU: qos.Of(9214), LAG: qos.Of(""), Trust: qos.Of(qos.TrustDSCP), PFC: qos.Of(pfc), LinkPause: qos.Of(false),
		Watchdog: qos.Of(qos.Watchdog{Enabled: true, Priorities: pfc, Action: qos.ActionDrop, Detect: 200 * time.Millisecond, Restore: 400 * time.Millisecond}),
	}
	for i := range p.Queues {
		p.Queues[i] = qos.Queue{Scheduler: qos.Of(qos.Scheduler{Strict: weights[i] == 0, Weight: weights[i]}), ECN: qos.Of(ecn[i])}
	}
	return p
}

func TestGoldenTextsDecode(t *testing.T) {
	curve := qos.ECN{Enabled: true, Min: 1000, Max: 3000, Unit: qos.UnitKBytes, Probability: 5}
	one := map[int]int{0: 5, 1: 25, 2: 5, 3: 55, 4: 5, 5: 5}
	for file, c := range map[string]struct {
		port    *qos.Port
		ports   int
		kw      Keyword
		dscp34  int8
		unknown int
	}{
		"strata.cfg":     {leafPort(one, qos.Priorities(3), map[int]qos.ECN{3: curve}), 3, UCTxQueue, 4, 0},
		"strata-two.cfg": {leafPort(map[int]int{0: 5, 1: 20, 2: 5, 3: 40, 4: 25, 5: 5}, qos.Priorities(3, 4), map[int]qos.ECN{3: curve, 4: curve}), 1, UCTxQueue, 4, 0},
		"sand.cfg":       {leafPort(one, qos.Priorities(3), map[int]qos.ECN{3: {Enabled: true, Min: 3000, Max: 12000, Unit: qos.UnitKBytes, Probability: 100}}), 2, TxQueue, 4, 0},
	} {
		t.Run(file, func(t *testing.T) {
			cfg := mustParse(t, golden(t, file))
			d, unknown := Decode(cfg)
			if len(unknown) != c.unknown {
				t.Errorf("not understood: %v", unknown)
			}
			if len(d.Ports) != c.ports {
				t.Errorf("%d ports, want %d", len(d.Ports), c.ports)
			}
			for n, p := range d.Ports {
				samePort(t, n, p, c.port)
			}
			m := d.GlobalMaps.V
			if m.DSCPToTC[26] != 3 || m.DSCPToTC[48] != 6 || m.DSCPToTC[25] != 1 || m.DSCPToTC[0] != 1 || m.DSCPToTC[8] != 0 || m.DSCPToTC[34] != c.dscp34 {
				t.Errorf("classes %v", m.DSCPToTC)
			}
			if d.WatchdogPoll != qos.Of(100*time.Millisecond) {
				t.Errorf("polling interval %v", d.WatchdogPoll)
			}
			if kw, ok := KeywordOf(cfg); !ok || kw != c.kw {
				t.Errorf("keyword %q", kw)
			}
			if file != "strata-two.cfg" && !cfg.Complete() {
				t.Error("a whole answer is not taken for one")
			}
		})
	}
}

// Defaults of an unconfigured switch that may surprise.
func TestDefaults(t *testing.T) {
	d, _ := Decode(mustParse(t, "interface Ethernet1\n!\ninterface Ethernet2\n   no switchport\n!\ninterface Ethernet3\n   priority-flow-control priority 3 no-drop\n!\nend\n"))
	m := d.GlobalMaps.V
	for dscp, tc := range m.DSCPToTC {
		want := int8(dscp / 8)
		if want < 2 {
			want = 1 - want
		}
		if tc != want {
			t.Errorf("DSCP %d is class %d, want %d", dscp, tc, want)
		}
	}
	if m.PCPToTC != [8]int8{1, 0, 2, 3, 4, 5, 6, 7} || m.TCToQueue != [8]int8{0, 1, 2, 3, 4, 5, 6, 7} || m.TCToDSCP[0] != qos.Unmapped {
		t.Errorf("maps %v", m)
	}
	one, two := d.Ports["Ethernet1"], d.Ports["Ethernet2"]
	if one.Trust.V != qos.TrustPCP || two.Trust.V != qos.TrustDSCP || one.MTU.V != 9214 || two.MTU.V != 1500 {
		t.Errorf("switched %v %v, routed %v %v", one.Trust.V, one.MTU.V, two.Trust.V, two.MTU.V)
	}
	if q := one.Queues[3]; !q.Scheduler.V.Strict || q.ECN != qos.Of(qos.ECN{}) {
		t.Errorf("queue %v", q)
	}
	// A priority is lossless only if PFC is on as well.
	if d.Ports["Ethernet3"].PFC != qos.Of(qos.PrioritySet(0)) {
		t.Errorf("PFC %v", d.Ports["Ethernet3"].PFC)
	}
}

// Defaults for all ports apply to ports that do not override them.
func TestDefaultsOfAllPorts(t *testing.T) {
	const text = "switchport default mode routed\n!\ninterface defaults\n   mtu 9000\n   ethernet\n      shutdown\n!\ninterface Port-Channel1\n!\ninterface Ethernet1\n!\n" +
		"interface Ethernet2\n   no shutdown\n   mtu 1500\n!\ninterface Ethernet3\n   switchport\n!\ninterface Ethernet4\n   no shutdown\n   channel-group 1 mode active\n!\nend\n"
	flat := strings.ReplaceAll(text, "   ", "")
	// "show running-config all" also prints the default values.
	all := strings.ReplaceAll(text, "interface Ethernet1\n", "interface Ethernet1\n   shutdown\n   mtu 9000\n   no switchport\n   no shape rate\n")
	all = strings.ReplaceAll(all, "   switchport\n", "   shutdown\n   mtu 9000\n   switchport\n   no shape rate\n")
	all = strings.ReplaceAll(all, "   no shutdown\n   mtu 1500\n", "   no shutdown\n   mtu 1500\n   no switchport\n   no shape rate\n")
	for _, text := range []string{text, flat, all} {
		d, unknown := Decode(mustParse(t, text))
		if len(unknown) > 0 {
			t.Errorf("not understood: %v", unknown)
		}
		for name, want := range map[string]struct {
			up  bool
			mtu int
		}{"Ethernet1": {false, 9000}, "Ethernet2": {true, 1500}, "Ethernet3": {false, 9214}, "Ethernet4": {true, 9000}} {
			if p := d.Ports[name]; p.AdminUp != qos.Of(want.up) || p.MTU != qos.Of(want.mtu) {
				t.Errorf("%s: up %v, mtu %v in\n%s", name, p.AdminUp.V, p.MTU.V, text)
			}
		}
	}
	// The last line counts, and an unknown line is reported.
	d, unknown := Decode(mustParse(t, "interface defaults\n   mtu 9000\n   no mtu\n   ethernet\n      shutdown\n      default shutdown\n      speed fast\n   loopback\n!\ninterface Ethernet1\n   no switchport\n!\nend\n"))
	if p := d.Ports["Ethernet1"]; !p.AdminUp.V || p.MTU.V != 1500 {
		t.Errorf("%+v", p)
	}
	var got []string
	for _, u := range unknown {
		got = append(got, u.Where()+": "+u.Text)
	}
	if want := []string{"interface defaults, line 7: speed fast", "interface defaults, line 8: loopback"}; !slices.Equal(got, want) {
		t.Errorf("not understood: %q, want %q", got, want)
	}
}

// The watchdog is on at every port by default, but without a timeout it does nothing. Its
// default action is errdisable.
func TestWatchdogNeedsATimeout(t *testing.T) {
	text := "interface Ethernet1\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n"
	for global, want := range map[string]qos.Watchdog{
		"": {},
		"priority-flow-control pause watchdog default timeout 0.0\n": {},
		"priority-flow-control pause watchdog default timeout 0.20\npriority-flow-control pause watchdog default recovery-time 1\n": {
			Enabled: true, Priorities: 8, Action: qos.ActionErrDisable, Detect: 200 * time.Millisecond, Restore: time.Second},
		"priority-flow-control pause watchdog default timeout 0.2\npriority-flow-control pause watchdog override action drop\n": {
			Enabled: true, Priorities: 8, Action: qos.ActionDrop, Detect: 200 * time.Millisecond},
		"priority-flow-control all off\npriority-flow-control pause watchdog default timeout 0.2\n": {},
	} {
		d, unknown := Decode(mustParse(t, text+"!\n"+global))
		if w := d.Ports["Ethernet1"].Watchdog.V; w != want || len(unknown) > 0 {
			t.Errorf("%q: %v %v", global, w, unknown)
		}
	}
}

// "show running-config all" prints defaults; it decodes to the same state.
func TestPrintedDefaultsDecodeAlike(t *testing.T) {
	plain, unknown := Decode(mustParse(t, golden(t, "plain.cfg")))
	if len(unknown) > 0 {
		t.Errorf("plain: %v", unknown)
	}
	all, unknown := Decode(mustParse(t, golden(t, "all.cfg")))
	if len(unknown) > 0 {
		t.Errorf("all: %v", unknown)
	}
	if d := cmp.Diff(plain, all); d != "" {
		t.Error(d)
	}
	if p := plain.Ports["Ethernet1"]; p.Queues[3].Scheduler.V.Weight != 55 || p.PFC.V != 8 {
		t.Errorf("the profile does not count: %+v", p)
	}
}

func TestParseTakesTextFromAnywhere(t *testing.T) {
	want := "qos profile P\n   qos trust dscp\n   !\n   uc-tx-queue 3\n      no priority\n      bandwidth percent 40\n   !\n   priority-flow-control on\n!\ninterface Ethernet1/1\n   description a % b ! c # d\n   service-profile P\n!\nend\n"
	for name, text := range map[string]string{
		"printed":                       want,
		"four spaces":                   strings.ReplaceAll(want, "   ", "    "),
		"tabs":                          strings.ReplaceAll(want, "   ", "\t"),
		"CRLF":                          strings.ReplaceAll(want, "\n", "\r\n"),
		"blanks":                        strings.ReplaceAll(want, "\n", "  \n\n"),
		"no end of line":                strings.TrimSuffix(want, "\n"),
		"flat":                          strings.ReplaceAll(want, "   ", ""),
		"flat, no marks":                strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(want, "   !\n", ""), "!\n", ""), "   ", ""),
		"queue lines outside the queue": strings.ReplaceAll(want, "      ", "   "),
		"asked at a prompt":             "leaf1#show running-config\n" + want + "leaf1#",
		"exits":                         "qos profile P\nqos trust dscp\nuc-tx-queue 3\nno priority\nbandwidth percent 40\nexit\npriority-flow-control on\nexit\ninterface Ethernet1/1\ndescription a % b ! c # d\nservice-profile P\nexit\nend\n",
	} {
		if got := mustParse(t, text).String(); got != want {
			t.Errorf("%s: %s", name, cmp.Diff(want, got))
		}
	}
	session := "leaf1>enable\nleaf1#configure session rf1\nleaf1(config-s-rf1)#qos profile P\nleaf1(config-s-rf1-qos-profile-P)#qos trust dscp\nleaf1(config-s-rf1-qos-profile-P)#uc-tx-queue 3\nleaf1(config-s-rf1-qos-profile-P-txq-3)#no priority\n" +
		"leaf1(config-s-rf1-qos-profile-P-txq-3)#bandwidth percent 40\nleaf1(config-s-rf1-qos-profile-P-txq-3)#exit\nleaf1(config-s-rf1-qos-profile-P)#priority-flow-control on\n" +
		"leaf1(config-s-rf1-qos-profile-P)#interface Ethernet1/1\nleaf1(config-s-rf1-if-Et1/1)#description a % b ! c # d\nleaf1(config-s-rf1-if-Et1/1)#service-profile P\nleaf1(config-s-rf1-if-Et1/1)#end\nleaf1#"
	c := mustParse(t, session)
	if got := c.String(); got != strings.TrimSuffix(want, "!\nend\n") {
		t.Errorf("session: %s", got)
	}
	if c.Complete() {
		t.Error(`"end" that someone typed ends no answer`)
	}
}

func TestComplete(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "hostname a\n": false, "hostname a\n!\nend\n": true, "hostname a\n!\nend": true, "hostname a\r\n!\r\nend\r\n": true, "hostname a\nend\nleaf1#": true,
		"banner login\nbye\nend\n": false, "banner login\nend\nEOF\n": false, "banner login\nend\nEOF\n!\nend\n": true, "router bgp 1\n   end\n": false,
	} {
		if got := mustParse(t, text).Complete(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// The text of a banner is not configuration, whatever it looks like.
func TestBannersAreNotRead(t *testing.T) {
	text := "banner motd\n% Invalid input\nend\n!\ninterface Ethernet9\n   priority-flow-control on\nleaf1#\n  two  blanks  \nEOF\n!\ninterface Ethernet1\n   description 5% loss ! see #12\n!\nend\n"
	c := mustParse(t, text)
	if got := c.String(); got != text {
		t.Error(cmp.Diff(text, got))
	}
	if d, unknown := Decode(c); len(d.Ports) != 1 || len(unknown) > 0 {
		t.Errorf("%d ports, %v", len(d.Ports), unknown)
	}
}

func TestParseRefusesWhatIsNotConfiguration(t *testing.T) {
	deep := ""
	for i := range lines.MaxDepth + 1 {
		deep += strings.Repeat(" ", i) + "x\n"
	}
	for text, want := range map[string]string{
		"hostname a\nb\x00c\n":                       "line 2: a NUL byte",
		"a\n" + strings.Repeat("x", lines.MaxLine+1): "line 2: longer than 65536 bytes",
		deep: "line 17: more than 16 levels",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
	if _, err := Parse([]byte(strings.Repeat("x", lines.MaxLine))); err != nil {
		t.Error(err)
	}
}

func TestDecodeReportsWhatItCannotPlace(t *testing.T) {
	text := golden(t, "unknown.cfg")
	_, unknown := Decode(mustParse(t, text))
	var got []string
	for _, u := range unknown {
		got = append(got, u.Where()+": "+u.Text+": "+u.Why)
		if line := strings.TrimSpace(strings.Split(text, "\n")[u.Line-1]); line != u.Text {
			t.Errorf("line %d is %q, not %q", u.Line, line, u.Text)
		}
	}
	want := strings.Split(strings.TrimSpace(golden(t, "unknown.txt")), "\n")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A switch prints a "no" line either because someone configured it or, with "all", for every
// unset value. Only the former is doubtful.
func TestAnUnsetLineOverAProfileIsReported(t *testing.T) {
	const profile = "qos profile P\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n!\ninterface Ethernet1\n   service-profile P\n"
	d, unknown := Decode(mustParse(t, profile+"   no priority-flow-control\n   no priority-flow-control priority 5\n!\nend\n"))
	if len(unknown) != 1 || unknown[0].Text != "no priority-flow-control" || unknown[0].Why != whyDoubt || d.Ports["Ethernet1"].PFC.V != 8 {
		t.Errorf("%v, PFC %v", unknown, d.Ports["Ethernet1"].PFC)
	}
	// "no" for priority 0 alone was configured; "no" for all eight is what "show running-config
	// all" prints.
	const zero = "qos profile P\n   priority-flow-control on\n   priority-flow-control priority 0 no-drop\n!\ninterface Ethernet1\n   service-profile P\n"
	line := func(n int) string { return fmt.Sprintf("   no priority-flow-control priority %d\n", n) }
	all := ""
	for n := range 8 {
		all += line(n)
	}
	for text, want := range map[string]int{zero + line(0): 1, zero + all: 0} {
		if _, unknown := Decode(mustParse(t, text+"!\nend\n")); len(unknown) != want {
			t.Errorf("%d doubts, want %d: %v in\n%s", len(unknown), want, unknown, text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"strata.cfg", "all.cfg", "unknown.cfg"} {
		f.Add([]byte(golden(f, name)))
	}
	f.Add([]byte("leaf1(config)#qos profile P\nleaf1(config-qos)#tx-queue 3\nno priority\n"))
	f.Add([]byte("switchport default mode routed\ninterface defaults\n   mtu 9000\n   ethernet\n      shutdown\ninterface Ethernet1\n   no shutdown\n   switchport\n"))
	f.Add([]byte("interface Ethernet1\nmtu 9000\ntx-queue 3\n!\nshape rate 5\nexit\nexit\nx#y#z\n"))
	f.Add([]byte("event-handler X\n   action bash\n      echo\n EOF\nbanner login\nEOF\nqos map dscp 1-5,9 to traffic-class 3\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		printed := c.Append(nil)
		again, err := Parse(printed)
		if err != nil {
			t.Fatalf("what was printed is not read: %v\n%q", err, printed)
		}
		if d := cmp.Diff(c.Lines, again.Lines, cmpopts.IgnoreFields(Line{}, "No", "Match"), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%s\n%q", d, printed)
		}
		d, _ := Decode(c)
		e := Change(c, d, TxQueue)
		if len(e) > 0 {
			t.Fatalf("a switch is not what it is: %v\n%q", e, printed)
		}
		for n := range d.Ports {
			d.Ports[n] = leafPort(map[int]int{0: 5}, 8, nil)
		}
		e = Change(c, d, TxQueue)
		e.Commands(c)
		e.Undo(c).Apply(e.Apply(c))
		if !bytes.Equal(printed, c.Append(nil)) {
			t.Fatal("changed in place")
		}
	})
}

// big returns the configuration of a switch with n ports as "show running-config all" prints it.
func big(ports int) []byte {
	var b bytes.Buffer
	b.WriteString("! device: leaf1 (DCS-7060DX5-64S, EOS-4.34.2F)\n!\nhostname leaf1\n")
	for i := range ports {
		fmt.Fprintf(&b, "!\ninterface Ethernet%d\n   mtu 9214\n   no switchport\n   default qos trust\n   no priority-flow-control\n", i+1)
		for p := range 8 {
			fmt.Fprintf(&b, "   no priority-flow-control priority %d\n", p)
		}
		for q := range 8 {
			fmt.Fprintf(&b, "   !\n   uc-tx-queue %d\n      priority strict\n      no bandwidth percent\n      no shape rate\n      no bandwidth guaranteed\n      no random-detect ecn minimum-threshold\n      no random-detect drop\n      no random-detect ecn count\n", q)
		}
	}
	b.WriteString("!\nend\n")
	return b.Bytes()
}

// BenchmarkDecode shows that the time per line does not depend on the number of lines.
func BenchmarkDecode(b *testing.B) {
	for _, ports := range []int{62, 620} {
		text := big(ports)
		lines := bytes.Count(text, []byte("\n"))
		b.Run(fmt.Sprintf("%dlines", lines), func(b *testing.B) {
			for b.Loop() {
				Decode(mustParse(b, string(text)))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(lines), "ns/line")
		})
	}
}

func BenchmarkParse(b *testing.B) {
	text := big(620)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

// A comment does not end a block, whatever its indentation.
func TestCommentsEndNoBlock(t *testing.T) {
	const text = "qos profile P\n   uc-tx-queue 3\n      no priority\n%s      bandwidth percent 40\n   priority-flow-control on\n!\ninterface Ethernet1\n%s   service-profile P\n!\nend\n"
	want, _ := Decode(mustParse(t, fmt.Sprintf(text, "", "")))
	for _, comment := range []string{"!! of storage\n", "   !! of storage\n", "            !! of storage\n"} {
		got, unknown := Decode(mustParse(t, fmt.Sprintf(text, comment, comment)))
		if d := qos.Diff(got, want); len(d) > 0 || len(unknown) > 0 || got.Ports["Ethernet1"].Queues[3].Scheduler.V.Weight != 40 {
			t.Errorf("%q: %v, %v", comment, d, unknown)
		}
	}
}

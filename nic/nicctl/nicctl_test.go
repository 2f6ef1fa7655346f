package nicctl_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/nicctl"
	"github.com/roce-fabric/roce-fabric/nic/nicctl/nicctltest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
)

// The output about a card in AMD's documentation.
const (
	portText = `-------------------------------------------------------------------------------------

NIC  : 42424650-4c32-3531-3530-314343000000 (0000:f6:00.0)

Port : 04908132-5d88-4242-4242-000011010000 (eth1/1)
  Spec:
    Type                                     : ETH
    Pause type                               : PFC
    TX pause                                 : enabled
    RX pause                                 : enabled
    Auto negotiation                         : enabled
  Status:
    Auto negotiation                         : disabled
    MAC address                              : 04:90:81:32:5D:88
-------------------------------------------------------------------------------------
`
	qosText = `NIC  : 42424650-4c32-3531-3530-314343000000 (0000:f6:00.0)

Port : 04908132-5d88-4242-4242-000011010000

  Classification type         : DSCP

  DSCP-to-priority :
    DSCP bitmap               : 0xffffbffffeffffff ==> priority : 0
    DSCP bitmap               : 0x0000000001000000 ==> priority : 3
    DSCP bitmap               : 0x0000400000000000 ==> priority : 6
    DSCP                      : 0-23, 25-45, 47-63 ==> priority : 0
    DSCP                      : 24 ==> priority : 3
    DSCP                      : 46 ==> priority : 6

  PFC :
    PFC priority bitmap       : 0x8
    PFC no-drop priorities    : 3

  Scheduling :
    --------------------------------------------
    Priority  Scheduling  Bandwidth Rate-limit
              Type        (in %age) (in Gbps)
    --------------------------------------------
    0         DWRR        1         N/A
    3         DWRR        99        N/A
    6         strict      N/A       10
`
	dcqcnText = `NIC : 42424650-4c32-3531-3530-314343000000 (0000:f6:00.0)
------------------------------------------------------------------------------------------

Lif id                                     : 43000070-0100-0000-4242-049081325d88
ROCE device                                : ionic_7
  DCQCN profile id                         : 1
  Status                                   : Enabled
  Rate increase in AI phase                : 160
  DSCP value used for CNP                  : 46
******************************************************************************************
`
)

// prints returns a nicctl that prints fixed texts.
func prints(port, qos, dcqcn string) *nicctl.Tool {
	return nicctl.New(&runnertest.Fake{Programs: map[string]runnertest.Program{nicctl.Name: func(_ context.Context, args []string) (runner.Result, error) {
		return runner.Result{Stdout: []byte(map[string]string{"show port": port, "show qos": qos, "show dcqcn": dcqcn}[strings.Join(args, " ")])}, nil
	}}})
}

func TestReadsWhatTheToolShows(t *testing.T) {
	s, err := prints(portText, qosText, dcqcnText).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var m [qos.NumDSCP]int8
	m[24], m[46] = 3, 6
	card, pci := "42424650-4c32-3531-3530-314343000000", "0000:f6:00.0"
	want := nicctl.Port{
		ID: "04908132-5d88-4242-4242-000011010000", Card: card, PCI: pci, MAC: "04:90:81:32:5d:88",
		Pause: qos.Of(nicctl.Pause{Type: "pfc", RX: true, TX: true}), Trust: qos.Of(qos.TrustDSCP), DSCP: qos.Of(m), PFC: qos.Of(qos.Priorities(3)),
		Scheduling: qos.Of(nicctl.Scheduling{0: {Shown: true, Percent: 1}, 3: {Shown: true, Percent: 99}, 6: {Shown: true, Strict: true, Gbps: 10}}),
		Missing:    map[string]string{},
	}
	p, d, err := s.Find("ionic_7", "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, *p); diff != "" {
		t.Errorf("port (-want +got):\n%s", diff)
	}
	dev := nicctl.Device{Name: "ionic_7", Card: card, PCI: pci, Profiles: []nicctl.Profile{
		{ID: 1, Enabled: qos.Of(true), CNPDSCP: qos.Of(46), Params: map[string]uint64{"rate_increase_in_ai_phase": 160}}}}
	if diff := cmp.Diff(dev, *d); diff != "" {
		t.Errorf("device (-want +got):\n%s", diff)
	}
	if _, _, err := s.Find("ionic_0", ""); !errors.Is(err, nicctl.ErrNoPort) {
		t.Errorf("a device of no card: %v", err)
	}
}

// A part that is not in the known form is missing, with the reason; all other parts are read.
func TestPartsThatAreNotUnderstood(t *testing.T) {
	for _, tt := range []struct {
		name, old, new string
		part, why      string
	}{
		{"pause of another kind", "TX pause                                 : enabled", "TX pause                                 : auto", nicctl.PartPause, `"auto"`},
		{"no pause", "    Pause type                               : PFC\n", "", nicctl.PartPause, `pause type ""`},
		{"pause twice", "    Pause type                               : PFC\n", "    Pause type : PFC\n    Pause type : LINK\n", nicctl.PartPause, "both"},
		{"another classification", "type         : DSCP", "type         : ACL", nicctl.PartClassification, `"ACL"`},
		{"a DSCP that there is not", ": 46 ==> priority : 6", ": 64 ==> priority : 6", nicctl.PartDSCP, "64"},
		{"a span upside down", "47-63", "63-47", nicctl.PartDSCP, "63-47"},
		{"a DSCP in two priorities", ": 24 ==> priority : 3", ": 23-24 ==> priority : 3", nicctl.PartDSCP, "DSCP 23 twice"},
		{"two forms that differ", ": 24 ==> priority : 3", ": 24 ==> priority : 4", nicctl.PartDSCP, "the two differ"},
		{"a priority that there is not", ": 24 ==> priority : 3", ": 24 ==> priority : 9", nicctl.PartDSCP, "priority : 9"},
		{"no map", "DSCP", "XXXX", nicctl.PartDSCP, "no map"},
		{"a bitmap of nine bits", "0x8", "0x108", nicctl.PartPFC, "0x108"},
		{"lists that disagree", "priorities    : 3", "priorities    : 3,4", nicctl.PartPFC, "{3,4}"},
		{"words for priorities", "priorities    : 3", "priorities    : all", nicctl.PartPFC, `"all"`},
		{"no PFC", "PFC no-drop", "no-drop", nicctl.PartPFC, "no PFC"},
		{"another scheduler", "3         DWRR ", "3         WFQ  ", nicctl.PartScheduling, "WFQ"},
		{"more than all", "99        N/A", "199       N/A", nicctl.PartScheduling, "199"},
		{"a rate in words", "N/A       10", "N/A       10G", nicctl.PartScheduling, "10G"},
		{"a priority twice", "    3         DWRR        99", "    0         DWRR        99", nicctl.PartScheduling, "DWRR"},
		{"a line that is no row", "    6         strict", "    see also\n    6         strict", nicctl.PartScheduling, "see also"},
		{"no schedule", "  Scheduling :\n", "", nicctl.PartScheduling, "no schedule"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := 1
			if tt.old == "DSCP" {
				n = -1
			}
			port, text := strings.Replace(portText, tt.old, tt.new, n), strings.Replace(qosText, tt.old, tt.new, n)
			if port == portText && text == qosText {
				t.Fatal("nothing was replaced")
			}
			if tt.name == "no map" {
				text = strings.Replace(text, "type         : XXXX", "type         : DSCP", 1)
			}
			s, err := prints(port, text, dcqcnText).Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p := s.Ports[0]
			if len(p.Missing) != 1 || !strings.Contains(p.Missing[tt.part], tt.why) {
				t.Errorf("missing %q", p.Missing)
			}
			set := map[string]bool{nicctl.PartPause: p.Pause.Set, nicctl.PartClassification: p.Trust.Set, nicctl.PartDSCP: p.DSCP.Set, nicctl.PartPFC: p.PFC.Set, nicctl.PartScheduling: p.Scheduling.Set}
			for part, is := range set {
				if is == (part == tt.part) {
					t.Errorf("%s is set: %t", part, is)
				}
			}
		})
	}
	s, err := prints(portText, strings.Replace(qosText, "Port : 04", "Port : 05", 1), dcqcnText).Read(t.Context())
	if err != nil || len(s.Ports[0].Missing) != 4 {
		t.Errorf("a port that show qos does not show: %v, %v", s, err)
	}
}

func TestAnswersThatMakeNoSense(t *testing.T) {
	for name, texts := range map[string][3]string{
		"no port":              {"", qosText, dcqcnText},
		"a port twice":         {portText + portText, qosText, dcqcnText},
		"quality twice":        {portText, qosText + qosText, dcqcnText},
		"a card without a bus": {strings.Replace(portText, "(0000:f6:00.0)", "(f6)", 1), qosText, dcqcnText},
		"an option for a port": {strings.Replace(portText, "Port : 04", "Port : -04", 1), qosText, dcqcnText},
		"a device twice":       {portText, qosText, dcqcnText + dcqcnText},
		"an option for RDMA":   {portText, qosText, strings.Replace(dcqcnText, "ionic_7", "--all", 1)},
		"a profile in words":   {portText, qosText, strings.Replace(dcqcnText, "id                         : 1", "id : one", 1)},
	} {
		if s, err := prints(texts[0], texts[1], texts[2]).Read(t.Context()); !errors.Is(err, nicctl.ErrOutput) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// On a card with several ports, the port is found by its Ethernet address, or not at all.
func TestPortOfACardWithSeveral(t *testing.T) {
	h := nicctltest.New("ionic_0")
	h.Edit(func(cards []*nicctltest.Card, _ *qos.Trust) {
		cards[0].Devices = append(cards[0].Devices, &nicctltest.Device{Name: "ionic_1"})
		cards[0].Ports = append(cards[0].Ports, nicctltest.NewPort(1, "04:90:81:32:5d:ee"))
	})
	s, err := tool(h).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p, d, err := s.Find("ionic_1", "04:90:81:32:5D:EE"); err != nil || p.ID != s.Ports[1].ID || d.Name != "ionic_1" {
		t.Errorf("%+v %+v %v", p, d, err)
	}
	if p, _, err := s.Find("ionic_1", "04:90:81:32:5d:99"); !errors.Is(err, nicctl.ErrNoPort) {
		t.Errorf("guessed %+v, %v", p, err)
	}
}

func tool(h *nicctltest.Host) *nicctl.Tool {
	return nicctl.New(&runnertest.Fake{Programs: map[string]runnertest.Program{nicctl.Name: h.Run}})
}

func TestFailures(t *testing.T) {
	if _, err := nicctl.New(&runnertest.Fake{}).Read(t.Context()); !errors.Is(err, nicctl.ErrNoTool) {
		t.Errorf("no nicctl: %v", err)
	}
	h := nicctltest.New("ionic_0")
	h.SetFaults(nicctltest.Faults{NoCards: true})
	_, err := tool(h).Read(t.Context())
	var hinted interface{ Hint() string }
	if !errors.Is(err, nicctl.ErrAccess) || !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "root") {
		t.Errorf("no card, exit status 0: %v", err)
	}
	h.SetFaults(nicctltest.Faults{})
	if err := tool(h).SetPFC(t.Context(), "04908132-0000", qos.Priorities(3), true); !errors.Is(err, nicctl.ErrRefused) || !strings.Contains(err.Error(), "Invalid UUID") {
		t.Errorf("a port of no card: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tool(h).SetClassification(ctx, qos.TrustPCP); !errors.Is(err, context.Canceled) || h.Writes() != nil {
		t.Errorf("after the end of the context: %v", err)
	}
	exit := nicctl.New(&runnertest.Fake{Programs: map[string]runnertest.Program{nicctl.Name: runnertest.Prints("", "\x1b[31mpanic: no\n", 2)}})
	if _, err := exit.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "panic: no") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a tool that breaks: %v", err)
	}
}

// A card stores the values that are set, and rejects a schedule before its DSCPs are mapped.
func TestSet(t *testing.T) {
	h := nicctltest.New("ionic_0", "ionic_1")
	tl := tool(h)
	read := func() nicctl.Port {
		t.Helper()
		s, err := tl.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.Ports[1]
	}
	id := read().ID
	want := nicctl.Scheduling{0: {Shown: true, Percent: 40}, 3: {Shown: true, Percent: 60}, 6: {Shown: true, Strict: true, Gbps: 10}}
	var hinted interface{ Hint() string }
	if err := tl.SetScheduling(t.Context(), id, want); !errors.Is(err, nicctl.ErrRefused) || !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "DSCP") {
		t.Errorf("a schedule before the map: %v", err)
	}
	var m [qos.NumDSCP]int8
	for d := range m {
		m[d] = qos.Unmanaged
	}
	m[24], m[25], m[26], m[48] = 3, 3, 3, 6
	for _, err := range []error{
		tl.MapDSCP(t.Context(), id, m), tl.SetScheduling(t.Context(), id, want), tl.SetPFC(t.Context(), id, qos.Priorities(3, 4), true),
		tl.SetPFC(t.Context(), id, qos.Priorities(4), false), tl.SetPause(t.Context(), id, nicctl.Pause{Type: "pfc", RX: true, TX: true}),
		tl.SetDCQCN(t.Context(), "ionic_1", 1, 48),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	calls := []string{
		"update qos dscp-to-priority -p " + id + " --dscp 24-26 --priority 3",
		"update qos dscp-to-priority -p " + id + " --dscp 48 --priority 6",
		"update qos scheduling -p " + id + " --priority 0,3,6 --dwrr 40,60,0 --rate-limit 0,0,10",
		"update qos pfc -p " + id + " --priority 3 --no-drop enable",
		"update qos pfc -p " + id + " --priority 4 --no-drop enable",
		"update qos pfc -p " + id + " --priority 4 --no-drop disable",
		"update port -p " + id + " --pause-type pfc --rx-pause enable --tx-pause enable",
		"update dcqcn -r ionic_1 -i 1 --cnp-dscp 48",
	}
	if diff := cmp.Diff(calls, h.Writes()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	p := read()
	if p.PFC != qos.Of(qos.Priorities(3)) || p.Scheduling != qos.Of(want) || p.DSCP.V[26] != 3 || p.DSCP.V[27] != 0 || !p.Pause.V.PFC() {
		t.Errorf("%+v", p)
	}
	for name, err := range map[string]error{
		"port":     tl.SetPause(t.Context(), "--all", nicctl.Pause{Type: "pfc"}),
		"type":     tl.SetPause(t.Context(), id, nicctl.Pause{Type: "--mtu"}),
		"trust":    tl.SetClassification(t.Context(), "both"),
		"priority": tl.MapDSCP(t.Context(), id, [qos.NumDSCP]int8{8}),
		"share":    tl.SetScheduling(t.Context(), id, nicctl.Scheduling{0: {Shown: true, Percent: 101}}),
		"none":     tl.SetScheduling(t.Context(), id, nicctl.Scheduling{}),
		"device":   tl.SetDCQCN(t.Context(), "-a", 1, 48),
		"dscp":     tl.SetDCQCN(t.Context(), "ionic_1", 1, 64),
		"profile":  tl.DisableDCQCN(t.Context(), "ionic_1", 0),
	} {
		if !errors.Is(err, nicctl.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w := h.Writes(); w != nil {
		t.Errorf("sent %q", w)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(portText, qosText, dcqcnText)
	f.Add("NIC : a (0000:00:00.0)\nPort : b\nSpec:\n", "DSCP : 0-63,0 ==> priority : 7", "ROCE device : x\nDCQCN profile id : 1\nStatus : ")
	f.Fuzz(func(t *testing.T, port, qosText, dcqcn string) {
		s, err := prints(port, qosText, dcqcn).Read(t.Context())
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("not safe to print: %q", err)
			}
			return
		}
		for _, p := range s.Ports {
			for _, why := range p.Missing {
				if strings.ContainsAny(why, "\n\x1b") {
					t.Errorf("not safe to print: %q", why)
				}
			}
			for d, prio := range p.DSCP.V {
				if prio < qos.Unmapped || prio > 7 {
					t.Errorf("DSCP %d has priority %d", d, prio)
				}
			}
			for _, share := range p.Scheduling.V {
				if share.Percent < 0 || share.Percent > 100 || share.Gbps < 0 {
					t.Errorf("%+v", share)
				}
			}
		}
		for _, d := range s.Devices {
			if _, _, err := s.Find(d.Name, "00:00:00:00:00:00"); err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("not safe to print: %q", err)
			}
		}
	})
}

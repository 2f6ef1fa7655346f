package eos

import (
	"fmt"
	"os"
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

// tester is a *testing.T, a *testing.B or a *rapid.T.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func mustParse(t tester, text string) *Config {
	t.Helper()
	c, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// device draws a fitted device with random values for everything that EOS can hold.
func device(t *rapid.T) *qos.Device {
	d := &qos.Device{Name: "leaf1", Ports: map[string]*qos.Port{}}
	m := qos.UnmappedMaps()
	tc := rapid.Int8Range(0, 7)
	for i := range m.DSCPToTC {
		m.DSCPToTC[i] = defaultGlobals().dscp[i]
		if rapid.IntRange(0, 3).Draw(t, "moved") == 0 {
			m.DSCPToTC[i] = tc.Draw(t, "tc")
		}
	}
	for i := range qos.NumPriorities {
		m.PCPToTC[i], m.TCToQueue[i] = tc.Draw(t, "pcp"), int8(i)
		if rapid.IntRange(0, 5).Draw(t, "odd queue") == 0 {
			m.TCToQueue[i] = tc.Draw(t, "queue")
		}
	}
	d.GlobalMaps = qos.Of(m)
	var shapes []*qos.Port
	for range rapid.IntRange(1, 3).Draw(t, "shapes") {
		shapes = append(shapes, drawPort(t))
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "ports") {
		p := *rapid.SampledFrom(shapes).Draw(t, "shape")
		p.AdminUp = qos.Of(rapid.Bool().Draw(t, "up"))
		p.MTU = qos.Of(rapid.SampledFrom([]int{1500, 9000, 9100, 9214}).Draw(t, "mtu"))
		d.Ports[fmt.Sprintf("Ethernet%d/1", i+1)] = &p
	}
	d.WatchdogPoll = qos.Of(time.Duration(rapid.IntRange(5, 500).Draw(t, "poll")) * time.Millisecond)
	Fit(d)
	return d
}

func drawPort(t *rapid.T) *qos.Port {
	p := &qos.Port{
		LAG: qos.Of(""), LinkPause: qos.Of(rapid.IntRange(0, 5).Draw(t, "pause") == 0),
		Trust:    qos.Of(rapid.SampledFrom([]qos.Trust{qos.TrustDSCP, qos.TrustPCP, qos.TrustNone}).Draw(t, "trust")),
		PFC:      qos.Of(qos.PrioritySet(rapid.SampledFrom([]uint8{0, 8, 0x18, 0xff}).Draw(t, "pfc"))),
		Watchdog: qos.Of(qos.Watchdog{}),
	}
	if p.PFC.V != 0 && rapid.IntRange(0, 3).Draw(t, "watched") > 0 {
		p.Watchdog.V = qos.Watchdog{
			Enabled: true, Priorities: p.PFC.V,
			Action:  rapid.SampledFrom([]qos.WatchdogAction{qos.ActionDrop, qos.ActionAlert}).Draw(t, "action"),
			Detect:  10 * time.Millisecond * time.Duration(rapid.IntRange(1, 100).Draw(t, "detect")),
			Restore: 10 * time.Millisecond * time.Duration(rapid.IntRange(1, 100).Draw(t, "restore")),
		}
	}
	rate := func() units.Rate {
		if rapid.IntRange(0, 4).Draw(t, "shaped") > 0 {
			return 0
		}
		return units.Rate(rapid.IntRange(1, 400_000_000).Draw(t, "kbps")) * 1000
	}
	for i := range p.Queues {
		q := &p.Queues[i]
		s := qos.Scheduler{Strict: rapid.Bool().Draw(t, "strict"), MinRate: rate(), MaxRate: rate()}
		if !s.Strict {
			s.Weight = rapid.IntRange(1, 100).Draw(t, "weight")
		}
		q.Scheduler, q.ECN = qos.Of(s), qos.Of(qos.ECN{})
		if rapid.IntRange(0, 2).Draw(t, "ecn") == 0 {
			lo := rapid.Int64Range(1, 1<<24).Draw(t, "min")
			q.ECN.V = qos.ECN{
				Enabled: true, Min: lo, Max: lo + rapid.Int64Range(0, 1<<24).Draw(t, "more"),
				Unit:        rapid.SampledFrom([]qos.ThresholdUnit{qos.UnitBytes, qos.UnitKBytes, qos.UnitSegments, "bytes/mbytes"}).Draw(t, "unit"),
				Probability: rapid.IntRange(1, 100).Draw(t, "p"), Weight: rapid.IntRange(0, 15).Draw(t, "w"),
			}
		}
	}
	return p
}

func drawKeyword(t *rapid.T) Keyword {
	return rapid.SampledFrom([]Keyword{TxQueue, UCTxQueue}).Draw(t, "keyword")
}

func noDiff(t tester, what string, running, desired *qos.Device) {
	t.Helper()
	if left := qos.Diff(running, desired); len(left) > 0 {
		t.Fatalf("%s: %d values differ, first %s: %s, not %s", what, len(left), left[0].Path(), left[0].Old, left[0].New)
	}
}

// inOrder fails if lines are not in the order in which EOS prints them.
func inOrder(t tester, at place, section string, ls []*Line) {
	t.Helper()
	before, text := -1, ""
	for _, l := range ls {
		rank, ok := rankOf(at, l.Text)
		if !ok || rank < before || rank == before && !follows(l.Text, text) {
			t.Fatalf("%q stands behind %q", l.Text, text)
		}
		before, text = rank, l.Text
		_, in, _ := opens(section, l.Text)
		inOrder(t, in, l.Text, l.Sub)
	}
}

// Decoding an encoded device gives the same device, whatever the combination of values.
func TestDecodeIsTheInverseOfEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := device(t)
		if r := Refusals(want); len(r) > 0 {
			t.Fatalf("refused: %v", r)
		}
		kw := drawKeyword(t)
		text := Encode(want, kw)
		inOrder(t, inGlobal, "", text.Lines)
		if k, ok := KeywordOf(text); ok && k != kw {
			t.Fatalf("%s in\n%s", k, text)
		}
		got, unknown := Decode(mustParse(t, text.String()))
		if len(unknown) > 0 {
			t.Fatalf("not understood: %v", unknown)
		}
		noDiff(t, text.String(), got, want)
		// EOS does not have these maps, so a device decoded from it lists none.
		m := *want.GlobalMaps.V
		for i := range qos.NumPriorities {
			m.TCToGroup[i], m.PFCToQueue[i], m.PFCToGroup[i], m.TCToDSCP[i] = qos.Unmapped, qos.Unmapped, qos.Unmapped, qos.Unmapped
		}
		full := *want
		full.GlobalMaps = qos.Of(&m)
		noDiff(t, "backwards", &full, got)
	})
}

package inside

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
)

func dial(t *testing.T) *dcb.Client {
	t.Helper()
	c, err := dcb.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// wrote checks the results of a method that writes.
func wrote(t *testing.T, what string, want bool) func(changed bool, err error) {
	t.Helper()
	return func(changed bool, err error) {
		t.Helper()
		if err != nil || changed != want {
			t.Errorf("%s: changed %v, error %v; want changed %v", what, changed, err, want)
		}
	}
}

// agrees checks that everything the client reads matches what dcb shows.
func agrees(t *testing.T, c *dcb.Client) {
	t.Helper()
	s, err := c.Get(t.Context(), "roce0")
	if err != nil {
		t.Fatal(err)
	}
	if s.PFC == nil || s.ETS == nil || s.Buffer == nil || s.DCBX == nil || s.MaxRate == nil {
		t.Fatalf("parts are missing: %+v", s)
	}
	pfc, ets, buffer, dcbx := show(t, "pfc"), show(t, "ets"), show(t, "buffer"), show(t, "dcbx")
	on := []int{}
	for p := range qos.NumPriorities {
		if s.PFC.Enabled.Has(p) {
			on = append(on, p)
		}
	}
	var apps []string
	for _, a := range s.Apps {
		if a.Selector == dcb.SelectorDSCP {
			apps = append(apps, fmt.Sprintf("%d:%d", a.Protocol, a.Priority))
		}
	}
	apps = natural.Sorted(apps)
	equal(t, "the client's pfc", on, pfc.on())
	equal(t, "the client's delay", s.PFC.Delay, pfc.Delay)
	equal(t, "the client's tsa", s.ETS.TSA, ets.TCTSA)
	equal(t, "the client's bandwidth", s.ETS.Bandwidth, ets.TCBw)
	equal(t, "the client's prio-tc", s.ETS.PriorityTC, ets.PrioTC)
	equal(t, "the client's prio-buffer", s.Buffer.PriorityBuffer, buffer.PrioBuffer)
	equal(t, "the client's buffers", s.Buffer.Size, buffer.BufferSize)
	equal(t, "the client's total buffer", s.Buffer.Total, buffer.TotalSize)
	equal(t, "the client's rates", *s.MaxRate, show(t, "maxrate").MaxRate)
	equal(t, "the client's dcbx", []bool{*s.DCBX&dcb.DCBXHost != 0, *s.DCBX&dcb.DCBXCEE != 0, *s.DCBX&dcb.DCBXIEEE != 0},
		[]bool{dcbx.Host, dcbx.CEE, dcbx.IEEE})
	equal(t, "the client's table", strings.Join(apps, " "), show(t, "app").apps())
}

// wanted returns a complete DSCP map with 26 and 48 as used for RoCE.
func wanted(roce int8) (m [qos.NumDSCP]int8) {
	for d := range m {
		m[d] = 0
	}
	m[26], m[48] = roce, 6
	return m
}

var scheduling = dcb.Scheduling{
	TSA: [8]dcb.TSA{dcb.TSAETS, dcb.TSAStrict, dcb.TSAStrict, dcb.TSAETS,
		dcb.TSAStrict, dcb.TSAStrict, dcb.TSAStrict, dcb.TSAStrict},
	Bandwidth:  [8]uint8{40, 0, 0, 60},
	PriorityTC: [8]uint8{0, 0, 0, 3, 0, 0, 6, 0},
}

// The client sets everything, and dcb shows the same. A second time nothing is written: the link
// stays up.
func TestClientSetsWhatDCBShows(t *testing.T) {
	begin(t)
	c, ctx := dial(t), t.Context()
	agrees(t, c)
	must(t, "ethtool", "-A", "roce0", "rx", "off", "tx", "off")
	headroom := dcb.Headroom{PriorityBuffer: [8]uint8{3: 1}, Size: [8]uint32{131072, 98304}}
	all := func(changed bool) {
		t.Helper()
		wrote(t, "ets", changed)(c.SetETS(ctx, "roce0", scheduling))
		wrote(t, "pfc", changed)(c.SetPFC(ctx, "roce0", qos.Priorities(3), 10))
		wrote(t, "buffer", changed)(c.SetBuffer(ctx, "roce0", headroom))
		wrote(t, "dscp", changed)(c.MapDSCP(ctx, "roce0", wanted(3)))
		agrees(t, c)
	}
	bounced(t, 1, func() { all(true) })
	equal(t, "pfc by dcb", show(t, "pfc").on(), []int{3})
	equal(t, "bandwidth by dcb", show(t, "ets").TCBw, []int{40, 0, 0, 60, 0, 0, 0, 0})
	if apps := show(t, "app").apps() + " "; !strings.Contains(apps, "26:3 ") || !strings.Contains(apps, "48:6 ") || strings.Count(apps, ":") != 64 {
		t.Errorf("the table by dcb: %s", apps)
	}
	bounced(t, 0, func() { all(false) })
	wrote(t, "dcbx", false)(c.OwnDCBX(ctx, "roce0", true))

	must(t, "dcb", "app", "add", "dev", "roce0", "dscp-prio", "26:5")
	agrees(t, c)
	wrote(t, "dscp after another program", true)(c.MapDSCP(ctx, "roce0", wanted(3)))
	agrees(t, c)
}

func TestClientIsRefused(t *testing.T) {
	begin(t)
	c, ctx := dial(t), t.Context()
	cbs, half := scheduling, scheduling
	cbs.TSA[5] = dcb.TSACBS
	half.Bandwidth[3] = 10
	for what, s := range map[string]dcb.Scheduling{"cbs": cbs, "a sum of 50": half} {
		if changed, err := c.SetETS(ctx, "roce0", s); changed || !errors.Is(err, dcb.ErrRefused) {
			t.Errorf("%s: changed %v, error %v", what, changed, err)
		}
	}
	turn(t, "dcbx", "14")
	if changed, err := c.OwnDCBX(ctx, "roce0", true); changed || !errors.Is(err, dcb.ErrRefused) {
		t.Errorf("dcbx of a firmware that keeps it: changed %v, error %v", changed, err)
	}
	turn(t, "ignore", "1")
	if changed, err := c.SetPFC(ctx, "roce0", qos.Priorities(3), 0); changed || !errors.Is(err, dcb.ErrIgnored) {
		t.Errorf("a driver that ignores: changed %v, error %v", changed, err)
	}
	if _, err := c.Get(ctx, "lo"); !errors.Is(err, dcb.ErrUnsupported) {
		t.Errorf("lo: %v", err)
	}
	if _, err := c.Get(ctx, "roce9"); !errors.Is(err, dcb.ErrNoDevice) {
		t.Errorf("roce9: %v", err)
	}
	agrees(t, c)
}

// A map change has the same result on drivers that replace an entry, that list both entries, and
// that require the old entry to be deleted first.
func TestClientMapsDSCPOnEveryDriver(t *testing.T) {
	for _, rules := range []string{"mlx5", "bnxt", "ice"} {
		t.Run(rules, func(t *testing.T) {
			begin(t, "rules="+rules)
			c, ctx := dial(t), t.Context()
			wrote(t, "the first map", true)(c.MapDSCP(ctx, "roce0", wanted(3)))
			wrote(t, "another priority", true)(c.MapDSCP(ctx, "roce0", wanted(4)))
			wrote(t, "the same", false)(c.MapDSCP(ctx, "roce0", wanted(4)))
			waitCarrier(t)
			if apps := show(t, "app").apps() + " "; strings.Count(apps, ":") != 64 || !strings.Contains(apps, "26:4 ") {
				t.Errorf("the table by dcb: %s", apps)
			}
			agrees(t, c)
		})
	}
}

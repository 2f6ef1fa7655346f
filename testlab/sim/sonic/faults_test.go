package sonic

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

const weight = "77"

func setWeight(c *client) error {
	return c.update(upd(`"`+weight+`"`, "SCHEDULER", "scheduler.1", "weight"))
}

func weightNow(s *Switch) string { return s.Config()["SCHEDULER"]["scheduler.1"]["weight"] }

// until polls with a time limit.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		runtime.Gosched()
	}
}

func TestFaultsOfTheNextWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		arm     func(f *Faults)
		code    codes.Code
		written bool
		saved   bool
	}{
		"drop before":    {func(f *Faults) { f.DropBeforeWrite() }, codes.Unavailable, false, false},
		"drop after":     {func(f *Faults) { f.DropAfterWrite() }, codes.Unavailable, true, true},
		"fail applied":   {func(f *Faults) { f.FailAfterApply() }, codes.Unknown, true, false},
		"fail at once":   {func(f *Faults) { f.FailAt(0) }, codes.Unknown, false, false},
		"restart first":  {func(f *Faults) { f.RestartAt(0) }, codes.Unavailable, false, false},
		"restart at end": {func(f *Faults) { f.RestartAt(9) }, codes.Unavailable, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Options{})
			c := dial(t, s)
			tc.arm(s.Faults())
			if err := setWeight(c); status.Code(err) != tc.code {
				t.Errorf("answer %v", err)
			}
			if got := weightNow(s) == weight; got != tc.written {
				t.Errorf("written %v", got)
			}
			if got := strings.Contains(string(s.Saved()), `"weight": "`+weight+`"`); got != tc.saved {
				t.Errorf("saved %v", got)
			}
			if err := setWeight(c); err != nil || weightNow(s) != weight { // the fault is used up
				t.Errorf("the next write: %v", err)
			}
		})
	}
}

// TestFailureInTheMiddle: what was written before the failure stays.
func TestFailureInTheMiddle(t *testing.T) {
	s := start(t, Options{})
	c := dial(t, s)
	s.Faults().FailAt(2)
	err := c.update(upd(`"`+weight+`"`, "SCHEDULER", "scheduler.1", "weight"), upd(`"scheduler.0"`, "QUEUE", "Ethernet0|3", "scheduler"))
	like(t, errText(err), "Unknown: Error: Failed to apply patch on the following scopes:")
	cfg := s.Config()
	if weightNow(s) != weight || cfg["QUEUE"]["Ethernet0|3"]["scheduler"] != "scheduler.1" || cfg["PORT"]["Ethernet0"]["admin_status"] != "down" {
		t.Errorf("weight %s, queue %v, port %v", weightNow(s), cfg["QUEUE"]["Ethernet0|3"], cfg["PORT"]["Ethernet0"]["admin_status"])
	}
}

func TestTimeoutGoesOn(t *testing.T) {
	s := start(t, Options{})
	c := dial(t, s)
	saved := string(s.Saved())
	release := make(chan struct{})
	s.Faults().TimeoutNext(release)
	like(t, errText(setWeight(c)), "Unknown: Timeout 600")
	if weightNow(s) == weight {
		t.Fatal("written too early")
	}
	// While the Set is running, a Get answers from the snapshot, even if Redis has changed.
	s.SetRow("SCHEDULER", "scheduler.0", map[string]string{"type": "STRICT"})
	like(t, c.get(P("SCHEDULER", "scheduler.0", "type")), `"DWRR"`)
	close(release)
	until(t, "the application finishes", func() bool { return weightNow(s) == weight })
	until(t, "the snapshot goes", func() bool { return c.get(P("SCHEDULER", "scheduler.0", "type")) == `"STRICT"` })
	if string(s.Saved()) != saved {
		t.Error("a timed-out Set was saved")
	}
}

func TestTimeLimitScales(t *testing.T) {
	// 20 ports with 7 queues each: about 400 s of search and 420 changes.
	s := start(t, Options{Model: testModel(20), TimeScale: 1e-4})
	c := dial(t, s)
	var us []*gnmi.Update
	for k := range s.Config()["QUEUE"] {
		us = append(us, upd(`{"scheduler":"scheduler.1"}`, "QUEUE", k))
	}
	began := time.Now()
	like(t, errText(c.update(us...)), "Unknown: Timeout 600")
	if took := time.Since(began); took < 60*time.Millisecond {
		t.Errorf("gave up after %v", took)
	}
	until(t, "the application finishes", func() bool { return s.Config()["QUEUE"]["Ethernet0|0"]["scheduler"] == "scheduler.1" })
}

func TestClientLeaves(t *testing.T) {
	s := start(t, Options{TimeScale: 0.01})
	c := dial(t, s)
	ctx, leave := context.WithCancel(c.ctx)
	defer leave()
	s.Faults().BeforeSet(leave)
	_, err := c.Set(ctx, &gnmi.SetRequest{Update: []*gnmi.Update{upd(`"`+weight+`"`, "SCHEDULER", "scheduler.1", "weight")}})
	if status.Code(err) != codes.Canceled {
		t.Fatal(err)
	}
	until(t, "the write lands anyway", func() bool { return weightNow(s) == weight })
}

func TestConcurrentSetsQueue(t *testing.T) {
	s := start(t, Options{})
	c := dial(t, s)
	errs := make(chan error, 8)
	for i := range 8 {
		go func() { errs <- c.update(upd(`{"type":"STRICT"}`, "SCHEDULER", fmt.Sprintf("c%d", i))) }()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := len(s.Config()["SCHEDULER"]); n != 10 {
		t.Errorf("%d schedulers", n)
	}
	if n := len(s.Sets()); n != 8 {
		t.Errorf("%d sets recorded", n)
	}
}

func TestOtherFaults(t *testing.T) {
	s := start(t, Options{})
	f := s.Faults()
	probe := func() error { c := dial(t, s); _, err := c.Capabilities(c.ctx, &gnmi.CapabilityRequest{}); return err }

	f.WrongCertificate(true)
	if err := probe(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("wrong certificate: %v", err)
	}
	f.Clear()
	f.RefuseConnections(true)
	if err := probe(); status.Code(err) != codes.Unavailable {
		t.Errorf("refused: %v", err)
	}
	f.Clear()
	c := dial(t, s)
	f.TruncateGet(true)
	if got := c.get(P("SCHEDULER")); !strings.HasPrefix(got, `{"scheduler.0"`) || json.Valid([]byte(got)) {
		t.Errorf("truncated: %s", got)
	}
	f.Clear()
	f.Delay(time.Hour)
	ctx, cancel := context.WithTimeout(c.ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := c.Capabilities(ctx, &gnmi.CapabilityRequest{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("slow: %v", err)
	}
	f.Clear()
	f.BeforeSet(func() { s.SetRow("SCHEDULER", "other", map[string]string{"type": "STRICT"}) })
	if err := setWeight(c); err != nil || s.Config()["SCHEDULER"]["other"] == nil {
		t.Errorf("the other writer: %v", err)
	}
	f.Clear()
	// A row without a model does not block patches of other tables.
	s.SetRow("MYSTERY", "x", map[string]string{"a": "b"})
	if err := setWeight(c); err != nil {
		t.Error(err)
	}
	// A field that the model does not have blocks every patch.
	s.SetRow("SCHEDULER", "odd", map[string]string{"mystery": "1"})
	like(t, errText(setWeight(c)), "…Data Loading Failed")
}

func TestCloseWaitsForWork(t *testing.T) {
	s := start(t, Options{TimeScale: 1e5}) // a write takes days
	c := dial(t, s)
	ctx, cancel := context.WithTimeout(c.ctx, 50*time.Millisecond)
	defer cancel()
	_, _ = c.Set(ctx, &gnmi.SetRequest{Update: []*gnmi.Update{upd(`"1"`, "SCHEDULER", "scheduler.1", "weight")}})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Start(); err == nil {
		t.Error("started after Close")
	}
}

// BenchmarkStart200 starts and stops 200 switches that share one certificate.
func BenchmarkStart200(b *testing.B) {
	conf, _, err := sim.NewTLS()
	if err != nil {
		b.Fatal(err)
	}
	key, err := sim.NewHostKey()
	if err != nil {
		b.Fatal(err)
	}
	m := testModel(32)
	if real, ok := catalog.Lookup("ACS-MSN4700"); ok {
		m = real
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range b.N {
		var all []*Switch
		for i := range 200 {
			o := ForModel(fmt.Sprintf("leaf%d", i), m)
			o.TLS, o.HostKey = conf, key
			all = append(all, start(b, o))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/200/1024, "KiB/switch")
		for _, s := range all {
			_ = s.Close()
		}
	}
}

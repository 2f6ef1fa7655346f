package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
	"github.com/roce-fabric/roce-fabric/watch"
)

// watched returns a watcher after one round: leaf1 has counters on two ports, leaf2 is down.
func watched(t *testing.T) *watch.Watcher {
	t.Helper()
	text, err := examples.Intent("quickstart")
	if err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(string(text))})
	if err != nil {
		t.Fatal(err)
	}
	port := gate.Port{Classes: []gate.Class{{Name: "rdma", Priority: 3, Queue: 4, Group: 5}}}
	w := watch.New(watch.Config{
		Fabric: f, Interval: time.Minute, Parallel: 2, Rounds: 1,
		Devices: []watch.Device{{Name: "leaf1"}, {Name: "leaf2"}},
		Read: func(_ context.Context, d watch.Device, _ fleet.Ends) (r fleet.Reading) {
			if d.Name == "leaf2" {
				return fleet.Reading{Device: d.Name, Err: &fleet.Error{Device: d.Name, Text: "unreachable"}}
			}
			r.Findings = []checks.Finding{
				{ID: "WD-02", Severity: checks.Warning, Device: "leaf1", Ports: []string{"Ethernet0"}, What: "off"},
				{ID: "WD-02", Severity: checks.Warning, Device: "leaf1", Ports: []string{"Ethernet8"}, What: "too long"},
				{ID: "PFC-01", Severity: checks.Error, Device: "leaf1", Suppressed: &checks.Suppressed{}},
			}
			r.Gate = gate.Device{Name: "leaf1", Ports: map[string]gate.Port{"Ethernet0": port, "Ethernet8": port}, Pools: map[string]int64{"ingress_lossless_pool": 1000, "\xff": 1}}
			pools := map[string]uint64{"ingress_lossless_pool": 700, "made_up": 1, "\xff": 1}
			for i := range 100 {
				pool := fmt.Sprintf("pool%d", i)
				pools[pool], r.Gate.Pools[pool] = 1, 1
			}
			all := drivers.PortCounters{}
			for m := drivers.Metric(0); !strings.HasPrefix(m.String(), "metric "); m++ {
				for i := range 8 {
					all[m.Of(i)] = uint64(100 + 10*int(m) + i)
				}
			}
			all[drivers.PFCRx.Of(0)] = 0 // a lossy priority that never received a pause
			r.Sample = &gate.Sample{Device: "leaf1", Counters: &drivers.Counters{
				Taken: time.Unix(1_800_000_000, 0), Pools: pools,
				Ports: map[string]drivers.PortCounters{"Ethernet0": all, "Ethernet8": {drivers.PFCRx.Of(3): 0}, "made_up": all},
			}}
			return r
		},
	})
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// scrape returns the metrics that Prometheus would receive.
func scrape(t *testing.T, e *Exporter) string {
	t.Helper()
	rec := httptest.NewRecorder()
	e.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	if rec.Code != 200 {
		t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

func TestValues(t *testing.T) {
	e := New(watched(t), "pod1", "v1.2.3")
	e.Webhook(nil)
	e.Webhook(errors.New("gone"))
	text := scrape(t, e)
	for _, want := range []string{
		`roce_fabric_build_info{version="v1.2.3"} 1`, `roce_fabric_fabric_info{fabric="pod1"} 1`,
		`roce_fabric_watch_rounds_total 1`, `roce_fabric_watch_interval_seconds 60`, `roce_fabric_watch_reads_in_flight 0`, `roce_fabric_watch_subscriptions 0`,
		`roce_fabric_verdict{verdict="unreadable"} 1`, `roce_fabric_verdict{verdict="ok"} 0`,
		`roce_fabric_findings{check="WD-02",severity="warning"} 2`, `roce_fabric_findings{check="READ",severity="error"} 1`, `roce_fabric_findings_accepted 1`,
		`roce_fabric_device_up{device="leaf1",kind="switch"} 1`, `roce_fabric_device_up{device="leaf2",kind="switch"} 0`,
		`roce_fabric_device_read_failures_total{device="leaf2",kind="switch"} 1`,
		`roce_fabric_device_counters_timestamp_seconds{device="leaf1",kind="switch"} 1.8e+09`,
		`roce_fabric_device_pool_peak_bytes{device="leaf1",pool="ingress_lossless_pool"} 700`,
		`roce_fabric_webhook_messages_total{result="delivered"} 1`, `roce_fabric_webhook_messages_total{result="failed"} 1`,
		// Each metric uses its own index of the class: priority 3, queue 4, group 5.
		`roce_fabric_port_pfc_received_frames_total{device="leaf1",port="Ethernet0",priority="3"} 103`,
		`roce_fabric_port_pfc_received_frames_total{device="leaf1",port="Ethernet8",priority="3"} 0`,
		`roce_fabric_port_pfc_received_frames_total{device="leaf1",port="Ethernet0",priority="7"} 107`,
		`roce_fabric_port_pfc_paused_seconds_total{device="leaf1",port="Ethernet0",priority="3"} 0.000123`,
		fmt.Sprintf(`roce_fabric_port_queue_dropped_packets_total{device="leaf1",port="Ethernet0",queue="4"} %d`, 104+10*int(drivers.QueueDrops)),
		`roce_fabric_port_priority_group_dropped_packets_total{device="leaf1",port="Ethernet0",priority_group="5"} `,
		"# TYPE roce_fabric_port_headroom_peak_bytes gauge", "# TYPE roce_fabric_port_queue_bytes_total counter",
		"go_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if n := strings.Count(text, "roce_fabric_device_pool_peak_bytes{"); n != maxPools {
		t.Errorf("%d pools of a device are shown", n)
	}
	for _, not := range []string{
		"made_up", `pfc_received_frames_total{device="leaf1",port="Ethernet0",priority="0"}`, `queue_dropped_packets_total{device="leaf1",port="Ethernet0",queue="3"}`,
		`device_last_success_timestamp_seconds{device="leaf2"`, `severity="error",check="PFC-01"`, `check="PFC-01"`,
	} {
		if strings.Contains(text, not) {
			t.Errorf("there is %s", not)
		}
	}
}

// Before the first round is over, nothing about the fabric is exported.
func TestBeforeTheFirstRound(t *testing.T) {
	w := watch.New(watch.Config{Fabric: &intent.Fabric{}, Devices: []watch.Device{{Name: "leaf1"}}, Interval: time.Minute})
	text := scrape(t, New(w, "pod1", "v1"))
	if strings.Contains(text, "roce_fabric_verdict") || !strings.Contains(text, "roce_fabric_watch_rounds_total 0") {
		t.Errorf("before the first round:\n%s", text)
	}
}

// Ports that would exceed the limit of series are left out entirely, and a metric reports that.
func TestSeriesAreBounded(t *testing.T) {
	e := New(watched(t), "pod1", "v1")
	full := strings.Count(scrape(t, e), "roce_fabric_port_")
	e.limit = 5
	text := scrape(t, e)
	if n := strings.Count(text, `port="Ethernet0"`); n != 0 {
		t.Errorf("%d series of Ethernet0 with a limit of 5", n)
	}
	if strings.Contains(text, "roce_fabric_port_series_left_out 0") || !strings.Contains(text, "roce_fabric_port_series_left_out ") || strings.Count(text, "roce_fabric_port_") >= full {
		t.Error("nothing is left out, or it is not said")
	}
}

// Each counter of the drivers is exported exactly once.
func TestEveryMetricIsShown(t *testing.T) {
	n := map[drivers.Metric]int{}
	for _, s := range series {
		n[s.of]++
	}
	for m := drivers.Metric(0); !strings.HasPrefix(m.String(), "metric "); m++ {
		if n[m] != 1 {
			t.Errorf("%s is shown %d times", m, n[m])
		}
	}
}

// The metrics' names follow Prometheus conventions.
func TestNames(t *testing.T) {
	e := New(watched(t), "pod1", "v1")
	problems, err := testutil.CollectAndLint(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

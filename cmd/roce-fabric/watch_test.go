package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
	"github.com/roce-fabric/roce-fabric/watch"
	"github.com/roce-fabric/roce-fabric/watch/daemon"
	"github.com/roce-fabric/roce-fabric/watch/watchtest"
	"github.com/roce-fabric/roce-fabric/watch/webhook"
)

// watched is a lab being watched, with all outputs of the watch.
type watched struct {
	t       *testing.T
	lab     *lab.Lab
	app     *app
	clock   *watchtest.Clock
	watcher *watch.Watcher
	addr    string
	out     syncBuffer
	errOut  syncBuffer
	read    int // number of bytes of out already read
	history string
	posts   chan webhook.Message
	told    int          // number of messages received by the webhook
	status  atomic.Int32 // status with which the webhook answers
	cancel  context.CancelFunc
	done    chan error
	stop    func() // ends the watch
	close   func() // stops the lab and the webhook's server
}

// watchLab applies the intent to a lab's switches and starts to watch them, without
// subscriptions unless prepare enables them.
func watchLab(t *testing.T, output string, prepare ...func(*watched, *daemon.Options)) *watched {
	t.Helper()
	const file = "testdata/fabric.yaml"
	f, err := intent.Load(file, intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l, err := lab.Start(f, dir, lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if status, _, errOut := runHere(t, "apply", "-f", file, "--lab", lab.Path(dir), "--only", "leaf*,spine*", "--yes", "--gate", "off", "--allow", "traffic-loss"); status != exitOK {
		t.Fatalf("apply: status %d: %s", status, errOut)
	}
	t.Setenv("WATCH_TEST_TOKEN", "t0ken")
	w := &watched{t: t, lab: l, clock: watchtest.NewClock(), history: filepath.Join(t.TempDir(), "h.jsonl"), posts: make(chan webhook.Message, 20), done: make(chan error, 1)}
	hook := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var m webhook.Message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.Header.Get("Authorization") != "Bearer t0ken" {
			t.Errorf("the webhook got %v, authorization %q", err, r.Header.Get("Authorization"))
		}
		rw.WriteHeader(int(w.status.Load()))
		w.posts <- m
	}))
	w.status.Store(http.StatusNoContent)
	w.close = sync.OnceFunc(func() {
		hook.Close()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { w.close() })
	w.app = &app{Console: report.Console{In: strings.NewReader(""), Out: &w.out, Err: &w.errOut, Getenv: func(string) string { return "" }, Output: output},
		file: file, lab: lab.Path(dir), only: []string{"leaf*", "spine*"}, parallel: 4}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	ready := make(chan struct{})
	o := daemon.Options{
		Interval: time.Minute, Counters: true, Listen: "127.0.0.1:0", Webhook: hook.URL, Token: "env:WATCH_TEST_TOKEN", History: w.history, Clock: w.clock,
		Started: func(watcher *watch.Watcher, addr string) { w.watcher, w.addr = watcher, addr; close(ready) },
	}
	for _, p := range prepare {
		p(w, &o)
	}
	go func() {
		err := w.app.watch(ctx, o)
		w.clock.End()
		w.done <- err
	}()
	select {
	case <-ready:
	case err := <-w.done:
		t.Fatalf("the watch did not begin: %v: %s", err, w.errOut.String())
	}
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-w.done; err != nil {
			t.Errorf("the watch ended with %v", err)
		}
	})
	t.Cleanup(func() { w.stop() })
	return w
}

var clockTime = regexp.MustCompile(`(?m)^2026-11-21T[0-9:]{8}Z `)

// said steps to the end of a round and returns what the watch printed, without times.
func (w *watched) said(n int) string {
	w.t.Helper()
	if w.clock.To(w.watcher, n, 0) == nil {
		w.t.Fatalf("the watch ended before round %d: %s", n, w.errOut.String())
	}
	all := w.out.String()
	s := all[w.read:]
	w.read = len(all)
	if lines := strings.Count(s, "\n"); w.app.Output == "text" && len(clockTime.FindAllString(s, -1)) != lines {
		w.t.Errorf("not every line begins with the time:\n%s", s)
	}
	return clockTime.ReplaceAllString(s, "")
}

func (w *watched) get(path string) (int, string) {
	w.t.Helper()
	resp, err := http.Get("http://" + w.addr + path)
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// shows checks lines of the metrics.
func (w *watched) shows(want ...string) {
	w.t.Helper()
	_, text := w.get("/metrics")
	for _, s := range want {
		if !strings.Contains(text, "\n"+s+"\n") {
			w.t.Errorf("the metrics have no %s", s)
		}
	}
}

// posted waits for the webhook's next message, and until the watch has recorded its delivery.
func (w *watched) posted(want string) {
	w.t.Helper()
	var m webhook.Message
	select {
	case m = <-w.posts:
	case <-time.After(time.Minute):
		w.t.Fatalf("no message %d: %s", w.told+1, w.errOut.String())
	}
	w.told++
	result := "delivered"
	if w.status.Load() >= 300 {
		result = "failed"
	}
	line := fmt.Sprintf("roce_fabric_webhook_messages_total{result=%q} %d\n", result, w.told)
	for end := time.Now().Add(20 * time.Second); ; {
		if _, text := w.get("/metrics"); strings.Contains(text, line) {
			break
		} else if time.Now().After(end) {
			w.t.Fatalf("message %d is not counted as %s: %s", w.told, result, w.errOut.String())
		}
	}
	if got := fmt.Sprintf("%s>%s", m.Previous, m.Verdict); got != want || m.Fabric != "pod1" {
		w.t.Errorf("the webhook is called with %s, want %s", got, want)
	}
}

func (w *watched) box(name string) *sonic.Switch { return w.lab.Switches[name].(*sonic.Switch) }

// A fault appears and clears, a device goes down and comes back, and a queue drops packets: each
// is reported once in every output.
func TestWatch(t *testing.T) {
	before := goleak.IgnoreCurrent()
	w := watchLab(t, "text", func(w *watched, _ *daemon.Options) {
		// A round of an earlier run, and a round of another fabric.
		for fabric, verdict := range map[string]watch.Verdict{"pod1": watch.Unreadable, "pod2": watch.Inconclusive} {
			old := watch.Record{Format: watch.Format, Round: 9, Time: w.clock.Now().Add(-time.Minute), Fabric: fabric, Verdict: verdict, Devices: 3, Read: 2}
			if err := watch.AppendHistory(w.history, old); err != nil {
				t.Fatal(err)
			}
		}
	})
	if got := w.said(1); got != "" {
		t.Errorf("a fabric that is well:\n%s", got)
	}
	w.posted(">ok")
	w.shows(`roce_fabric_verdict{verdict="ok"} 1`, `roce_fabric_device_up{device="leaf1",kind="switch"} 1`, `roce_fabric_watch_rounds_total 1`,
		`roce_fabric_port_pfc_received_frames_total{device="leaf1",port="Ethernet0",priority="3"} 0`)
	for _, path := range []string{"/healthz", "/readyz", "/report.html"} {
		if status, text := w.get(path); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if _, text := w.get("/report.json"); strings.Contains(text, `"gate:link-pause"`) {
		t.Errorf("before counters were read twice, the report lists checks of them:\n%s", text)
	}

	w.box("leaf1").SetDBRow("CONFIG_DB", "PORT_QOS_MAP", "Ethernet8", map[string]string{"pfc_enable": "3,4"})
	if got, want := w.said(2), "+ error PFC-01 leaf1 Ethernet8: PFC is on for priorities 3 and 4; on spine1 it is on for priority 3\n+ warning OPS-01 leaf1: not saved: PORT_QOS_MAP|Ethernet8\n"+
		"+ info ECN-16 leaf1,leaf2,spine1: ECN marks are not counted: FLEX_COUNTER_TABLE|WRED_ECN_QUEUE is not enabled (sudo counterpoll wredqueue enable)\n"; got != want {
		t.Errorf("round 2 says\n%swant\n%s", got, want)
	}
	w.posted("ok>errors")
	w.shows(`roce_fabric_verdict{verdict="errors"} 1`, `roce_fabric_findings{check="PFC-01",severity="error"} 1`)
	if _, text := w.get("/report.json"); !strings.Contains(text, `"id": "PFC-01"`) || !strings.Contains(text, `"gate:link-pause"`) {
		t.Errorf("the report is\n%s", text)
	}
	if _, text := w.get("/report.html"); !strings.Contains(text, `"counters":[{"n":`) {
		t.Error("the page has no counters")
	} else if _, line, _ := strings.Cut(text, `"periods":`); !regexp.MustCompile(`^\[\{[^{]*"v":"unreadable"[^{]*"u":1\},\{[^{]*"v":"ok"[^{]*\},\{[^{]*"v":"errors","e":1,[^{]*"c":\[\{[^{]*"c":"PFC-01"`).MatchString(line) {
		t.Errorf("the time line has other rounds than that of an earlier run and those of this one: %.600s", line)
	}
	if got := w.said(3); got != "" {
		t.Errorf("what is known is said again:\n%s", got)
	}

	// The other end of the link does not answer, so its known findings are kept.
	w.box("spine1").Faults().RefuseConnections(true)
	if got := w.said(4); !regexp.MustCompile(`^\+ error READ spine1: [^\n]+\n$`).MatchString(got) {
		t.Errorf("round 4 says\n%s", got)
	}
	w.shows(`roce_fabric_device_up{device="spine1",kind="switch"} 0`, `roce_fabric_device_up{device="leaf1",kind="switch"} 1`,
		`roce_fabric_device_read_failures_total{device="spine1",kind="switch"} 1`, `roce_fabric_findings{check="PFC-01",severity="error"} 1`)
	if _, text := w.get("/metrics"); strings.Contains(text, `_frames_total{device="spine1"`) {
		t.Error("a device that is down shows counters")
	}
	w.box("leaf1").SetDBRow("CONFIG_DB", "PORT_QOS_MAP", "Ethernet8", map[string]string{"pfc_enable": "3"})
	w.box("spine1").Faults().RefuseConnections(false)
	if got := w.said(5); !regexp.MustCompile(`^- error PFC-01 leaf1 Ethernet8: [^\n]+\n- error READ spine1: [^\n]+\n- warning OPS-01 leaf1: [^\n]+\n$`).MatchString(got) {
		t.Errorf("round 5 says\n%s", got)
	}
	w.posted("errors>ok")

	w.box("leaf2").Counters().Set("Ethernet8", 3, sim.DropPkts, 12)
	if got, want := w.said(6), "+ error gate:lossless-drop leaf2 Ethernet8: queue 3 of lossless class rdma dropped 12 packets\n"; got != want {
		t.Errorf("round 6 says\n%swant\n%s", got, want)
	}
	w.posted("ok>errors")
	w.shows(`roce_fabric_port_queue_dropped_packets_total{device="leaf2",port="Ethernet8",queue="3"} 12`, `roce_fabric_webhook_messages_total{result="failed"} 0`)

	b, err := os.ReadFile(w.history)
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []string
	for line := range strings.Lines(string(b)) {
		var r watch.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Time.Before(w.clock.Now().Add(-w.clock.Since())) {
			continue // from an earlier run
		}
		verdicts = append(verdicts, string(r.Verdict))
	}
	if got := strings.Join(verdicts, " "); got != "ok errors errors errors ok errors" {
		t.Errorf("the history is %q", got)
	}

	w.stop()
	if s := w.errOut.String(); strings.Contains(s, "warning:") || strings.Contains(s, "t0ken") {
		t.Errorf("standard error has\n%s", s)
	}
	w.close()
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, before)
}

// With --output json, each change and each verdict is a JSON document on one line.
func TestWatchJSON(t *testing.T) {
	w := watchLab(t, "json")
	w.box("leaf1").SetDBRow("CONFIG_DB", "PORT_QOS_MAP", "Ethernet8", map[string]string{"pfc_enable": "3,4"})
	var events []watch.Event
	for line := range strings.Lines(w.said(1)) {
		var e watch.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		events = append(events, e)
	}
	if len(events) != 3 || events[0].Type != watch.Appeared || events[0].ID != "PFC-01" || events[0].Format != 1 || events[0].Places[0] != "leaf1 Ethernet8" ||
		events[2].Type != watch.Turned || events[2].Verdict != watch.Errors || events[2].Counts.Error != 1 {
		t.Errorf("the events are %+v", events)
	}
	w.posted(">errors")
	w.stop()
	if s := w.errOut.String(); s != "" {
		t.Errorf("standard error has\n%s", s)
	}
}

// A webhook that rejects messages causes one warning, and the watch continues.
func TestWatchWebhookRefuses(t *testing.T) {
	w := watchLab(t, "text")
	w.status.Store(http.StatusForbidden)
	w.said(1)
	w.posted(">ok")
	w.box("leaf1").Faults().RefuseConnections(true)
	w.said(2)
	w.posted("ok>unreadable")
	w.said(3)
	w.stop()
	if s := w.errOut.String(); strings.Count(s, " was not delivered to the webhook at 127.0.0.1:") != 1 || !strings.Contains(s, "it answers 403 Forbidden") {
		t.Errorf("standard error has\n%s", s)
	}
}

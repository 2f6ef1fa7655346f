package main

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/watch/daemon"
	"go.uber.org/goleak"
)

// eventually waits up to a minute until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// soon steps to the work that is due in the next two seconds, and returns what the watch
// printed.
func (w *watched) soon() string {
	w.t.Helper()
	w.clock.Soon(w.watcher, 2*time.Second)
	all := w.out.String()
	s := all[w.read:]
	w.read = len(all)
	return clockTime.ReplaceAllString(s, "")
}

// A changed row is reported without waiting for the round, a switch without subscriptions is
// read in rounds, and no goroutine is left when the watch ends.
func TestWatchSubscribes(t *testing.T) {
	before := goleak.IgnoreCurrent()
	w := watchLab(t, "text", func(w *watched, o *daemon.Options) {
		o.Subscribe, o.Interval = true, time.Hour
		o.Rand = func() float64 { return 0.5 } // no read is due soon
		w.box("leaf2").Faults().NoSubscribe(true)
	})
	if got := w.said(1); got != "" {
		t.Errorf("a fabric that is well:\n%s", got)
	}
	w.posted(">ok")
	eventually(t, "two subscriptions", func() bool { return w.watcher.Subscriptions() == 2 })
	w.shows(`roce_fabric_watch_subscriptions 2`)
	if a, b := w.box("leaf1").Subscriptions(), w.box("leaf2").Subscriptions(); a != 1 || b != 0 {
		t.Errorf("leaf1 has %d subscriptions, leaf2 %d", a, b)
	}

	w.box("leaf1").SetDBRow("CONFIG_DB", "PORT_QOS_MAP", "Ethernet8", map[string]string{"pfc_enable": "3,4"})
	if got, want := w.soon(), "+ error PFC-01 leaf1 Ethernet8: PFC is on for priorities 3 and 4; on spine1 it is on for priority 3\n+ warning OPS-01 leaf1: not saved: PORT_QOS_MAP|Ethernet8\n"; got != want {
		t.Errorf("the change says\n%swant\n%s", got, want)
	}
	w.posted("ok>errors")
	w.shows(`roce_fabric_verdict{verdict="errors"} 1`, `roce_fabric_watch_rounds_total 1`)
	if d := w.clock.Since(); d > time.Minute {
		t.Errorf("it took %s", d)
	}
	w.box("leaf1").SetDBRow("CONFIG_DB", "PORT_QOS_MAP", "Ethernet8", map[string]string{"pfc_enable": "3"})
	if got := w.soon(); strings.Count(got, "\n- ")+1 != 2 || !strings.HasPrefix(got, "- error PFC-01 leaf1 Ethernet8: ") {
		t.Errorf("the rollback says\n%s", got)
	}
	w.posted("errors>ok")

	// leaf2, which does not support Subscribe, is read in rounds.
	w.box("leaf2").SetDBRow("CONFIG_DB", "PORT_QOS_MAP", "Ethernet8", map[string]string{"pfc_enable": "3,4"})
	if got := w.said(2); !strings.HasPrefix(got, "+ error PFC-01 leaf2 Ethernet8: ") {
		t.Errorf("round 2 says\n%s", got)
	}
	w.posted("ok>errors")

	// A broken subscription is not a finding and is restored.
	w.box("spine1").Faults().RefuseConnections(true)
	w.box("spine1").Faults().RefuseConnections(false)
	eventually(t, "the subscription to spine1 ends", func() bool { return w.watcher.Subscriptions() == 1 })
	w.clock.Soon(w.watcher, 10*time.Second)
	eventually(t, "the subscription to spine1 is there again", func() bool { return w.watcher.Subscriptions() == 2 })
	if got := w.said(3); got != "" {
		t.Errorf("round 3 says\n%s", got)
	}

	w.stop()
	if s := w.errOut.String(); strings.Contains(s, "warning:") {
		t.Errorf("standard error has\n%s", s)
	}
	eventually(t, "the switches are left", func() bool {
		return w.box("leaf1").Subscriptions()+w.box("spine1").Subscriptions() == 0
	})
	w.close()
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, before)
}

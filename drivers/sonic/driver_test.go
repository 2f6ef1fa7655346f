package sonic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

func TestSetRequestWritesAbsentTablesWholeAndRemovesEmptiedOnes(t *testing.T) {
	cfg := native.Config{
		native.TWatchdog:  {"Ethernet0": {"action": "drop"}},
		native.TScheduler: {"a": {"type": "DWRR"}, "b": {"type": "STRICT"}},
		native.TPort:      {"Ethernet0": {"mtu": "9100", "pfc_asym": "on"}},
	}
	req := setRequest([]native.Op{
		{Table: native.TWRED, Key: "X", Row: native.Row{"ecn": "ecn_all"}},
		{Table: native.TWatchdog, Key: "Ethernet0", Del: true},
		{Table: native.TScheduler, Key: "a", Del: true},
		{Table: native.TPort, Key: "Ethernet0", Field: "mtu", Value: "9000"},
		{Table: native.TPort, Key: "Ethernet0", Field: "pfc_asym", Del: true},
		{Table: native.TScheduler, Key: "b/c", Row: native.Row{"weight": "1"}},
	}, cfg)
	var got []string
	for _, p := range req.Deletes {
		got = append(got, "delete "+strings.Join(p[2:], " "))
	}
	for _, u := range req.Updates {
		got = append(got, "update "+strings.Join(u.Path[2:], " ")+" "+string(u.JSON))
	}
	want := []string{
		"delete PFC_WD", "delete SCHEDULER a", "delete PORT Ethernet0 pfc_asym",
		`update WRED_PROFILE {"X":{"ecn":"ecn_all"}}`, `update PORT Ethernet0 mtu "9000"`, `update SCHEDULER b~1c {"weight":"1"}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestARequestFitsTheServer: for any plan, no request exceeds what a gRPC server accepts, and
// splitting loses nothing.
func TestARequestFitsTheServer(t *testing.T) {
	var ops []native.Op
	for i := range 30000 {
		ops = append(ops, native.Op{Table: native.TQueue, Key: fmt.Sprintf("Ethernet%d|3", i), Row: native.Row{"scheduler": strings.Repeat("x", 300)}})
	}
	ops = append(ops, native.Op{Table: native.TScheduler, Key: strings.Repeat("x", 300), Row: native.Row{"type": "STRICT"}})
	steps, _, _ := native.Site{}.Carry(native.Config{}, ops)
	n, cfg := 0, native.Config{}
	for i, part := range steps {
		if size := setRequest(part.Ops, cfg).Size(); size > gnmi.MaxServerMessage {
			t.Errorf("part %d has %d bytes", i+1, size)
		}
		n += len(part.Ops)
		cfg = cfg.After(part.Ops)
	}
	if len(steps) < 2 || n != len(ops) {
		t.Errorf("%d of %d ops in %d parts", n, len(ops), len(steps))
	}
	if steps[0].Ops[0].Table != native.TScheduler {
		t.Errorf("%s comes before what it refers to", steps[0].Ops[0])
	}
}

func TestPlanFileNamesAreChecked(t *testing.T) {
	for _, raw := range []string{
		`{"ops":[{"table":"USER","key":"root","row":{}}]}`, `{"ops":[{"table":"QUEUE","key":"a\nb","del":true}]}`, `{"ops":[{"table":"QUEUE","key":"","del":true}]}`, `{`,
	} {
		if _, err := (&driver{}).steps([]drivers.Step{{Via: "gnmi", Native: json.RawMessage(raw)}}, nil); err == nil {
			t.Errorf("accepted %s", raw)
		}
	}
	if _, err := (&driver{}).steps([]drivers.Step{{Via: "telnet", Native: json.RawMessage(`{}`)}}, nil); err == nil {
		t.Error("accepted telnet")
	}
}

// TestWatchdogWithoutGlobalRowIsNotLost: a row that cannot be added again is not removed.
func TestWatchdogWithoutGlobalRowIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: td2, release: "202511", edit: func(cfg map[string]map[string]map[string]string) {
			cfg["PFC_WD"] = map[string]map[string]string{}
			for _, p := range []string{"Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"} {
				cfg["PFC_WD"][p] = map[string]string{"action": "forward", "detection_time": "400", "restoration_time": "400"}
			}
		}})
		d := b.open()
		_, st := b.apply(d)
		if got := len(b.config()[native.TWatchdog]); got != 4 {
			t.Errorf("%d rows of PFC_WD are left", got)
		}
		for _, c := range st.Changes {
			if c.Field.Kind == qos.KindWatchdog && !strings.Contains(c.Blocked, "first row of PFC_WD") {
				t.Errorf("%s: %q", c.Path(), c.Blocked)
			}
		}
	})
}

func TestAPortThatTheIntentShutsStaysDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: td2, release: "202511", edit: withPoll})
		b.desired.Ports[b.ports[0]].AdminUp = qos.Of(false)
		was := b.state()
		d := b.open()
		tok, st := b.apply(d)
		if got := b.config().Row(native.TPort, b.ports[0])["admin_status"]; got != "down" {
			t.Errorf("admin_status %s", got)
		}
		if !slices.Contains(st.Items[0].Down, b.ports[0]) || st.Impact() < qos.ImpactPortFlap {
			t.Errorf("the plan does not say so: %v", st.Items[0])
		}
		if _, again := b.plan(d); len(again.Changes) > 0 {
			t.Errorf("still to do: %v", again.Changes)
		}
		if err := d.Revert(t.Context(), tok); err != nil || string(b.state()) != string(was) {
			t.Errorf("revert: %v", err)
		}
	})
}

func TestAPortThatSomeoneShutMeanwhileMakesThePlanStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: td2, release: "202511"})
		d := b.open()
		_, st := b.plan(d)
		row := b.Config()["PORT"][b.ports[0]]
		row["admin_status"] = "down"
		b.SetRow("PORT", b.ports[0], row)
		now, err := d.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d.Digest(now, b.desired) == st.Base {
			t.Error("apply would bring the port up")
		}
	})
}

func TestObsoleteObjectsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: td2, release: "202511", edit: withPoll})
		b.SetRow("SCHEDULER", "roce.old", map[string]string{"type": "STRICT"})
		b.SetRow("SCHEDULER", "theirs", map[string]string{"type": "STRICT"})
		b.apply(b.open())
		if cfg := b.config(); cfg.Row(native.TScheduler, "roce.old") != nil || cfg.Row(native.TScheduler, "theirs") == nil {
			t.Errorf("schedulers %v", cfg[native.TScheduler])
		}
	})
}

// A port for which an object keeps its value stays bound to it and stays up; ports that want
// another value are bound to another object.
func TestAnObjectWithOtherUsersStaysAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: td2, release: "202511", edit: withPoll})
		d := b.open()
		b.apply(d)
		for _, p := range b.ports[:3] {
			b.desired.Ports[p].Queues[3].Scheduler = qos.Of(qos.Scheduler{Weight: 77})
		}
		last := b.ports[3]
		_, st := b.apply(d)
		if slices.ContainsFunc(st.Changes, func(c qos.Change) bool { return c.Port == last }) {
			t.Errorf("%s changes: %v", last, st.Changes)
		}
		if slices.ContainsFunc(st.Items, func(i drivers.Step) bool { return slices.Contains(i.Down, last) }) {
			t.Errorf("%s goes down: %v", last, st.Items)
		}
		if _, again := b.plan(d); len(again.Changes) > 0 {
			t.Errorf("still to do: %v", again.Changes)
		}
	})
}

func TestTheTokenHoldsNoSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: td2, release: "202511", ssh: true})
		d := b.open()
		tok, st := b.apply(d)
		for what, v := range map[string]any{"token": tok, "plan": st} {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(raw), testPassword) || strings.Contains(fmt.Sprintf("%+v", v), testPassword) {
				t.Errorf("the %s holds the password", what)
			}
		}
	})
}

func TestQuote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: td2, release: "202511", ssh: true})
		d := b.open()
		for _, s := range []string{"plain", "a b", `it's`, "$(reboot)", "`x`", `"; rm -rf /`, "a\\b", "*"} {
			sh, err := d.shell(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			out, err := sh.Run(t.Context(), "echo "+quote(s), nil)
			if err != nil || strings.TrimSuffix(string(out.Stdout), "\n") != s {
				t.Errorf("%q arrives as %q, %v", s, out.Stdout, err)
			}
		}
	})
}

func TestProbeWithoutSSH(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: td2, release: "202405", ssh: true})
		target := b.target
		down := *target.SSH
		down.Address = "127.0.0.1:1" // nobody listens there
		target.SSH = &down
		d := b.openAs(target)
		facts, err := d.Probe(t.Context())
		if err != nil || facts.Release != "202405" || slices.Contains(facts.Caps.Writes, "ssh") {
			t.Fatalf("facts %+v, %v", facts, err)
		}
		snap, err := d.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		st, err := d.Plan(facts, snap, b.desired, b.policy)
		if err != nil || len(st.Blocked()) == 0 || !strings.Contains(strings.Join(st.Notes, "\n"), "ssh is configured and does not answer") {
			t.Errorf("blocked %d, notes %q, %v", len(st.Blocked()), st.Notes, err)
		}
		// Changes that need no SSH are applied.
		if _, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "x"}); err != nil {
			t.Errorf("apply: %v", err)
		}
		// Changes that need SSH fail before anything is written.
		b = newBox(t, boxOptions{model: td2, release: "202405", ssh: true})
		snap, st = b.plan(b.open())
		target = b.target
		target.SSH = &down
		was := b.state()
		tok, err := b.openAs(target).Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "x"})
		if tok != nil || !errors.Is(err, drivers.ErrUnreachable) || string(b.state()) != string(was) {
			t.Errorf("token %v, %v", tok, err)
		}
		// A rejected login is always an error.
		wrong := *b.target.SSH
		wrong.Password = "wrong"
		target.SSH = &wrong
		if _, err := b.openAs(target).Probe(t.Context()); !errors.Is(err, drivers.ErrAuth) {
			t.Errorf("wrong password: %v", err)
		}
	})
}

// TestReleaseIsTakenFromTheSwitch covers intents that do not state the release.
func TestReleaseIsTakenFromTheSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, release := range simsonic.Releases {
			b := newBox(t, boxOptions{model: td2, release: release, ssh: true})
			b.target.Release = ""
			f, err := b.open().Probe(t.Context())
			if err != nil || f.Release != release {
				t.Errorf("%s: release %q of version %q, %v", release, f.Release, f.Version, err)
			}
			b.target.SSH = nil
			if f, err = b.open().Probe(t.Context()); err != nil || f.Release == "" {
				t.Errorf("%s over gnmi: %+v, %v", release, f, err)
			}
		}
	})
}

// TestRefusalIsReportedAtOnce: the server has answered, and a single read shows the outcome.
func TestRefusalIsReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: td2, release: "202511"})
		d := b.open()
		snap, st := b.plan(d)
		b.Faults().FailAt(0)
		began := time.Now()
		if _, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "x"}); !errors.Is(err, drivers.ErrRejected) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took >= settled {
			t.Errorf("took %s", took)
		}
	})
}

// TestARefusedRunLeavesWhatAnotherWrote: two machines apply the same intent, and the request of one
// is rejected.
func TestARefusedRunLeavesWhatAnotherWrote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ssh := range []bool{true, false} {
			b := newBox(t, boxOptions{model: known, release: "202511", ssh: ssh})
			d := b.open()
			snap, st := b.plan(d)
			b.Faults().FailAt(0)
			tok, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "x"})
			if !errors.Is(err, drivers.ErrRejected) || errors.Is(err, drivers.ErrPartial) {
				t.Fatalf("error %v", err)
			}
			b.Faults().Clear()
			other := b.open()
			other.Inherit([]string{"x"})
			theirs, _ := b.apply(other)
			if err := other.Confirm(t.Context(), theirs); err != nil {
				t.Fatal(err)
			}
			before := b.state()
			for range 2 {
				if err := d.Revert(t.Context(), tok); err != nil {
					t.Error(err)
				}
			}
			if !bytes.Equal(b.state(), before) {
				t.Error("the revert removed the settings of the other machine")
			}
		}
	})
}

// TestNothingIsSentWhileTheSwitchWorks: after a timeout, until the work is done, the only request
// is the empty one that waits for it.
func TestNothingIsSentWhileTheSwitchWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: td2, release: "202511"})
		d := b.open()
		snap, st := b.plan(d)
		release := make(chan struct{})
		b.Faults().TimeoutNext(release)
		done := make(chan error, 1)
		go func() {
			_, err := d.Apply(context.Background(), snap, st, drivers.ApplyOptions{ID: "x"})
			done <- err
		}()
		until := time.Now().Add(10 * time.Second)
		for len(b.Sets()) < 2 && time.Now().Before(until) {
			time.Sleep(time.Millisecond)
		}
		before := b.state()
		for _, s := range b.Sets()[1:] {
			if len(s.GetUpdate())+len(s.GetReplace()) > 0 || len(s.GetDelete()) != 1 || s.GetDelete()[0].GetElem()[2].GetName() != "ROCE_FABRIC_NONE" {
				t.Errorf("sent while the switch works: %v", s)
			}
		}
		close(release)
		if err := <-done; err != nil {
			t.Errorf("apply: %v", err)
		}
		if string(before) == string(b.state()) {
			t.Error("nothing happened")
		}
		if _, again := b.plan(d); len(again.Items) > 0 {
			t.Errorf("still to do: %v", again.Items)
		}
	})
}

func TestStillWorking(t *testing.T) {
	for text, want := range map[string]bool{"Unknown: Timeout 600": true, "Unknown: Error: Failed to apply patch": false} {
		if got := open(errors.New(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	for _, err := range []error{gnmi.ErrTimeout, gnmi.ErrUnreachable, context.Canceled, context.DeadlineExceeded} {
		if !open(fmt.Errorf("set: %w", err)) {
			t.Errorf("%v says that the switch is through", err)
		}
	}
}

func TestSetTimeout(t *testing.T) {
	if got := setTimeout(native.Step{}); got != minSet {
		t.Errorf("nothing takes %s", got)
	}
	var ops []native.Op
	for i := range 100 {
		ops = append(ops, native.Op{Table: native.TQueue, Key: fmt.Sprintf("Ethernet0|%d", i)})
	}
	bulk, each := setTimeout(native.Step{Ops: ops}), setTimeout(native.Step{Ops: ops, Down: []string{"Ethernet0"}})
	if bulk >= each || each != maxSet {
		t.Errorf("bulk %s, row by row %s", bulk, each)
	}
}

// A single value that no switch of the release accepts would make the switch reject the whole
// request. It is left out, and the plan says why; the rest is applied.
func TestRefusedValuesAreBlockedAndTheRestGoesIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: td2, release: "202511", edit: withPoll})
		port := b.ports[0]
		p := b.desired.Ports[port]
		p.Watchdog.V.Detect, p.MTU.V, p.Queues[3].ECN.V.Max = 9*time.Second, 9300, 1<<33
		p.LAG = qos.Of("PortChannel1")
		b.desired.WatchdogPoll = qos.Of(150 * time.Millisecond)
		d := b.open()
		_, st := b.plan(d)
		var blocked []string
		for _, c := range st.Blocked() {
			blocked = append(blocked, c.Path()+": "+c.Blocked)
		}
		want := []string{"lag: this tool does not change port channels", "mtu: SONiC takes an MTU of 68 to 9216, not 9300", "queues[3].ecn: SONiC takes thresholds of at most 2147483647 B", "watchdog: SONiC takes a detection time of 100ms to 5s, not 9s"}
		if len(blocked) != len(want) {
			t.Fatalf("blocked: %q", blocked)
		}
		for i, w := range want {
			if !strings.HasPrefix(blocked[i], "ports["+port+"]."+w) {
				t.Errorf("blocked %q, want %q", blocked[i], w)
			}
		}
		snap, err := d.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		_, again := b.plan(d)
		if len(again.Changes) != len(want) || len(again.Items) > 0 {
			t.Errorf("still to do: %v", again.Changes)
		}
	})
}

// A port that the switch does not have gives one blocked change, and none of its rows are written:
// a PORT row made up by this tool would be invalid.
func TestAPortThatTheSwitchDoesNotHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: td2, release: "202511", ssh: true, edit: withPoll})
		missing := *b.desired.Ports[b.ports[0]]
		missing.MTU = qos.Of(99999) // rejected as well, but reported once
		b.desired.Ports["Ethernet999"] = &missing
		d := b.open()
		snap, st := b.plan(d)
		blocked := st.Blocked()
		if len(blocked) != 1 || blocked[0].Path() != "ports[Ethernet999].port" || !strings.HasPrefix(blocked[0].Blocked, "the switch has no such port") {
			t.Errorf("blocked: %v", blocked)
		}
		if _, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "test"}); err != nil {
			t.Fatal(err)
		}
		for table, rows := range b.Config() {
			for key, row := range rows {
				_, field := row["Ethernet999"]
				if strings.HasPrefix(key, "Ethernet999") || field {
					t.Errorf("%s|%s was written: %v", table, key, row)
				}
			}
		}
		if _, again := b.plan(d); len(again.Changes) != 1 || len(again.Items) > 0 {
			t.Errorf("still to do: %v", again.Changes)
		}
	})
}

package eos

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

func TestRefusedLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, gnmi := range []bool{false, true} {
			b := newBox(t, boxOptions{gnmi: gnmi, Options: simeos.Options{Model: strata, Persist: true}})
			d, was := b.Open(), b.State()
			b.Faults().RefuseLine(regexp.MustCompile("^random-detect ecn minimum-threshold"))
			tok, err := b.Try(d)
			says(t, err, drivers.ErrRejected, drivers.ErrPartial, "random-detect ecn minimum-threshold", "% Invalid input (at token 0: 'random-detect')")
			if !gnmi {
				says(t, err, drivers.ErrRejected, drivers.ErrPartial, "in qos profile ROCE-FABRIC, uc-tx-queue 3: ")
			}
			if now := b.State(); now != was || len(b.pending()) > 0 {
				t.Errorf("%s: left behind: sessions %v\n%s", d.way.name(), b.Sessions(), now)
			}
			if !gnmi && b.Writes() != 0 {
				t.Errorf("%d commits", b.Writes())
			}
			if err := d.Revert(t.Context(), tok); err != nil || b.State() != was {
				t.Errorf("revert: %v", err)
			}
			// The shell is back at the prompt, and the old session does not block a new one.
			b.Faults().Clear()
			b.Apply(d)
			b.Settled(d)
		}
	})
}

// If the switch cannot be reached any more, the error tells the operator that the switch reverts
// by itself.
func TestContactLostAfterTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		d, was := b.Open(), b.State()
		b.Faults().DropAfterCommit()
		b.Faults().BeforeWrite(func() { b.Faults().RefuseConnections(true) })
		tok, err := b.Try(d)
		says(t, err, drivers.ErrPartial, nil, "the configuration of the switch cannot be read: ", "connection lost")
		if strings.Contains(err.Error(), "errConnectionError") {
			t.Error(err)
		}
		if b.State() == was {
			t.Error("nothing was committed")
		}
		says(t, d.Revert(t.Context(), tok), drivers.ErrUnreachable, nil, "unless it was confirmed, the switch reverts it by itself within 5m of the apply; run plan then")
		b.Faults().Clear()
		if !b.ExpireTimer() || b.State() != was {
			t.Error("the switch did not revert it")
		}
	})
}

func TestTimerRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		d, was := b.Open(), b.State()
		tok := b.Apply(d)
		b.Faults().RefuseConnections(true)
		if err := d.Confirm(t.Context(), tok); !errors.Is(err, drivers.ErrUnreachable) {
			t.Errorf("confirm: %v", err)
		}
		b.Faults().Clear()
		if !b.ExpireTimer() {
			t.Fatal("no timer runs")
		}
		says(t, d.Confirm(t.Context(), tok), drivers.ErrRejected, drivers.ErrPartial, "not confirmed in time", "reverted it")
		if b.State() != was || b.Saved() != was {
			t.Error("something is left")
		}
		n := b.Writes()
		if err := d.Revert(t.Context(), tok); err != nil || b.Writes() != n {
			t.Errorf("revert of nothing: %v, %d commits", err, b.Writes()-n)
		}
		// The next run starts from this state.
		other := b.Open()
		tok = b.Apply(other)
		if err := other.Confirm(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		if b.ExpireTimer() {
			t.Error("the timer runs after the confirmation")
		}
		b.Settled(other)
	})
}

func TestConfirm(t *testing.T) {
	t.Run("its answer is lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
			d := b.Open()
			tok := b.Apply(d)
			b.Faults().DropAfterCommit()
			if err := d.Confirm(t.Context(), tok); err != nil {
				t.Error(err)
			}
			if b.ExpireTimer() || b.Startup() == "" || b.Saved() != b.State() {
				t.Error("not confirmed and saved")
			}
		})
	})
	for name, tc := range map[string]struct{ before, after int }{"two do not arrive": {before: 2}, "no answer arrives": {after: 3}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
				d := b.Open()
				tok := b.Apply(d)
				real := d.way
				d.way = &losesCommands{way: real, before: tc.before, after: tc.after}
				if err := d.Confirm(t.Context(), tok); err != nil {
					t.Error(err)
				}
				d.way = real
				if b.ExpireTimer() || b.Saved() != b.State() {
					t.Error("not confirmed and saved")
				}
			})
		})
	}
	t.Run("it may not save", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
			d := b.Open()
			tok := b.Apply(d)
			if _, err := b.colleague().Do(t.Context(), "configure session "+timerOf(t, b)+" commit"); err != nil {
				t.Fatal(err)
			}
			b.Faults().ReadOnly(true)
			says(t, d.Confirm(t.Context(), tok), drivers.ErrPartial, nil, "a restart would lose it", "% Authorization denied")
		})
	})
}

// losesCommands loses the next exec mode commands: first some before the switch receives them,
// then some responses.
type losesCommands struct {
	way
	before, after int
}

func (w *losesCommands) Do(ctx context.Context, cmd string) error {
	lost := fmt.Errorf("%w: for the test", ssh.ErrLost)
	if !strings.HasSuffix(cmd, " commit") {
		return w.way.Do(ctx, cmd)
	}
	if w.before > 0 {
		w.before--
		return lost
	}
	err := w.way.Do(ctx, cmd)
	if w.after > 0 {
		w.after--
		return lost
	}
	return err
}

func timerOf(t *testing.T, b *box) string {
	t.Helper()
	for name, state := range b.Sessions() {
		if drivers.Ours(name) && state != "pending" {
			return name
		}
	}
	t.Fatalf("no session of ours: %v", b.Sessions())
	return ""
}

func TestEnable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata, Unprivileged: true, EnablePassword: drivertest.Password}})
		d := b.Open()
		b.Apply(d)
		b.Settled(d)
		b = newBox(t, boxOptions{Options: simeos.Options{Model: strata, Unprivileged: true, EnablePassword: "another"}})
		_, err := b.Open().Probe(t.Context())
		says(t, err, drivers.ErrAuth, drivers.ErrUnreachable, "enable rejects the login password", "% Bad secret")
	})
}

// TestTerminals covers output that can be mistaken for a prompt.
func TestTerminals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		o     simeos.Options
		fault func(*simeos.Faults)
	}{
		"prompts in banners": {o: simeos.Options{Banner: "leaf9#\nsw1>\n", MOTD: "sw1#\nsw1>\n  Password:\nleaf9(config)# do not\n--More--\n", Unprivileged: true}},
		"two echoes":         {fault: func(f *simeos.Faults) { f.DoubleEcho(true) }},
		"echoes too early":   {fault: func(f *simeos.Faults) { f.EchoAhead(true) }},
		"input that is lost": {fault: func(f *simeos.Faults) { f.FlushInput(true) }},
		"log messages":       {fault: func(f *simeos.Faults) { f.Logs(true) }},
		"a slow echo":        {fault: func(f *simeos.Faults) { f.SlowEcho(true) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.o.Model = strata
				b := newBox(t, boxOptions{Options: tc.o, setup: "banner motd\nsw1#\nsw1>\n% Invalid input\nEOF\ninterface Ethernet7/1\ndescription % Invalid input at sw1#\n"})
				if tc.fault != nil {
					tc.fault(b.Faults())
				}
				d, was := b.Open(), b.State()
				tok := b.Apply(d)
				b.Settled(d)
				if err := d.Revert(t.Context(), tok); err != nil || b.State() != was {
					t.Errorf("revert: %v\n%s", err, b.State())
				}
			})
		})
	}
}

func TestPagerLeftOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		b.Set(manyVLANs(400))
		b.Faults().StuckPager(true)
		_, err := b.Open().Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), "--More--") || !strings.Contains(err.Error(), lines.Running) {
			t.Errorf("error %v", err)
		}
	})
}

// If the configuration cannot be read back, the result of an apply is unknown.
func TestReadBackThatIsCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, gnmi := range []bool{false, true} {
			b := newBox(t, boxOptions{gnmi: gnmi, Options: simeos.Options{Model: strata, Persist: true}})
			d := b.Open()
			snap, st := b.Plan(d)
			b.Faults().TruncateAnswers(true)
			_, err := d.Read(t.Context())
			if err == nil || !strings.Contains(err.Error(), "cut off at line") || !strings.Contains(err.Error(), lines.Running) {
				t.Errorf("%s: %v", d.way.name(), err)
			}
			was := b.State()
			_, err = d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "test"})
			if err == nil || errors.Is(err, drivers.ErrPartial) || b.Writes() != 0 || b.State() != was {
				t.Errorf("%s: %v after %d commits", d.way.name(), err, b.Writes())
			}
			b.Faults().Clear()
			d.way = &meanwhile{way: d.way, after: func() { b.Faults().TruncateAnswers(true) }}
			tok, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "test"})
			says(t, err, drivers.ErrPartial, nil, "cannot be read")
			b.Faults().Clear()
			if err := d.Revert(t.Context(), tok); err != nil {
				t.Error(err)
			}
			if _, again := b.Plan(d); len(again.Changes) != len(st.Changes) {
				t.Errorf("%s: not reverted: %v", d.way.name(), again.Changes)
			}
		}
	})
}

func TestUnexpectedWritesAreRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		d := b.Open()
		snap, st := b.Plan(d)
		step := st.Items[0]
		for name, items := range map[string][]drivers.Step{
			"a line in a line":         {{Via: "ssh", Native: []byte(`{"edit":[{"section":"interface Ethernet1/1","key":"mtu","line":"mtu 9000\nreload now"}]}`)}},
			"another way":              {{Via: "telnet", Native: step.Native}},
			"two steps":                {step, step},
			"not JSON":                 {{Via: "ssh", Native: []byte(`{`)}},
			"an edit of its own":       {{Via: "ssh", Native: []byte(`{"edit":{}}`)}},
			"a line of another family": {{Via: "ssh", Native: []byte(`{"edit":[{"key":"priority-flow-control all off","line":"username eve privilege 15 nopassword"}]}`)}},
			"another section":          {{Via: "ssh", Native: []byte(`{"edit":[{"section":"interface Management1","key":"shutdown","line":"shutdown"}]}`)}},
		} {
			was := b.State()
			tok, err := d.Apply(t.Context(), snap, &drivers.Steps{Items: items}, drivers.ApplyOptions{})
			if err == nil || tok != nil || b.State() != was || b.Writes() != 0 {
				t.Errorf("%s: %v, token %v", name, err, tok)
			}
		}
		tok := b.Apply(d)
		tok.Device = "another"
		for _, f := range []func(context.Context, *drivers.Token) error{d.Confirm, d.Revert} {
			if err := f(t.Context(), tok); err == nil || !strings.Contains(err.Error(), "is for another") {
				t.Errorf("error %v", err)
			}
			if err := f(t.Context(), &drivers.Token{Device: "sw1", Native: []byte("{")}); err == nil {
				t.Error("half a token reads well")
			}
			if err := f(t.Context(), nil); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestOpenWithoutAWay(t *testing.T) {
	if _, err := Open(drivers.Target{Name: "sw1"}); !errors.Is(err, drivers.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}

func TestSpell(t *testing.T) {
	for d, want := range map[time.Duration]string{5 * time.Minute: "5m", 252 * time.Second: "4m12s", 30 * time.Second: "30s", 0: "0s", 10 * time.Minute: "10m"} {
		if got := drivers.Spell(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// With a full flash, a save fails and leaves the startup configuration unchanged. The error says
// so, the save is not repeated, and the revert has nothing to save.
func TestFullFlash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		d, was := b.Open(), b.Saved()
		tok := b.Apply(d)
		b.Faults().FailSave(true)
		says(t, d.Confirm(t.Context(), tok), drivers.ErrUnsaved, nil, "the startup configuration does not have it", "No space left on device")
		b.Faults().FailSave(false)
		says(t, d.Confirm(t.Context(), tok), drivers.ErrUnsaved, nil, "not saved again")
		if b.Saved() != was {
			t.Error("the startup configuration was touched")
		}
		if err := d.Revert(t.Context(), tok); err != nil || b.Saved() != was {
			t.Errorf("revert: %v", err)
		}
	})
}

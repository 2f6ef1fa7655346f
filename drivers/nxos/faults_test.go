package nxos

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
	simnxos "github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
)

// eachWay runs a test with a dual-stage commit and line by line.
func eachWay(t *testing.T, o boxOptions, run func(t *testing.T, b *box)) {
	for _, plain := range []bool{false, true} {
		o := o // each runs after the loop
		o.NoDualStage = plain
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { run(t, newBox(t, o)) })
		})
	}
}

// clean fails the test unless the switch has its original state and no checkpoints of this tool.
func (b *box) clean(t *testing.T, was string) {
	t.Helper()
	if now := b.State(); now != was {
		t.Errorf("left behind:\n%s\nwas\n%s", now, was)
	}
	if slices.ContainsFunc(b.Checkpoints(), drivers.Ours) {
		t.Errorf("checkpoints %v", b.Checkpoints())
	}
}

func (b *box) do(cmd string) {
	b.T.Helper()
	if _, err := b.colleague().Do(b.T.Context(), cmd); err != nil {
		b.T.Fatal(err)
	}
}

func TestRefusedLine(t *testing.T) {
	eachWay(t, boxOptions{}, func(t *testing.T, b *box) {
		d, was := b.Open(), b.State()
		b.Faults().RefuseLine(regexp.MustCompile("^random-detect minimum-threshold"))
		tok, err := b.Try(d)
		says(t, err, drivers.ErrRejected, drivers.ErrPartial, `"random-detect minimum-threshold 150000 bytes`, "% Invalid command at '^' marker.", "reverted")
		b.clean(t, was)
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Errorf("revert: %v", err)
		}
		b.clean(t, was)
		// The shell is back at the prompt.
		b.Faults().Clear()
		b.Apply(b.Open())
		b.Settled(d)
	})
}

// If only dual-stage mode refuses a line, including one within a policy, the lines are typed one
// by one.
func TestRefusedInDualStage(t *testing.T) {
	for _, refused := range []string{"^random-detect", "^pause pfc-cos", "^match dscp", "^mtu "} {
		t.Run(refused, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{Options: simnxos.Options{DualStageRefuse: []string{refused}}})
				d, was := b.Open(), b.State()
				tok := b.Apply(d)
				if b.ExpireTimer() {
					t.Error("a timer runs")
				}
				b.Settled(d)
				if err := d.Revert(t.Context(), tok); err != nil {
					t.Errorf("revert: %v", err)
				}
				b.clean(t, was)
			})
		})
	}
}

// The switch refuses an unknown timer before any active policy changes, because changing policies
// back and forth drops packets twice.
func TestUnknownTimer(t *testing.T) {
	const dog = "  watchdog: {detect: 400ms, restore: 400ms, action: drop}"
	eachWay(t, boxOptions{intent: []string{dog, "  watchdog: off"}}, func(t *testing.T, b *box) {
		d := b.Open()
		if err := d.Confirm(t.Context(), b.Apply(d)); err != nil {
			t.Fatal(err)
		}
		was := b.State()
		b.Desired = compile(t, fabric("60%", "50%", "40%", "50%"))
		b.Faults().RefuseLine(regexp.MustCompile("watch-dog interval"))
		_, err := b.Try(d)
		says(t, err, drivers.ErrRejected, drivers.ErrPartial, "no change is active", `line 1: "priority-flow-control watch-dog interval 200"`)
		b.clean(t, was)
	})
}

// A refusal that depends on the configuration appears at the commit, and no line takes effect.
func TestRefusedCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simnxos.Options{TCAM: true}})
		d, was := b.Open(), b.State()
		_, err := b.Try(d)
		says(t, err, drivers.ErrRejected, drivers.ErrPartial, "no change is active", "TCAM region is not configured")
		b.clean(t, was)
		if b.Writes() != 1 {
			t.Errorf("%d writes", b.Writes())
		}
		b = newBox(t, boxOptions{Options: simnxos.Options{TCAM: true, NoDualStage: true}})
		was = b.State()
		_, err = b.Try(b.Open())
		says(t, err, drivers.ErrRejected, drivers.ErrPartial, "service-policy type qos input ROCE-FABRIC-IN", `Module 1 returned status "TCAM region is not configured`)
		b.clean(t, was)
	})
}

// Someone starts to use an object that the plan removes. A commit refuses all lines; line by
// line, only the last one is refused, and the object stays.
func TestInUse(t *testing.T) {
	eachWay(t, boxOptions{}, func(t *testing.T, b *box) {
		d := b.Open()
		if err := d.Confirm(t.Context(), b.Apply(d)); err != nil {
			t.Fatal(err)
		}
		b.Desired = compile(t, fabric("  cnp: {priority: 7, dscp: [48], strict: true}\n", ""))
		var was string
		b.Faults().BeforeWrite(func() {
			b.Faults().BeforeWrite(nil)
			b.Set("policy-map type qos THEIRS\n  class ROCE-FABRIC-CNP\n    set qos-group 2\n")
			was = b.State()
		})
		_, err := b.Try(d)
		if b.plain {
			if err != nil {
				t.Error(err)
			}
		} else {
			says(t, err, drivers.ErrRejected, drivers.ErrPartial, "in use by policy-map THEIRS", "no class-map type qos match-any ROCE-FABRIC-CNP")
			b.clean(t, was)
			b.Apply(d)
		}
		b.Settled(d)
		if !strings.Contains(b.Running(), "class-map type qos match-any ROCE-FABRIC-CNP") {
			t.Error("the class-map is gone")
		}
	})
}

// The same during a revert: the object in use stays, the others are removed.
func TestRevertInUse(t *testing.T) {
	eachWay(t, boxOptions{}, func(t *testing.T, b *box) {
		d := b.Open()
		tok := b.Apply(d)
		if err := d.Confirm(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		b.Faults().BeforeWrite(func() {
			b.Faults().BeforeWrite(nil)
			b.Set("interface Ethernet1/8\n  service-policy type queuing output ROCE-FABRIC-OUT\n")
		})
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Error(err)
		}
		if text := b.Running(); strings.Contains(text, "ROCE-FABRIC-IN") || strings.Contains(text, "ROCE-FABRIC-NQ") || strings.Contains(text, "priority-flow-control") ||
			strings.Count(text, "output ROCE-FABRIC-OUT") != 1 || b.Saved() != b.State() {
			t.Errorf("reverted:\n%s", text)
		}
	})
}

// Line by line, a switch with other class names refuses the plan like any other unknown line.
func TestClassNamesOfAnotherModel(t *testing.T) {
	eachWay(t, boxOptions{}, func(t *testing.T, b *box) {
		d, was := b.Open(), b.State()
		snap, _ := b.Plan(d)
		nativeOf(snap).m, nativeOf(snap).guessed = native.FourQueue, true
		b.Desired = compile(t, fabric(fourQueues...))
		st, err := d.Plan(drivers.Facts{}, snap, b.Desired, b.Policy)
		if err != nil || !strings.Contains(notes(st), "the plan uses those of 4q") {
			t.Fatalf("%v: %s", err, notes(st))
		}
		_, err = d.Apply(t.Context(), snap, st, applyOptions)
		says(t, err, drivers.ErrRejected, drivers.ErrPartial, `"class type network-qos c-nq`, "% Invalid command")
		b.clean(t, was)
	})
}

func TestFailedRollback(t *testing.T) {
	t.Parallel()
	refuse := regexp.MustCompile("^service-policy type queuing")
	t.Run("settings do it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBox(t, boxOptions{Options: simnxos.Options{NoDualStage: true}})
			was := b.State()
			b.Faults().RollbackFails(true)
			b.Faults().RefuseLine(refuse)
			_, err := b.Try(b.Open())
			says(t, err, drivers.ErrRejected, drivers.ErrPartial, "service-policy type queuing")
			b.clean(t, was)
		})
	})
	t.Run("nothing does it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBox(t, boxOptions{Options: simnxos.Options{NoDualStage: true}})
			d, was := b.Open(), b.State()
			b.Faults().RollbackFails(true)
			b.Faults().RefuseLine(refuse)
			b.Faults().RefuseLine(regexp.MustCompile("^no (policy|class)-map"))
			tok, err := b.Try(d)
			says(t, err, drivers.ErrPartial, nil, "checkpoint rf-test, where it is still there, holds the previous configuration", "Rollback failed.", "service-policy type queuing")
			if !slices.Contains(b.Checkpoints(), "rf-test") || b.State() == was {
				t.Errorf("checkpoints %v", b.Checkpoints())
			}
			b.Faults().Clear()
			if err := b.Open().Revert(t.Context(), tok); err != nil {
				t.Error(err)
			}
			b.clean(t, was)
		})
	})
	t.Run("the session is lost in it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBox(t, boxOptions{Options: simnxos.Options{NoDualStage: true}})
			was := b.State()
			b.Faults().DropInRollback()
			b.Faults().RefuseLine(refuse)
			n := b.Writes()
			_, err := b.Try(b.Open())
			says(t, err, drivers.ErrRejected, drivers.ErrPartial, "service-policy type queuing")
			b.clean(t, was)
			if b.Writes() != n+2 {
				t.Errorf("%d writes, want the lines and one rollback", b.Writes()-n)
			}
		})
	})
}

// A line of output that begins with ERROR: counts as an error, even if the typed line may have been
// accepted.
func TestErrorsAmongOutput(t *testing.T) {
	eachWay(t, boxOptions{}, func(t *testing.T, b *box) {
		d, was := b.Open(), b.State()
		b.Faults().ErrorAmongNormal(true)
		_, err := b.Try(d)
		says(t, err, drivers.ErrRejected, drivers.ErrPartial, "ERROR: no statistics were kept")
		b.clean(t, was)
	})
}

// Removing a class from the intent first removes its policies from the ports, because the switch
// refuses it otherwise.
func TestClassRemoved(t *testing.T) {
	eachWay(t, boxOptions{}, func(t *testing.T, b *box) {
		d := b.Open()
		if err := d.Confirm(t.Context(), b.Apply(d)); err != nil {
			t.Fatal(err)
		}
		was := b.State()
		b.Desired = compile(t, fabric("  cnp: {priority: 7, dscp: [48], strict: true}\n", ""))
		tok := b.Apply(d)
		b.Settled(d)
		if strings.Contains(b.Running(), "ROCE-FABRIC-CNP") {
			t.Error("the class-map is left")
		}
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Error(err)
		}
		b.clean(t, was)
	})
}

// A connection that is lost half way leaves half of the lines, which is reported and can be
// reverted, whatever others changed since.
func TestLostInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simnxos.Options{NoDualStage: true}})
		d, was := b.Open(), b.State()
		b.Faults().DropAt(40)
		tok, err := b.Try(d)
		says(t, err, drivers.ErrPartial, drivers.ErrRejected, "neither its old settings nor all new ones", "of 91 left to set")
		b.Set("interface Ethernet1/7\n  description meanwhile\n")
		if err := b.Open().Revert(t.Context(), tok); err != nil {
			t.Error(err)
		}
		b.clean(t, strings.Replace(was, "interface Ethernet1/7\n", "interface Ethernet1/7\n  description meanwhile\n", 1))
	})
}

// TestTerminals covers output that can be mistaken for a prompt.
func TestTerminals(t *testing.T) {
	for name, tc := range map[string]struct {
		o     simnxos.Options
		fault func(*simnxos.Faults)
	}{
		"prompts in banners": {o: simnxos.Options{Banner: "leaf9#\nsw1>\n", MOTD: "sw1#\nsw1>\n  Password:\nleaf9(config)# do not\n--More--\n"}},
		"two echoes":         {fault: func(f *simnxos.Faults) { f.DoubleEcho(true) }},
		"echoes too early":   {fault: func(f *simnxos.Faults) { f.EchoAhead(true) }},
		"input that is lost": {fault: func(f *simnxos.Faults) { f.FlushInput(true) }},
		"log messages":       {fault: func(f *simnxos.Faults) { f.Logs(true) }},
		"two returns":        {fault: func(f *simnxos.Faults) { f.DoubleReturn(true) }},
	} {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s plain=%v", name, plain), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					o := tc.o
					o.NoDualStage = plain
					b := newBox(t, boxOptions{Options: o, setup: "banner motd #\nsw1>\n% Invalid command\nERROR: no\n#\ninterface Ethernet1/7\n  description ERROR: % Invalid command at sw1#\n"})
					if tc.fault != nil {
						tc.fault(b.Faults())
					}
					d, was := b.Open(), b.State()
					tok := b.Apply(d)
					b.Settled(d)
					if err := d.Revert(t.Context(), tok); err != nil {
						t.Errorf("revert: %v", err)
					}
					b.clean(t, was)
				})
			})
		}
	}
}

func TestPagerLeftOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{setup: manyRoutes(400)})
		b.Faults().StuckPager(true)
		_, err := b.Open().Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), "--More--") || !strings.Contains(err.Error(), lines.Running) {
			t.Errorf("error %v", err)
		}
	})
}

func manyRoutes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "ip route 10.%d.%d.%d/32 Null0\n", i>>16, i>>8&255, i&255)
	}
	return b.String()
}

func TestLargeConfiguration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines := 50_000
		if testing.Short() {
			lines = 5_000
		}
		b := newBox(t, boxOptions{setup: manyRoutes(lines)})
		d, was := b.Open(), b.State()
		tok := b.Apply(d)
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Errorf("revert: %v", err)
		}
		b.clean(t, was)
	})
}

// If the configuration cannot be read back, the result of an apply is unknown.
func TestReadBackThatIsCutOff(t *testing.T) {
	eachWay(t, boxOptions{}, func(t *testing.T, b *box) {
		d := b.Open()
		snap, st := b.Plan(d)
		b.Faults().TruncateAnswers(true)
		_, err := d.Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), "cut off at line") || !strings.Contains(err.Error(), lines.Running) {
			t.Errorf("read: %v", err)
		}
		tok, err := d.Apply(t.Context(), snap, st, applyOptions)
		says(t, err, drivers.ErrPartial, nil, "cannot be read")
		b.Faults().Clear()
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Error(err)
		}
		if _, again := b.Plan(d); len(again.Changes) != len(st.Changes) {
			t.Errorf("not reverted: %v", again.Changes)
		}
	})
}

func TestUnexpectedWritesAreRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		d := b.Open()
		snap, st := b.Plan(d)
		step := st.Items[0]
		for name, items := range map[string][]drivers.Step{
			"a line in a line":         {{Via: "ssh", Native: []byte(`{"edit":[{"section":"interface Ethernet1/1","key":"mtu","line":"mtu 9000\nreload"}]}`)}},
			"two commands":             {{Via: "ssh", Native: []byte(`{"edit":[{"section":"interface Ethernet1/1","key":"mtu","line":"mtu 9000 ; reload"}]}`)}},
			"a line in a class":        {{Via: "ssh", Native: []byte(`{"edit":[{"section":"policy-map type qos X","class":"class Y\nreload","line":"present"}]}`)}},
			"a command of its own":     {{Via: "ssh", Native: []byte(`{"edit":[{"key":"username eve","line":"username eve password x role network-admin"}]}`)}},
			"a command as a block":     {{Via: "ssh", Native: []byte(`{"edit":[{"section":"username eve password x","line":"present"}]}`)}},
			"a command in a policy":    {{Via: "ssh", Native: []byte(`{"edit":[{"section":"policy-map type qos ROCE-FABRIC-IN","class":"class ROCE-FABRIC-RDMA","key":"reload","line":"reload"}]}`)}},
			"a policy of others":       {{Via: "ssh", Native: []byte(`{"edit":[{"section":"policy-map type qos SITE"}]}`)}},
			"another line of a port":   {{Via: "ssh", Native: []byte(`{"edit":[{"section":"interface Ethernet1/1","key":"speed","line":"speed 10000"}]}`)}},
			"another kind of port":     {{Via: "ssh", Native: []byte(`{"edit":[{"section":"interface mgmt0","key":"shutdown","line":"shutdown"}]}`)}},
			"a line under a wrong key": {{Via: "ssh", Native: []byte(`{"edit":[{"section":"interface Ethernet1/1","key":"mtu","line":"shutdown"}]}`)}},
			"a question":               {{Via: "ssh", Native: []byte(`{"edit":[{"section":"interface Ethernet1/1","key":"mtu","line":"mtu 9000 ?"}]}`)}},
			"another way":              {{Via: "gnmi", Native: step.Native}},
			"two steps":                {step, step},
			"not JSON":                 {{Via: "ssh", Native: []byte(`{`)}},
			"an edit of its own":       {{Via: "ssh", Native: []byte(`{"edit":{}}`)}},
		} {
			was := b.State()
			tok, err := d.Apply(t.Context(), snap, &drivers.Steps{Items: items}, applyOptions)
			if err == nil || tok != nil || b.State() != was || b.Writes() != 0 || len(b.Checkpoints()) > 0 {
				t.Errorf("%s: %v, token %v", name, err, tok)
			}
		}
		tok := b.Apply(d)
		for _, f := range []func(context.Context, *drivers.Token) error{d.Confirm, d.Revert} {
			if err := f(t.Context(), &drivers.Token{Device: "another", Native: tok.Native}); err == nil || !strings.Contains(err.Error(), "is for another") {
				t.Errorf("error %v", err)
			}
			for _, raw := range []string{"{", `{"checkpoint":"theirs"}`, `{"checkpoint":"rf-x atomic"}`} {
				if err := f(t.Context(), &drivers.Token{Device: "sw1", Native: []byte(raw)}); err == nil {
					t.Errorf("%s reads well", raw)
				}
			}
			if err := f(t.Context(), nil); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestOpenWithoutSSH(t *testing.T) {
	_, err := Open(drivers.Target{Name: "sw1"})
	if !errors.Is(err, drivers.ErrUnsupported) || !strings.Contains(err.Error(), "does not say how to reach this switch over SSH") {
		t.Errorf("error %v", err)
	}
}

// With a full flash, a save fails and leaves the startup configuration unchanged. The error says
// so, the save is not repeated, and the revert has nothing to save.
func TestFullFlash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		d, was := b.Open(), b.Saved()
		tok := b.Apply(d)
		b.Faults().FailSave(true)
		says(t, d.Confirm(t.Context(), tok), drivers.ErrUnsaved, nil, "the startup configuration does not have it", "")
		b.Faults().FailSave(false)
		if b.Saved() != was {
			t.Error("the startup configuration was touched")
		}
		if err := d.Revert(t.Context(), tok); err != nil || b.Saved() != was {
			t.Errorf("revert: %v", err)
		}
	})
}

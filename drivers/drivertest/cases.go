package drivertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// cases lists all requirements on drivers. A name says what must hold.
var cases = []testCase{
	{name: "plan is empty after apply", run: func(b *bench) {
		p := b.fresh()
		tok := b.mustApply(p)
		if err := p.Confirm(b.ctx, tok); err != nil {
			b.Errorf("confirm: %v", err)
		}
		b.settled(p, p.steps)
	}},
	{name: "the differences are those that an apply removes", run: func(b *bench) {
		p := b.fresh()
		d, ok := p.Driver.(drivers.Differ)
		if !ok {
			b.Skip("the device has no text")
		}
		differences := func(s *drivers.Snapshot) (before, after string) {
			before, after, err := d.Differences(s, p.steps)
			if err != nil {
				b.Fatal(err)
			}
			return before, after
		}
		was, is := differences(p.snap)
		if was == is || is == "" {
			b.Errorf("no differences, and %d steps: %q", len(p.steps.Items), was)
		}
		b.mustApply(p)
		// Some devices do not print a line that equals the default.
		was, is = differences(b.plan(b.open()).snap)
		for l := range strings.Lines(was) {
			if !strings.Contains("\n"+is, "\n"+l) {
				b.Errorf("after the apply %q is still to go", l)
			}
		}
	}},
	{name: "plan is empty after apply and a restart", needs: func(d *Device) bool { return d.Restart != nil }, run: func(b *bench) {
		p := b.fresh()
		tok := b.mustApply(p)
		if err := p.Confirm(b.ctx, tok); err != nil {
			b.Fatalf("confirm: %v", err)
		}
		if err := b.Restart(); err != nil {
			b.Fatal(err)
		}
		b.settled(b.open(), p.steps)
	}},
	{name: "two plans of one state are the same bytes", run: func(b *bench) {
		first := b.plan(b.open()).steps
		if err := Repeatable(first, func() (*drivers.Steps, error) { return b.plan(b.open()).steps, nil }); err != nil {
			b.Error(err)
		}
	}},
	{name: "a second apply sends nothing", run: func(b *bench) {
		p := b.fresh()
		b.mustApply(p)
		again := b.plan(b.open())
		was, n := b.State(), b.Requests()
		tok, err := b.apply(again)
		if err != nil || tok != nil {
			b.Errorf("apply of nothing: token %v, error %v", tok, err)
		}
		if b.Requests() != n {
			b.Errorf("%d requests for nothing", b.Requests()-n)
		}
		b.same("apply of nothing", was)
	}},
	{name: "a rejected step leaves nothing half applied", needs: func(d *Device) bool { return d.Faults.Reject != nil }, run: func(b *bench) {
		first := b.fresh()
		was := b.State()
		for n := range first.steps.Items {
			p, before, last := b.fresh(), was, 0
			tok, err := p.Apply(b.ctx, p.snap, p.steps, drivers.ApplyOptions{ID: "test", Progress: func(i, _ int, _ drivers.Step) {
				if i == n {
					b.Faults.Reject()
				}
				before, last = b.State(), i
			}})
			b.Faults.Clear()
			if err == nil {
				b.Logf("step %d cannot be made to be rejected", n+1)
				b.revert(p, tok)
				continue
			}
			b.is(err, drivers.ErrRejected)
			if last == 0 {
				b.isNot(err, drivers.ErrPartial)
			} else {
				b.is(err, drivers.ErrPartial)
			}
			b.same("the rejected step", before)
			b.revert(p, tok)
			b.same("reverted", was)
		}
	}},
	{name: "a connection lost before the write", needs: func(d *Device) bool { return d.Faults.DropBefore != nil }, run: func(b *bench) {
		p, was := b.fresh(), b.State()
		b.Faults.DropBefore()
		_, err := b.apply(p)
		b.is(err, drivers.ErrUnreachable, drivers.ErrRejected)
		b.isNot(err, drivers.ErrPartial)
		b.same("nothing was written", was)
	}},
	{name: "a connection lost after the write", needs: func(d *Device) bool { return d.Faults.DropAfter != nil }, run: func(b *bench) {
		p := b.fresh()
		b.Faults.DropAfter()
		b.mustApply(p)
		b.settled(b.open(), p.steps)
	}},
	{name: "an answer that fails after applying", needs: func(d *Device) bool { return d.Faults.FailAfterApply != nil }, run: func(b *bench) {
		p := b.fresh()
		// Fail in the last step, so that no later step saves the changes of this one.
		tok, err := p.Apply(b.ctx, p.snap, p.steps, drivers.ApplyOptions{ID: "test", Progress: func(i, n int, _ drivers.Step) {
			if i == n-1 {
				b.Faults.FailAfterApply()
			}
		}})
		if err != nil {
			b.Fatalf("apply: %v", err)
		}
		if err := p.Confirm(b.ctx, tok); err != nil {
			b.Errorf("confirm: %v", err)
		}
		b.settled(p, p.steps)
		if b.Restart != nil {
			if err := b.Restart(); err != nil {
				b.Fatal(err)
			}
			b.settled(b.open(), p.steps)
		}
	}},
	{name: "a failure half way is partial and is reverted", needs: func(d *Device) bool { return d.Faults.FailHalfWay != nil }, run: func(b *bench) {
		p, was := b.fresh(), b.State()
		b.Faults.FailHalfWay()
		tok, err := b.apply(p)
		b.is(err, drivers.ErrPartial)
		b.revert(p, tok)
		b.same("reverted", was)
	}},
	{name: "a failure half way of any step is reverted", needs: func(d *Device) bool { return d.Faults.FailHalfWay != nil }, run: func(b *bench) {
		was := b.State()
		for n := 0; ; n++ {
			p := b.fresh()
			if n >= len(p.steps.Items) {
				break
			}
			tok, err := p.Apply(b.ctx, p.snap, p.steps, drivers.ApplyOptions{ID: "test", Progress: func(i, _ int, _ drivers.Step) {
				if i == n {
					b.Faults.FailHalfWay()
				}
			}})
			if err == nil {
				b.Logf("step %d has no middle", n+1)
			} else {
				b.is(err, drivers.ErrPartial)
			}
			b.Faults.Clear()
			b.revert(p, tok)
			b.same("reverted", was)
		}
	}},
	{name: "slow answers within the deadline", needs: func(d *Device) bool { return d.Faults.Delay != nil }, run: func(b *bench) {
		b.Faults.Delay(5 * time.Millisecond)
		p := b.fresh()
		b.mustApply(p)
		b.settled(p, p.steps)
	}},
	{name: "work that outlasts the deadline", slow: true, run: func(b *bench) {
		p := b.fresh()
		b.mustApply(p)
		b.settled(b.open(), p.steps)
	}},
	{name: "a server that gives up while the work goes on", needs: func(d *Device) bool { return d.Faults.GiveUp != nil }, run: func(b *bench) {
		p := b.fresh()
		b.Faults.GiveUp()
		b.mustApply(p)
		b.settled(b.open(), p.steps)
	}},
	{name: "revert waits for work that goes on", needs: func(d *Device) bool { return d.Faults.GiveUp != nil && d.BeforeWrite != nil }, run: func(b *bench) {
		p, was := b.fresh(), b.State()
		b.Faults.GiveUp()
		ctx, cancel := context.WithCancel(b.ctx)
		b.BeforeWrite(cancel)
		tok, err := p.Apply(ctx, p.snap, p.steps, drivers.ApplyOptions{ID: "test"})
		if err == nil && len(p.steps.Items) > 1 {
			b.Errorf("a cancelled apply says that all is done")
		}
		b.BeforeWrite(nil)
		other := b.open()
		b.revert(other, b.later(tok))
		b.same("reverted", was)
	}},
	{name: "a restart in the middle", needs: func(d *Device) bool { return d.Faults.RestartInside != nil }, run: func(b *bench) {
		p, was := b.fresh(), b.State()
		b.Faults.RestartInside()
		tok, err := b.apply(p)
		if err == nil {
			b.settled(p, p.steps)
			return
		}
		b.is(err, drivers.ErrRejected, drivers.ErrPartial, drivers.ErrUnreachable)
		b.revert(p, tok)
		b.same("reverted", was)
	}},
	{name: "another writer makes a plan stale", needs: func(d *Device) bool { return d.ChangeManaged != nil }, run: func(b *bench) {
		p := b.fresh()
		if got := p.Digest(p.snap, b.Desired); got != p.steps.Base {
			b.Errorf("digest %s of the state that was planned for, base %s", got, p.steps.Base)
		}
		b.ChangeManaged()
		now, err := p.Read(b.ctx)
		if err != nil {
			b.Fatal(err)
		}
		if p.Digest(now, b.Desired) == p.steps.Base {
			b.Error("the digest does not see the change")
		}
	}},
	{name: "a foreign change does not make a plan stale", needs: func(d *Device) bool { return d.ChangeForeign != nil }, run: func(b *bench) {
		p := b.fresh()
		b.ChangeForeign()
		now, err := p.Read(b.ctx)
		if err != nil {
			b.Fatal(err)
		}
		if p.Digest(now, b.Desired) != p.steps.Base {
			b.Error("the digest sees the change of something that is not managed")
		}
	}},
	{name: "foreign objects survive apply and revert", needs: func(d *Device) bool { return d.AddForeign != nil }, run: func(b *bench) {
		b.AddForeign()
		p, was := b.fresh(), b.State()
		tok := b.mustApply(p)
		if !b.HasForeign() {
			b.Error("apply touched a foreign object")
		}
		b.revert(p, tok)
		b.same("reverted", was)
	}},
	{name: "foreign changes after apply survive revert", needs: func(d *Device) bool { return d.AddForeign != nil }, run: func(b *bench) {
		p := b.fresh()
		tok := b.mustApply(p)
		b.AddForeign()
		b.revert(p, tok)
		if !b.HasForeign() {
			b.Error("revert touched a foreign object that came after apply")
		}
	}},
	{name: "revert restores every byte", run: func(b *bench) {
		p, was := b.fresh(), b.State()
		tok := b.mustApply(p)
		if string(was) == string(b.State()) {
			b.Fatal("apply changed nothing")
		}
		b.revert(p, tok)
		b.same("reverted", was)
		if b.Startup != nil && string(b.Startup()) != string(was) {
			b.Error("the startup configuration is not as before")
		}
	}},
	{name: "another process reverts", run: func(b *bench) {
		p, was := b.fresh(), b.State()
		var kept *drivers.Token
		n := b.Requests()
		_, err := p.Apply(b.ctx, p.snap, p.steps, drivers.ApplyOptions{ID: "test", Token: func(t *drivers.Token) error {
			if b.Requests() != n {
				b.Error("the undo record comes after the first write")
			}
			kept = b.later(t)
			return nil
		}})
		if err != nil || kept == nil {
			b.Fatalf("apply: %v, token %v", err, kept)
		}
		b.revert(b.open(), kept)
		b.same("reverted", was)
	}},
	{name: "what is planned and what undoes it are known again", run: func(b *bench) {
		p := b.fresh()
		c, ok := p.Driver.(drivers.Checker)
		if !ok {
			b.Fatal("no drivers.Checker: plans and journals of this driver type anything")
		}
		managed, none := b.Desired.Manages, func(string) bool { return false }
		if _, err := c.CheckSteps(p.steps.Items, managed); err != nil {
			b.Error(err)
		}
		if _, err := c.CheckSteps(p.steps.Items, none); err == nil {
			b.Error("steps for ports outside of the intent are taken")
		}
		tok := b.mustApply(p)
		if _, err := c.CheckUndo(b.later(tok), managed); err != nil {
			b.Error(err)
		}
		if _, err := c.CheckUndo(tok, none); err == nil {
			b.Error("an undo record of ports outside of the intent is taken")
		}
	}},
	{name: "nothing is written where the undo record cannot be kept", run: func(b *bench) {
		p, was := b.fresh(), b.State()
		n := b.Requests()
		tok, err := p.Apply(b.ctx, p.snap, p.steps, drivers.ApplyOptions{ID: "test", Token: func(*drivers.Token) error { return context.Canceled }})
		b.is(err, context.Canceled)
		if tok != nil || b.Requests() != n {
			b.Errorf("token %v, %d requests", tok, b.Requests()-n)
		}
		b.same("nothing written", was)
	}},
	{name: "revert twice is harmless", run: func(b *bench) {
		p, was := b.fresh(), b.State()
		tok := b.mustApply(p)
		b.revert(p, tok)
		b.revert(p, tok)
		b.same("reverted twice", was)
	}},
	{name: "confirm twice, then revert", run: func(b *bench) {
		p, was := b.fresh(), b.State()
		tok := b.mustApply(p)
		for range 2 {
			if err := p.Confirm(b.ctx, tok); err != nil {
				b.Errorf("confirm: %v", err)
			}
		}
		b.revert(b.open(), tok)
		b.same("reverted", was)
	}},
	{name: "cancel between steps", run: func(b *bench) {
		was := b.State()
		for n := 0; ; n++ {
			p := b.fresh()
			if n >= len(p.steps.Items) {
				break
			}
			ctx, cancel := context.WithCancel(b.ctx)
			tok, err := p.Apply(ctx, p.snap, p.steps, drivers.ApplyOptions{ID: "test", Progress: func(i, _ int, _ drivers.Step) {
				if i == n {
					cancel()
				}
			}})
			cancel()
			if err != nil && n > 0 {
				b.is(err, drivers.ErrPartial)
			}
			if err != nil && n == 0 {
				b.isNot(err, drivers.ErrPartial)
			}
			b.revert(p, tok)
			b.same("reverted", was)
		}
	}},
	// Not for hosts: their agent waits for its client, which crash terminates without its
	// process.
	{name: "a run that finishes one that was cut off undoes both", needs: func(d *Device) bool { return d.BeforeWrite != nil }, run: cutOffAndFinished},
	{name: "a run that finishes a revert that was cut off undoes both", needs: func(d *Device) bool { return d.BeforeWrite != nil }, run: revertCutOff},
	{name: "the impact covers what the steps do", run: func(b *bench) {
		p := b.fresh()
		impact := p.steps.Impact()
		tok := b.mustApply(p)
		if b.Flaps != nil && len(b.Flaps()) > 0 && impact < qos.ImpactPortFlap {
			b.Errorf("%v went down, and the impact is %s", b.Flaps(), impact)
		}
		c, ok := p.Driver.(drivers.Checker)
		if !ok {
			return
		}
		least, err := c.CheckSteps(p.steps.Items, b.Desired.Manages)
		if err != nil || least > impact {
			b.Errorf("its steps are %s at least (%v), and its plan says %s", least, err, impact)
		}
		if least, err = c.CheckUndo(tok, b.Desired.Manages); err != nil || least > impact {
			b.Errorf("its revert is %s at least (%v), and its plan says %s", least, err, impact)
		}
	}},
	{name: "each port flaps at most once", needs: func(d *Device) bool { return d.Flaps != nil }, run: func(b *bench) {
		p := b.fresh()
		tok := b.mustApply(p)
		listed := map[string]bool{}
		for _, s := range p.steps.Items {
			for _, port := range s.Down {
				listed[port] = true
			}
		}
		for port, n := range b.Flaps() {
			if n > 1 {
				b.Errorf("%s went down %d times", port, n)
			}
			if n > 0 && !listed[port] {
				b.Errorf("%s went down, and no step says so", port)
			}
		}
		before := b.Flaps()
		b.revert(p, tok)
		for port, n := range b.Flaps() {
			if n > before[port]+1 {
				b.Errorf("the revert took %s down %d times", port, n-before[port])
			}
		}
	}},
	{name: "never more ports down than the policy, never all uplinks", needs: func(d *Device) bool { return d.BeforeWrite != nil && d.Down != nil }, run: func(b *bench) {
		p := b.fresh()
		seen := 0
		look := func() {
			down := b.Down()
			seen = max(seen, len(down))
			if len(down) > b.Policy.PortGroup {
				b.Errorf("%d ports are down, at most %d may be: %v", len(down), b.Policy.PortGroup, down)
			}
			if len(b.Policy.Uplinks) > 1 && !slices.ContainsFunc(b.Policy.Uplinks, func(u string) bool { return !slices.Contains(down, u) }) {
				b.Errorf("all uplinks are down: %v", down)
			}
		}
		b.BeforeWrite(look)
		b.mustApply(p)
		look()
		if seen == 0 {
			b.Log("no port was seen down between requests")
		}
	}},
	{name: "a read-only device", needs: func(d *Device) bool { return d.Faults.ReadOnly != nil }, run: func(b *bench) {
		b.Faults.ReadOnly(true)
		p, was := b.fresh(), b.State()
		tok, err := b.apply(p)
		b.is(err, drivers.ErrRejected)
		// A write over another transport may have succeeded.
		if b.Faults.ReadOnly(false); errors.Is(err, drivers.ErrPartial) {
			b.revert(p, tok)
		}
		b.same("read only", was)
	}},
	{name: "what the model does not know is reported and kept", needs: func(d *Device) bool { return d.AddUnknown != nil }, run: func(b *bench) {
		p := b.fresh()
		_, before := p.decode(b, p.snap)
		b.AddUnknown()
		p = b.fresh()
		_, unknown := p.decode(b, p.snap)
		if len(unknown) <= len(before) {
			b.Errorf("nothing more reported: %v", unknown)
		}
		was := b.State()
		tok := b.mustApply(p)
		snap, err := p.Read(b.ctx)
		if err != nil {
			b.Fatal(err)
		}
		if _, after := p.decode(b, snap); len(after) < len(unknown) {
			b.Errorf("gone with apply: had %v, has %v", unknown, after)
		}
		b.revert(p, tok)
		b.same("reverted", was)
	}},
	{name: "a truncated answer", needs: func(d *Device) bool { return d.Faults.TruncateAnswers != nil }, run: func(b *bench) {
		d := b.open()
		if _, err := d.Probe(b.ctx); err != nil {
			b.Fatal(err)
		}
		b.Faults.TruncateAnswers(true)
		if _, err := d.Read(b.ctx); err == nil {
			b.Error("half an answer reads well")
		}
		if _, err := b.open().Probe(b.ctx); err == nil {
			b.Error("probe of half an answer")
		}
	}},
	{name: "a wrong certificate", needs: func(d *Device) bool { return d.Faults.WrongCertificate != nil }, run: func(b *bench) {
		b.Faults.WrongCertificate(true)
		_, err := b.open().Probe(b.ctx)
		b.is(err, drivers.ErrIdentity)
	}},
	{name: "a wrong password", needs: func(d *Device) bool { return d.OpenWrongPassword != nil }, run: func(b *bench) {
		d := b.OpenWrongPassword()
		_, err := d.Probe(b.ctx)
		b.is(err, drivers.ErrAuth)
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	}},
	{name: "an unreachable device", needs: func(d *Device) bool { return d.Faults.Unreachable != nil }, run: func(b *bench) {
		p, was := b.fresh(), b.State()
		b.Faults.Unreachable(true)
		_, err := b.open().Probe(b.ctx)
		b.is(err, drivers.ErrUnreachable)
		_, err = b.open().Read(b.ctx)
		b.is(err, drivers.ErrUnreachable)
		_, err = b.apply(p)
		b.is(err, drivers.ErrUnreachable)
		b.isNot(err, drivers.ErrPartial)
		b.same("unreachable", was)
	}},
	{name: "a device without the model that is needed", needs: func(d *Device) bool { return d.Faults.NoModel != nil }, run: func(b *bench) {
		b.Faults.NoModel(true)
		_, err := b.open().Probe(b.ctx)
		b.is(err, drivers.ErrUnsupported)
	}},
	{name: "of two runs at once one writes", needs: func(d *Device) bool { return d.Marked != nil }, run: func(b *bench) {
		first, second := b.fresh(), b.fresh()
		id := time.Now().UTC().Format("20060102-150405")
		run := func(p planned, id string) (*drivers.Token, error) {
			return p.Apply(b.ctx, p.snap, p.steps, drivers.ApplyOptions{ID: id})
		}
		for _, end := range []func(context.Context, *drivers.Token) error{first.Revert, first.Confirm} {
			tok, err := run(first, id+"123-abcd")
			if err != nil {
				b.Fatal(err)
			}
			if !b.Marked() {
				b.Error("the device does not show that a run is at work")
			}
			was, n := b.State(), b.Requests()
			none, err := run(second, id+"124-abce")
			b.is(err, drivers.ErrRejected)
			b.isNot(err, drivers.ErrPartial)
			if none != nil || b.Requests() != n {
				b.Errorf("token %v, %d requests", none, b.Requests()-n)
			}
			if err != nil && !strings.Contains(err.Error(), id) {
				b.Errorf("error %q does not say which run it is", err)
			}
			b.same("the refused run", was)
			if err := end(b.ctx, tok); err != nil {
				b.Error(err)
			}
			if b.Marked() {
				b.Error("something of the run is left")
			}
		}
		b.settled(second, second.steps)
	}},
	{name: "a silent device", needs: func(d *Device) bool { return d.Faults.Delay != nil }, run: func(b *bench) {
		p, was := b.fresh(), b.State()
		facts, err := p.Probe(b.ctx)
		if err != nil {
			b.Fatal(err)
		}
		b.Faults.Delay(time.Hour)
		ctx, cancel := context.WithTimeout(b.ctx, 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err = b.open().Probe(ctx)
		b.is(err, drivers.ErrUnreachable)
		_, err = b.open().Read(ctx)
		b.is(err, drivers.ErrUnreachable)
		_, err = p.Read(ctx)
		b.is(err, drivers.ErrUnreachable)
		if facts.Caps.AppliedState {
			_, err = p.Applied(ctx, b.Desired)
			b.is(err, drivers.ErrUnreachable)
		}
		tok, err := p.Apply(ctx, p.snap, p.steps, drivers.ApplyOptions{ID: "test"})
		b.is(err, drivers.ErrUnreachable, context.DeadlineExceeded)
		if err := p.Revert(ctx, tok); tok != nil && err == nil {
			b.Error("revert of a silent device says that it is done")
		}
		if took := time.Since(began); took > patience/2 {
			b.Errorf("took %s", took)
		}
		// The last call may begin just before its deadline and execute after it; its effect must
		// still be revertible.
		b.Faults.Clear()
		if tok != nil {
			b.revert(p, tok)
		}
		b.same("silent", was)
	}},
	{name: "a device that falls silent at any time", run: fallsSilent},
	{name: "a device that falls silent in the middle", needs: func(d *Device) bool { return d.Faults.Delay != nil && d.BeforeWrite != nil }, run: func(b *bench) {
		p, was := b.fresh(), b.State()
		b.BeforeWrite(func() { b.Faults.Delay(time.Hour) })
		began := time.Now()
		tok, err := b.apply(p)
		b.is(err, drivers.ErrPartial)
		if took := time.Since(began); took > patience/2 {
			b.Errorf("took %s", took)
		}
		b.BeforeWrite(nil)
		b.Faults.Clear()
		b.revert(p, tok)
		b.same("reverted", was)
	}},
}

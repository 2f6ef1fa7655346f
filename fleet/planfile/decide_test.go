package planfile

import (
	"errors"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func TestJudge(t *testing.T) {
	change := func(field qos.Attr, i qos.Impact, blocked string) engine.Group {
		return engine.Group{Ports: []string{"Ethernet0", "Ethernet8"}, Change: qos.Change{Field: field, Impact: i, Blocked: blocked}}
	}
	for name, c := range map[string]struct {
		plan  engine.DevicePlan
		state engine.State
		err   string
	}{
		"as allowed":     {engine.DevicePlan{Changes: []engine.Group{change(qos.KindPFC.Attr(), qos.ImpactCounters, "")}}, engine.Skipped, ""},
		"no changes":     {engine.DevicePlan{}, engine.Skipped, ""},
		"failed":         {engine.DevicePlan{Error: engine.NewError("leaf1", engine.OpRead, errors.New("unreachable"))}, engine.Failed, "leaf1: unreachable"},
		"failed, a file": {engine.DevicePlan{Error: &engine.Error{Device: "leaf1", Text: "unreachable"}}, engine.Failed, "leaf1: no plan: unreachable"},
		"blocked":        {engine.DevicePlan{Changes: []engine.Group{change(qos.KindPFC.Attr(), 0, ""), change(qos.KindMTU.Attr(), 0, "no way"), change(qos.KindTrust.Attr(), 0, "nor this")}}, engine.Blocked, "leaf1: the plan has changes that cannot be made: MTU of Ethernet0,Ethernet8: no way (1 more)"},
		"too much":       {engine.DevicePlan{Changes: []engine.Group{change(qos.KindPFC.Attr(), qos.ImpactPortFlap, "")}}, engine.Refused, "leaf1: the plan disturbs more than allowed: port-flap, allowed is counters"},
	} {
		c.plan.Name = "leaf1"
		got := summaryOf(&c.plan, 0, 0).outcome(qos.ImpactCounters, false)
		if got.State != c.state || (got.Error == nil) != (c.err == "") || got.Error != nil && got.Error.Error() != c.err || got.Device != "leaf1" {
			t.Errorf("%s: %+v, want %s, %q", name, got, c.state, c.err)
		}
	}
}

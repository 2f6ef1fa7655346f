package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim/eos"
	"github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// fabric is an intent, and a lab with its devices.
type fabric struct {
	f  *fleet.Fabric
	l  *lab.Lab
	at *fleet.Access
}

// load reads an intent.
func load(t testing.TB, text string) *fleet.Fabric {
	t.Helper()
	f, err := fleet.Load(t.Context(), "-", fleet.LoadOptions{Stdin: strings.NewReader(text), Name: "fabric.yaml", Take: fleet.TakeAll})
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return f
}

// start starts the devices of an intent in factory state or with the configurations in o.
func start(t testing.TB, text string, o lab.Options) *fabric {
	t.Helper()
	f := load(t, text)
	l, err := lab.Start(f.Fabric(), t.TempDir(), o)
	if err != nil {
		t.Fatalf("lab: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fabric{f, l, &fleet.Access{At: l.At}}
}

// apply applies the intent to all devices.
func (x *fabric) apply(t testing.TB) {
	t.Helper()
	if wrong := x.tryApply(t); len(wrong) > 0 {
		t.Fatalf("apply: %s", strings.Join(wrong, "\n"))
	}
}

// tryApply applies the intent and returns the failures.
func (x *fabric) tryApply(t testing.TB) (wrong []string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	devices, _ := x.f.Devices(x.at)
	plan, err := fleet.Prepare(ctx, devices, fleet.PlanOptions{Fabric: x.f.Fabric(), Workers: 4})
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	defer plan.Close()
	r, err := fleet.Apply(ctx, devices, plan, fleet.ApplyOptions{
		RunOptions: fleet.RunOptions{Fabric: x.f.Fabric(), Store: store.Dir(t.TempDir())}, Allow: qos.ImpactReload,
	})
	if r != nil {
		for _, o := range r.Outcomes {
			if o.Error != nil {
				wrong = append(wrong, fmt.Sprintf("%s %s: %v", o.Device, o.State, o.Error))
			}
		}
	}
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	return wrong
}

// differs lists the changes that a plan would make.
func (x *fabric) differs(t testing.TB) (out []string) {
	t.Helper()
	devices, _ := x.f.Devices(x.at)
	err := fleet.Plan(t.Context(), devices, fleet.PlanOptions{Fabric: x.f.Fabric(), Workers: 4}, func(d *fleet.DevicePlan) error {
		if d.Error != nil {
			return d.Error
		}
		for _, g := range d.Changes {
			if strings.HasPrefix(g.Path(), "unit") {
				continue // the boot unit of a host, which these fabrics accept to be missing
			}
			out = append(out, fmt.Sprintf("%s %s: %s -> %s", d.Name, g.Path(), g.Old, g.New))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	return out
}

// validate returns the findings of `roce-fabric validate`.
func (x *fabric) validate(t testing.TB, o fleet.ValidateOptions) []checks.Finding {
	t.Helper()
	o.Workers = 4
	v, err := fleet.Validate(t.Context(), x.f, x.at, o)
	if err != nil {
		t.Fatalf("validate: %v", err)
	}
	return v.Findings
}

// counts returns the findings above info that are not suppressed.
func counts(fs []checks.Finding) (out []string) {
	for _, f := range fs {
		if f.Severity != checks.Info && f.Suppressed == nil {
			out = append(out, said(f))
		}
	}
	return out
}

func said(f checks.Finding) string {
	return fmt.Sprintf("%s %s %s: %s", f.Severity, f.ID, f.Place(), f.What)
}

// keep saves the state of all devices of the lab; back restores it.
func (x *fabric) keep(t testing.TB) (back func()) {
	var all []func() error
	for _, name := range slices.Concat(x.l.Names(), x.l.HostNames()) {
		all = append(all, x.l.Keep(name))
	}
	return func() {
		for _, f := range all {
			if err := f(); err != nil {
				t.Error(err)
			}
		}
	}
}

// running returns the configuration that a switch shows, for people who write faults.
func (x *fabric) running(name string) string {
	switch s := x.l.Switches[name].(type) {
	case *eos.EOS:
		return s.Running()
	case *nxos.NXOS:
		return s.Running()
	case *sonic.Switch:
		var b strings.Builder
		c := s.Config()
		for _, table := range natural.Keys(c) {
			for _, key := range natural.Keys(c[table]) {
				fmt.Fprintf(&b, "%s|%s", table, key)
				for _, f := range natural.Keys(c[table][key]) {
					fmt.Fprintf(&b, " %s=%s", f, c[table][key][f])
				}
				b.WriteByte('\n')
			}
		}
		return b.String()
	}
	return ""
}

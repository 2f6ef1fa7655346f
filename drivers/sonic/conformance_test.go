package sonic

import (
	"context"
	"flag"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// The models of the tests: a traditional one that the config updater knows, one that it does not
// know, and one with the dynamic buffer model.
const (
	known   = "Arista-7060X6-64PE-O128S2"
	unknown = "DellEMC-Z9332f-O32"
	dynamic = "ACS-MSN4700"
	// td2 is a model that the config updater of every release knows.
	td2 = "Force10-S6000"
)

func conform(t *testing.T, o boxOptions, only ...string) {
	drivertest.Run(t, drivertest.Fixture{Only: only, New: func(t *testing.T, d drivertest.Options) *drivertest.Device {
		o := o
		o.test = d
		return newBox(t, o).device()
	}})
}

// TestConformance runs the whole suite for the configurations whose rules and ways in differ most;
// TestEveryRelease runs it for all others in make nightly.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]boxOptions{
		"green fields only, dynamic buffers, gnmi alone": {model: dynamic, release: "202505"},
		"newest rules, traditional buffers, with ssh":    {model: known, release: "master", ssh: true},
		"ssh alone, traditional buffers":                 {model: unknown, release: "202311", alone: true},
		"write: direct, dynamic buffers":                 {model: dynamic, release: "202511", direct: true},
	} {
		if testing.Short() && o.release != "master" && !o.alone {
			continue // the other ways in run the same goroutines
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conform(t, o)
		})
	}
}

var matrix = flag.Bool("matrix", sharedtest.Nightly(), "run the whole suite on every release, model and way in (8 minutes)")

// TestEveryRelease repeats the most visible tests on every release and every transport, each with
// another buffer model; with -matrix, it runs the whole suite for all combinations.
func TestEveryRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("many combinations of one kind, in one goroutine each")
	}
	only := []string{"two plans of one state are the same bytes", "plan is empty after apply and a restart", "foreign objects survive apply and revert", "each port flaps at most once"}
	if *matrix {
		only = nil
	}
	models := []string{known, unknown, dynamic}
	ways := []struct {
		name string
		boxOptions
	}{
		{"gnmi", boxOptions{}}, {"gnmi+ssh", boxOptions{ssh: true}}, {"ssh", boxOptions{alone: true}}, {"direct", boxOptions{direct: true}},
	}
	for r, release := range simsonic.Releases {
		for m, model := range models {
			for w, way := range ways {
				if !*matrix && (r+w)%len(models) != m {
					continue
				}
				o := way.boxOptions
				o.model, o.release = model, release
				t.Run(release+"/"+model+"/"+way.name, func(t *testing.T) {
					if *matrix {
						t.Parallel() // most of the time is spent waiting
					}
					conform(t, o, only...)
				})
			}
		}
	}
}

func (b *box) plan(d *driver) (*drivers.Snapshot, *drivers.Steps) {
	b.t.Helper()
	ctx := context.Background()
	facts, err := d.Probe(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	snap, err := d.Read(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	st, err := d.Plan(facts, snap, b.desired, b.policy)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := drivertest.Repeatable(st, func() (*drivers.Steps, error) { return d.Plan(facts, snap, b.desired, b.policy) }); err != nil {
		b.t.Fatal(err)
	}
	return snap, st
}

func (b *box) apply(d *driver) (*drivers.Token, *drivers.Steps) {
	b.t.Helper()
	snap, st := b.plan(d)
	tok, err := d.Apply(context.Background(), snap, st, drivers.ApplyOptions{ID: "test"})
	if err != nil {
		b.t.Fatal(err)
	}
	return tok, st
}

// TestBlockedChanges: with gNMI alone, exactly these changes to a switch in its factory state are
// blocked; with SSH, none is.
func TestBlockedChanges(t *testing.T) {
	for _, release := range simsonic.Releases {
		rel, _ := native.LookupRelease(release)
		for _, model := range []string{known, unknown, dynamic} {
			t.Run(release+"/"+model, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBox(t, boxOptions{model: model, release: release})
					_, st := b.plan(b.open())
					want := map[string]bool{}
					for _, p := range b.ports {
						// The factory configuration has no row of PFC_WD, and the updater rejects
						// the first.
						want["ports["+p+"].watchdog"] = true
						if rel.WRED != native.WREDFree {
							// Yellow and red thresholds change as well.
							want["ports["+p+"].queues[3].ecn"] = true
						}
					}
					want["watchdog_poll"] = true
					for _, c := range st.Blocked() {
						if !want[c.Path()] {
							t.Errorf("blocked: %s: %s", c.Path(), c.Blocked)
						}
						delete(want, c.Path())
						if why, todo, ok := strings.Cut(c.Blocked, "; "); !ok || !strings.HasPrefix(why, "gNMI will be refused: the config updater") || !strings.Contains(todo, "ssh") {
							t.Errorf("%s does not say why and what to do: %q", c.Path(), c.Blocked)
						}
					}
					for p := range want {
						t.Errorf("not blocked: %s", p)
					}
					b = newBox(t, boxOptions{model: model, release: release, ssh: true})
					if _, st = b.plan(b.open()); len(st.Blocked()) > 0 {
						t.Errorf("blocked with ssh: %v", st.Blocked())
					}
				})
			})
		}
	}
}

func withoutWRED(cfg map[string]map[string]map[string]string) {
	delete(cfg, "WRED_PROFILE")
	for _, row := range cfg["QUEUE"] {
		delete(row, "wred_profile")
	}
}

// withPoll adds the watchdog row that only a command can create.
func withPoll(cfg map[string]map[string]map[string]string) {
	cfg["PFC_WD"] = map[string]map[string]string{"GLOBAL": {"POLL_INTERVAL": "200"}}
}

func TestCreatingAWREDProfile(t *testing.T) {
	edit := func(cfg map[string]map[string]map[string]string) { withoutWRED(cfg); withPoll(cfg) }
	find := func(st *drivers.Steps, field string) (out []qos.Change) {
		for _, c := range st.Changes {
			if c.Field.String() == field {
				out = append(out, c)
			}
		}
		return out
	}
	t.Run("202405 refuses over gNMI, and the plan says so", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBox(t, boxOptions{model: td2, release: "202405", edit: edit})
			d := b.open()
			_, st := b.plan(d)
			ecn := find(st, "queues[3].ecn")
			if len(ecn) != 4 || len(st.Blocked()) != 4 {
				t.Fatalf("changes %v, blocked %v", ecn, st.Blocked())
			}
			for _, say := range []string{"gNMI will be refused", "SONiC 202405", "not create WRED_PROFILE|AZURE_LOSSLESS", "configure ssh", "202511"} {
				if !strings.Contains(ecn[0].Blocked, say) {
					t.Errorf("%q does not say %q", ecn[0].Blocked, say)
				}
			}
			// The rest of the plan can be applied without it.
			b.apply(d)
			if len(b.config()[native.TWRED]) != 0 {
				t.Error("a profile was written")
			}
		})
	})
	for _, o := range []boxOptions{{release: "202511"}, {release: "202405", ssh: true}} {
		t.Run(o.release+" takes it", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o.model, o.edit = td2, edit
				b := newBox(t, o)
				d := b.open()
				_, st := b.apply(d)
				if len(st.Blocked()) > 0 {
					t.Errorf("blocked: %v", st.Blocked())
				}
				if got := b.config().Row(native.TWRED, "AZURE_LOSSLESS")["green_max_threshold"]; got != "1500000" {
					t.Errorf("green_max_threshold %q", got)
				}
				if bad, err := d.Applied(context.Background(), b.desired); err != nil || len(bad) > 0 {
					t.Errorf("in force: %v, %v", bad, err)
				}
			})
		})
	}
}

// TestIntentChanges changes from one intent to another and back.
func TestIntentChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		model   string
		replace []string
		check   func(*testing.T, *box, *drivers.Steps)
	}{
		"trust pcp": {known, []string{"mtu: {", "trust: pcp\nmtu: {", "dscp: [26]", "pcp: [3]", "dscp: [48]", "pcp: [6]"}, func(t *testing.T, b *box, _ *drivers.Steps) {
			row := b.config().Row(native.TPortQoS, b.ports[0])
			if row["dscp_to_tc_map"] != "" || row["dot1p_to_tc_map"] == "" {
				t.Errorf("PORT_QOS_MAP %v", row)
			}
		}},
		"no watchdog": {known, []string{"  watchdog: {detect: 400ms, restore: 400ms, action: drop}", "  watchdog: off"}, func(t *testing.T, b *box, _ *drivers.Steps) {
			for _, p := range b.ports {
				if row := b.config().Row(native.TWatchdog, p); row != nil {
					t.Errorf("%s %v", p, row)
				}
			}
		}},
		"another watchdog action": {known, []string{"action: drop", "action: forward"}, func(t *testing.T, b *box, st *drivers.Steps) {
			if got := b.config().Row(native.TWatchdog, b.ports[0])["action"]; got != "forward" {
				t.Errorf("action %q", got)
			}
			if len(st.Items) != 2 {
				t.Errorf("%d steps, want the row removed and added", len(st.Items))
			}
		}},
		"a class less": {known, []string{"  cnp: {priority: 6, dscp: [48], strict: true}\n", ""}, func(t *testing.T, b *box, st *drivers.Steps) {
			cfg := b.config()
			if m := cfg.Row(native.TDSCPToTC, cfg.Row(native.TPortQoS, b.ports[0])["dscp_to_tc_map"]); m["48"] != "0" {
				t.Errorf("DSCP 48 goes to %s", m["48"])
			}
			if cfg.Row(native.TScheduler, "roce.cnp") == nil || !strings.Contains(strings.Join(st.Notes, "\n"), "roce.cnp stays bound") {
				t.Errorf("notes %q", st.Notes)
			}
			for _, s := range st.Items {
				if len(s.Down) > 0 {
					t.Errorf("%s takes down %v", s.What, s.Down)
				}
			}
		}},
		"another ECN curve, dynamic buffers": {dynamic, []string{"min: 150KB", "min: 200KB"}, func(t *testing.T, b *box, st *drivers.Steps) {
			if len(st.Items) != 1 || len(st.Items[0].Down) != 0 || st.Impact() != qos.ImpactNone {
				t.Errorf("a threshold takes steps %v, impact %s", st.Items, st.Impact())
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{model: tc.model, release: "202511", edit: withPoll})
				d := b.open()
				b.apply(d)
				first, was := b.desired, b.state()
				b.desired = compile(t, fabric(b.model, "202511", tc.replace...))
				tok, st := b.apply(d)
				tc.check(t, b, st)
				if _, again := b.plan(d); len(again.Changes)+len(again.Items) > 0 {
					t.Errorf("still to do: %v", again.Changes)
				}
				if err := d.Revert(context.Background(), tok); err != nil {
					t.Fatal(err)
				}
				b.desired = first
				if _, again := b.plan(d); len(again.Changes) > 0 || string(b.state()) != string(was) {
					t.Errorf("after revert: %v", again.Changes)
				}
			})
		})
	}
}

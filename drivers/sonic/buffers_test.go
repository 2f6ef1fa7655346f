package sonic

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// secondClass holds the replacements that add a lossless class with priority 4 to the intent of a
// test.
var secondClass = []string{"  cnp: {priority: 6", "  storage: {priority: 4, dscp: [34], lossless: true, bandwidth: 20%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}\n  cnp: {priority: 6", "bandwidth: 40%", "bandwidth: 20%"}

// groupBuffer returns the buffer profile that ASIC_DB has for a priority group.
func (b *box) groupBuffer(port string, group int) string {
	oid := b.DB("COUNTERS_DB")["COUNTERS_PG_NAME_MAP"][""][fmt.Sprintf("%s:%d", port, group)]
	return b.DB("ASIC_DB")["ASIC_STATE"]["SAI_OBJECT_TYPE_INGRESS_PRIORITY_GROUP:"+oid]["SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE"]
}

// watchGroup records the ports that are up while their priority group has no buffer.
func (b *box) watchGroup(group int) (lost func() []string) {
	var mu sync.Mutex
	seen := map[string]bool{}
	b.Faults().OnEvent(func(e simsonic.Event) {
		if e == simsonic.Asked || e == simsonic.Queued {
			return
		}
		cfg := b.Config()
		for _, port := range b.ports {
			if cfg["PORT"][port]["admin_status"] == "up" && b.groupBuffer(port, group) == "oid:0x0" {
				mu.Lock()
				seen[port] = true
				mu.Unlock()
			}
		}
	})
	return func() (ports []string) {
		b.Faults().OnEvent(nil)
		mu.Lock()
		defer mu.Unlock()
		for _, port := range b.ports {
			if seen[port] {
				ports = append(ports, port)
			}
		}
		return ports
	}
}

// classes returns the replacements for an intent with or without the second class.
func classes(second bool) []string {
	if second {
		return secondClass
	}
	return nil
}

// runningClasses starts a switch that runs the first class, or both.
func runningClasses(t *testing.T, o boxOptions, both bool) (*box, *driver) {
	t.Helper()
	o.intent = classes(both)
	b := newBox(t, o)
	d := b.open()
	tok, _ := b.apply(d)
	if err := d.Confirm(t.Context(), tok); err != nil {
		t.Fatal(err)
	}
	return b, d
}

// TestRunningClassAndItsBuffer: a second lossless class is added and removed, by an apply and by
// its revert. While a port is up, the first class keeps its buffer, or the plan announces that it
// loses it.
func TestRunningClassAndItsBuffer(t *testing.T) {
	if testing.Short() {
		t.Skip("many combinations of one kind, in one goroutine each")
	}
	for _, release := range []string{"202405", "202511"} {
		for way, o := range map[string]boxOptions{"gnmi": {}, "direct": {direct: true}} {
			for _, model := range []string{known, dynamic} {
				for _, both := range []bool{false, true} { // both: both classes run at first
					t.Run(fmt.Sprintf("%s/%s/%s/both first %v", release, way, model, both), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							o := o
							o.model, o.release, o.edit = model, release, withPoll
							b, d := runningClasses(t, o, both)
							was := string(b.state())
							b.bothBound(both)
							b.desired = compile(t, fabric(b.model, release, classes(!both)...))
							lost := b.watchGroup(3)
							tok, st := b.apply(d)
							said := sufferers(st, b.ports)
							for _, port := range lost() {
								if !said[port] {
									t.Errorf("%s: rdma lost its buffer, and the plan does not say so: %q", port, st.Notes)
								}
							}
							b.bothBound(!both)
							// Over SSH, no port goes down, and the row that buffermgrd leaves
							// stays.
							if left := way == "direct" && model == known && !both; b.doubled() != left {
								t.Errorf("two rows name one group: %v, want %v; rows %v", b.doubled(), left, b.groupRows(b.ports[0]))
							}
							if _, again := b.plan(d); len(again.Items) > 0 {
								t.Errorf("still to do: %v", again.Changes)
							}
							if err := d.Confirm(t.Context(), tok); err != nil {
								t.Fatal(err)
							}
							b.rollBack(tok)
							b.bothBound(both)
							b.compare("configuration", was, string(b.state()))
						})
					})
				}
			}
		}
	}
}

// sufferers returns the ports for which a plan announces that the class rdma loses its buffer.
func sufferers(st *drivers.Steps, ports []string) map[string]bool {
	out := map[string]bool{}
	for _, n := range st.Notes {
		if strings.Contains(n, "class rdma (priority group 3) has no buffer on "+natural.Fold(ports)) && st.Impact() >= qos.ImpactLoss {
			for _, p := range ports {
				out[p] = true
			}
		}
	}
	return out
}

// bothBound checks that group 3 has a buffer, and that group 4 has one only if second is set.
func (b *box) bothBound(second bool) {
	b.t.Helper()
	for _, port := range b.ports {
		if got := b.groupBuffer(port, 3); got == "oid:0x0" {
			b.t.Errorf("%s: group 3 has no buffer; rows %v", port, b.groupRows(port))
		}
		if got := b.groupBuffer(port, 4); (got != "oid:0x0") != second {
			b.t.Errorf("%s: group 4 has %s, want a buffer: %v; rows %v", port, got, second, b.groupRows(port))
		}
	}
}

func (b *box) groupRows(port string) (rows []string) {
	for key, row := range b.config()[native.TGroup] {
		if strings.HasPrefix(key, port+"|") {
			rows = append(rows, key+" "+row["profile"])
		}
	}
	return rows
}

// doubled reports whether two rows of a port name the same group.
func (b *box) doubled() bool {
	return slices.ContainsFunc(native.Account(b.config()), func(l render.Line) bool { return l.Check == "BUF-18" })
}

// TestPortsChangeAsPFCDoes: buffermgrd makes the groups of a port when its row or admin state
// changes, for the priorities that pause at that moment. A class that is removed at the same time,
// by an apply or by its revert, leaves no buffer behind.
func TestPortsChangeAsPFCDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("many combinations of one kind, in one goroutine each")
	}
	for _, release := range []string{"202311", "202511"} {
		for way, o := range map[string]boxOptions{"gnmi": {}, "direct": {direct: true}} {
			for _, down := range []bool{false, true} {
				for _, both := range []bool{false, true} { // both: both classes run at first
					t.Run(fmt.Sprintf("%s/%s/down first %v/both first %v", release, way, down, both), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							o := o
							o.model, o.release, o.edit = known, release, withPoll
							b, d := runningClasses(t, o, both)
							b.bothBound(both)
							if down {
								for _, port := range b.ports {
									row := maps.Clone(b.Config()["PORT"][port])
									row["admin_status"] = "down"
									b.SetRow("PORT", port, row)
								}
							}
							b.desired = compile(t, fabric(b.model, release, classes(!both)...))
							for _, p := range b.desired.Ports {
								p.MTU, p.AdminUp = qos.Of(4096), qos.Of(true)
							}
							tok, _ := b.apply(d)
							b.bothBound(!both)
							if _, again := b.plan(d); len(again.Items) > 0 {
								t.Errorf("still to do: %v", again.Changes)
							}
							if err := d.Confirm(t.Context(), tok); err != nil {
								t.Fatal(err)
							}
							b.rollBack(tok)
							if !down { // NVIDIA unbinds the groups of a port that is down
								b.bothBound(both)
							}
						})
					})
				}
			}
		}
	}
}

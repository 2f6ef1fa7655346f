package validate

import (
	"reflect"
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/known"
)

// source returns the data that a pair changes: the intent, the configuration of a switch, or
// the state that the switch shows.
func (p pair) source(t *testing.T) checks.Reads {
	t.Helper()
	if p.config == "" {
		return checks.ReadsIntent
	}
	if p.edit == nil {
		return checks.ReadsRunning
	}
	text := bases["clos"]
	if p.base != "" {
		text = bases[p.base]
	}
	c := compile(t, text)
	d := c.Device(c.Fabric().Switch(p.config))
	var have [2]*qos.Device
	var state [2]checks.State
	for i := range have {
		have[i] = decoded(t, saved(d))
		state[i].Ports = portsUp(d)
		for _, q := range have[i].Ports {
			q.AdminUp = qos.Of(true)
		}
	}
	p.edit(have[1], &state[1])
	var out checks.Reads
	// Some fields of State are about the configuration itself.
	ofConfig := func(s *checks.State) []any { return []any{s.Unknown, s.Account != nil, s.Unsaved, s.NotSaved} }
	if !reflect.DeepEqual(have[0], have[1]) || !reflect.DeepEqual(ofConfig(&state[0]), ofConfig(&state[1])) {
		out |= checks.ReadsRunning
	}
	for i := range state {
		state[i].Unknown, state[i].Account, state[i].Unsaved, state[i].NotSaved = nil, nil, nil, ""
	}
	if !reflect.DeepEqual(state[0], state[1]) {
		out |= checks.ReadsApplied
	}
	if out == 0 {
		t.Errorf("the edit of a pair of %s changes nothing", p.id)
	}
	return out
}

// elsewhere lists sources whose pair is in no table, with the test that has it.
var elsewhere = []struct {
	id    string
	reads checks.Reads
	test  string
}{
	{"NIC-09", checks.ReadsRunning, "TestHostWithPCP"}, {"ECN-12", checks.ReadsNIC, "TestHosts"}, {"NIC-08", checks.ReadsNIC, "TestHosts"}, {"NIC-25", checks.ReadsNIC, "TestRoutesOfRails"},
	{"BUF-06", checks.ReadsIntent, "TestHeadroomFallingWithCableLength"}, {"PRT-02", checks.ReadsRunning, "TestRunningAggregate"},
	{"TOP-01", checks.ReadsRunning, "TestDeadlocksInRunningState"}, {"TOP-02", checks.ReadsRunning, "TestDeadlocksInRunningState"}, {"TOP-03", checks.ReadsRunning, "TestDeadlocksInRunningState"},
	{"CAT-01", checks.ReadsRunning, "TestRunningSwitchOfUnknownModel"},
	{"TOP-09", checks.ReadsIntent | checks.ReadsRunning, "TestNoLinks"},
	{"OPS-04", checks.ReadsIntent | checks.ReadsRendered, "TestRefusedIsOneFindingACause"},
	{"WD-04", checks.ReadsIntent | checks.ReadsRendered, "TestRefusedIsOneFindingACause"},
	{"READ", checks.ReadsRunning | checks.ReadsNIC, "fleet, TestUnread"},
	{"YANG", checks.ReadsRendered, "cmd/roce-fabric, check.txtar"},
	{"PFC-13", checks.ReadsRunning, "TestStrayBounces"}, {"MTU-06", checks.ReadsRunning, "TestTunnelsNeedRoom"}, {"TUN-03", checks.ReadsRunning, "TestTunnelsOfTwoKinds"},
	{"CFG-01", checks.ReadsRunning, "TestAloneNamesFaults"}, {"CFG-02", checks.ReadsRunning, "fleet, TestBrokenConfigurationsAreNamed"}, {"PRT-07", checks.ReadsRunning, "fleet, TestBrokenConfigurationsAreNamed"}, {"CLS-19", checks.ReadsRunning, "TestAloneNamesFaults"},
	{"PFC-15", checks.ReadsRunning, "TestAloneNamesFaults"}, {"WD-06", checks.ReadsRunning, "TestAloneNamesFaults"},
}

// TestEverySourceHasAPair checks that each check has, for every source that it reads, a fabric
// that triggers it there and a twin that does not, and that it declares every source that
// triggers it.
func TestEverySourceHasAPair(t *testing.T) {
	has, by := map[string]checks.Reads{}, map[string][]string{}
	note := func(id string, r checks.Reads, where string) {
		has[id] |= r
		if !slices.Contains(by[id], where) {
			by[id] = append(by[id], where)
		}
	}
	for _, p := range pairs {
		note(p.id, p.source(t), "pairs")
	}
	for _, c := range hostCases() {
		note(c.id, checks.ReadsNIC, "hostCases")
	}
	for _, c := range gateCases {
		note(c.id, checks.ReadsCounters, "gateCases")
	}
	for _, e := range elsewhere {
		note(e.id, e.reads, e.test)
	}
	for i := range known.Checks {
		note(known.Checks[i].ID, known.Checks[i].Reads, "TestKnownFaults")
	}
	for _, c := range Checks() {
		if !c.Made() {
			continue
		}
		if miss := c.Reads &^ has[c.ID]; miss != 0 {
			t.Errorf("%s claims to read %s, and no pair shows it", c.ID, miss)
		}
		if extra := has[c.ID] &^ c.Reads; extra != 0 {
			t.Errorf("%s has pairs (%s) of %s, which it does not claim to read", c.ID, by[c.ID], extra)
		}
	}
}

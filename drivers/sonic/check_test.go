package sonic

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// Plans and journals are files: whatever this tool would never write is rejected, by the same rules
// for both.
func TestUnexpectedWritesAreRejected(t *testing.T) {
	d := &driver{t: drivers.Target{Name: "leaf1"}}
	managed := func(port string) bool { return port == "Ethernet0" }
	for _, o := range []native.Op{
		{Table: native.TPort, Key: "Ethernet0", Field: "admin_status", Value: "up"},
		{Table: native.TPort, Key: "Ethernet0", Field: "mtu", Del: true},
		{Table: native.TQueue, Key: "Ethernet0|3-4", Row: native.Row{"scheduler": "scheduler.1", "wred_profile": "[WRED_PROFILE|AZURE]"}},
		{Table: native.TCable, Key: "AZURE", Field: "Ethernet0", Value: "40m"},
		{Table: native.TWatchdog, Key: "GLOBAL", Field: "POLL_INTERVAL", Value: "200"},
		{Table: native.TPortQoS, Key: "global", Row: native.Row{"dscp_to_tc_map": "AZURE"}},
		{Table: native.TScheduler, Key: "roce.rdma", Del: true},
		{Table: native.TGroup, Key: "Ethernet0|3", Row: native.Row{"profile": "pg_lossless_400000_40m_profile"}},
	} {
		if err := o.Check(managed); err != nil {
			t.Errorf("%s: %v", o, err)
		}
	}
	for name, o := range map[string]native.Op{
		"a port outside of the intent":     {Table: native.TPort, Key: "Ethernet16", Field: "admin_status", Value: "down"},
		"a field of others":                {Table: native.TPort, Key: "Ethernet0", Field: "description", Value: "x"},
		"a whole port":                     {Table: native.TPort, Key: "Ethernet0", Row: native.Row{"admin_status": "down"}},
		"no port":                          {Table: native.TPort, Key: "Ethernet0", Del: true},
		"an admin state that is none":      {Table: native.TPort, Key: "Ethernet0", Field: "admin_status", Value: "dead"},
		"a binding of another port":        {Table: native.TPortQoS, Key: "Ethernet16", Del: true},
		"a queue of another port":          {Table: native.TQueue, Key: "Ethernet16|3", Del: true},
		"a queue that is none":             {Table: native.TQueue, Key: "Ethernet0|x", Del: true},
		"the cable of another port":        {Table: native.TCable, Key: "AZURE", Field: "Ethernet16", Value: "5m"},
		"the cables of all ports":          {Table: native.TCable, Key: "AZURE", Row: native.Row{"Ethernet0": "5m", "Ethernet16": "5m"}},
		"the watchdog of another port":     {Table: native.TWatchdog, Key: "Ethernet16", Del: true},
		"the switch for all watchdogs":     {Table: native.TWatchdog, Key: "GLOBAL", Row: native.Row{"POLL_INTERVAL": "200", "BIG_RED_SWITCH": "enable"}},
		"a field of all watchdogs":         {Table: native.TWatchdog, Key: "GLOBAL", Field: "BIG_RED_SWITCH", Value: "enable"},
		"what the switch is":               {Table: native.TMetadata, Key: "localhost", Row: native.Row{"hwsku": "x"}},
		"who may log in":                   {Table: "AAA", Key: "authentication", Row: native.Row{"login": "tacacs+"}},
		"a buffer pool":                    {Table: native.TPool, Key: "ingress_lossless_pool", Row: native.Row{"size": "1"}},
		"a profile of the platform":        {Table: native.TProfile, Key: "ingress_lossy_profile", Del: true},
		"a field of a row that goes whole": {Table: native.TScheduler, Key: "roce.rdma", Field: "weight", Value: "1"},
		"a name of two words":              {Table: native.TScheduler, Key: "a b", Del: true},
		"a name with a command":            {Table: native.TScheduler, Key: "a;reboot", Del: true},
		"a name with a line":               {Table: native.TScheduler, Key: "a\nb", Del: true},
		"a value of two lines":             {Table: native.TScheduler, Key: "a", Row: native.Row{"type": "STRICT\nx"}},
	} {
		if err := o.Check(managed); err == nil {
			t.Errorf("%s: %s is taken", name, o)
		}
		raw, err := json.Marshal(batch{[]native.Op{o}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.CheckSteps([]drivers.Step{{Via: "gnmi", Native: raw}}, managed); err == nil || !strings.HasPrefix(err.Error(), "step 1 of the plan: ") {
			t.Errorf("%s in a plan: %v", name, err)
		}
		u := native.Undo{Fields: []native.Op{o}}
		if o.Field == "" {
			u = native.Undo{Rows: map[string]map[string]native.Row{o.Table: {o.Key: o.Row}}}
			if o.Del && o.Table == native.TProfile {
				continue // the switch derives them, and no record contains any
			}
		}
		refusesUndo(t, d, u, managed, name)
	}
	for name, u := range map[string]native.Undo{
		"a checkpoint elsewhere":       {Checkpoint: "roce-fabric-../../x"},
		"a checkpoint with a command":  {Checkpoint: "roce-fabric-x; reboot"},
		"a checkpoint of others":       {Checkpoint: "nightly"},
		"a group of another port":      {Groups: map[string]native.Row{"Ethernet16|3": {"profile": "pg_lossless_1_5m_profile"}}},
		"another port":                 {Ports: []string{"Ethernet16"}},
		"a profile of the platform":    {Profiles: []string{"ingress_lossy_profile"}},
		"a field of a row that is not": {Fields: []native.Op{{Table: native.TPortQoS, Key: "Ethernet0", Field: "pfc_enable", Value: "3"}}},
	} {
		refusesUndo(t, d, u, managed, name)
	}
}

func refusesUndo(t *testing.T, d *driver, u native.Undo, managed func(string) bool, name string) {
	t.Helper()
	raw, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.CheckUndo(&drivers.Token{Device: "leaf1", Native: raw}, managed); err == nil || !strings.HasPrefix(err.Error(), "undo record: ") {
		t.Errorf("%s in an undo record: %v", name, err)
	}
}

// A rollback disturbs no more at once than the intent allows, whatever the journal says.
func TestRevertKeepsToTheBoundsOfTheIntent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", ssh: true})
		tok, _ := b.apply(b.open())
		var u native.Undo
		if err := json.Unmarshal(tok.Native, &u); err != nil {
			t.Fatal(err)
		}
		u.Policy = native.Policy{PortGroup: 64}
		tok, err := drivers.NewToken("sw1", u)
		if err != nil {
			t.Fatal(err)
		}
		d := b.open()
		most, flaps := 0, 0
		d.Resume(drivers.Leftover{Record: func(down, _ []string) error {
			most, flaps = max(most, len(down)), flaps+len(down)
			return nil
		}})
		d.Bound(drivers.Policy{PortGroup: 1})
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		if most != 1 || flaps < 2 {
			t.Errorf("%d ports down at once, %d in all", most, flaps)
		}
	})
}

// In a valid undo record, rows and checkpoints have names of a single word.
func FuzzUndo(f *testing.F) {
	f.Add([]byte(`{"rows":{"QUEUE":{"Ethernet0|3":{"scheduler":"scheduler.1"},"Ethernet0|4":null}},"fields":[{"table":"PORT","key":"Ethernet0","field":"admin_status","value":"up"}],"ports":["Ethernet0"],"checkpoint":"roce-fabric-x"}`))
	f.Add([]byte(`{"rows":{"DEVICE_METADATA":{"localhost":{"hwsku":"x"}}},"groups":{"Ethernet0":null},"profiles":["pg_lossless_\n"],"checkpoint":"../x"}`))
	f.Add([]byte(`{"fields":[{"table":"PORT","key":"Ethernet0|x","field":"admin_status","del":true},{"table":"CABLE_LENGTH","key":"AZURE","field":"Ethernet0;x"}]}`))
	d := &driver{t: drivers.Target{Name: "leaf1"}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		u, err := d.undo(&drivers.Token{Device: "leaf1", Native: raw}, nil)
		if err != nil {
			return
		}
		for _, round := range []func(native.Config) []native.Op{u.Written, u.Derived, u.Leftover} {
			for _, o := range round(native.Config{native.TPort: {"Ethernet0": {"admin_status": "up"}}}) {
				if strings.ContainsAny(o.Table+o.Key+o.Field, " ;'\"\n\r\x00") {
					t.Errorf("%q is written", o)
				}
			}
		}
	})
}

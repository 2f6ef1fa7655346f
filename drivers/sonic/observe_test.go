package sonic

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

func TestObserveShowsLinksAndNeighbours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: "ACS-MSN4700", release: "202511"})
		d := b.open()
		observe := func() *drivers.Observation {
			t.Helper()
			o, err := d.Observe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		// Without the lldp container there is no table at all.
		o := observe()
		p := o.Ports["Ethernet0"]
		if len(o.Ports) != 8 || p == nil || p.Neighbors != nil || !p.AdminUp.V || p.MTU.V != 9100 || p.Speed != qos.Of(units.Rate(400e9)) || p.Alias != b.model.Ports[0].Alias {
			t.Fatalf("%d ports, %+v", len(o.Ports), p)
		}

		b.SetNeighbor("Ethernet0", "spine1", "etp7")
		b.SetNeighbor("Ethernet8", "gone", "etp8")
		b.SetNeighbor("Ethernet8", "", "")
		b.SetNeighbor("eth0", "management", "Ethernet1")
		b.SetDBRow("APPL_DB", "LLDP_ENTRY_TABLE", "Ethernet16", map[string]string{"lldp_rem_chassis_id": "52:54:00:00:00:01", "lldp_rem_port_desc": "eth1"})
		b.SetDBRow("APPL_DB", "PORT_TABLE", "PortConfigDone", map[string]string{"count": "8"})
		b.SetDBRow("APPL_DB", "PORT_TABLE", "Ethernet24", map[string]string{"speed": "-1", "mtu": "many", "oper_status": "down"})
		o = observe()
		for port, want := range map[string][]qos.Neighbor{
			"Ethernet0": {{Device: "spine1", Port: "etp7"}}, "Ethernet8": nil, "Ethernet16": {{Device: "52:54:00:00:00:01", Port: "eth1"}},
		} {
			if got := o.Ports[port].Neighbors; len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
				t.Errorf("%s sees %v, not %v", port, got, want)
			}
		}
		if p := o.Ports["Ethernet24"]; len(o.Ports) != 8 || p.Speed.Set || p.MTU.Set || p.OperUp != qos.Of(false) {
			t.Errorf("%d ports, %+v", len(o.Ports), p)
		}

		run := &qos.Device{Ports: map[string]*qos.Port{"Ethernet0": {}, "Ethernet8": {Speed: qos.Of(units.Rate(100e9))}, "Ethernet999": {}}}
		o.Complete(run)
		if run.Ports["Ethernet0"].Neighbor.V.Device != "spine1" || run.Ports["Ethernet0"].Speed.V != 400e9 || run.Ports["Ethernet8"].Speed.V != 100e9 || run.Ports["Ethernet8"].Neighbor.Set {
			t.Errorf("%+v", run.Ports)
		}

		b.Faults().RefuseConnections(true)
		_ = d.Close() // forces a new connection
		if _, err := d.Observe(context.Background()); !errors.Is(err, drivers.ErrUnreachable) {
			t.Errorf("a switch that is not there: %v", err)
		}
	})
}

func TestObserveShowsSpeedAndFECThatRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: "ACS-MSN4700", release: "202511"})
		d := b.open()
		for port, row := range map[string]map[string]string{
			"Ethernet0": {"fec": "rs", "autoneg": "off"}, "Ethernet8": {"fec": "auto", "autoneg": "on"}, "Ethernet16": {"fec": "rs"}, "Ethernet24": {"fec": "fc"},
		} {
			b.SetDBRow("APPL_DB", "PORT_TABLE", port, row)
		}
		for port, row := range map[string]map[string]string{
			"Ethernet0": {"fec": "rs", "speed": "400000"}, "Ethernet8": {"fec": "none", "speed": "100000"}, "Ethernet16": {"fec": "N/A", "speed": "N/A"}, "Ethernet24": {"fec": "fc", "speed": "25000"},
		} {
			b.SetDBRow("STATE_DB", "PORT_TABLE", port, row)
		}
		b.Unplug("Ethernet24", true) // the old operating values stay in the table
		o, err := d.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		none := qos.Opt[string]{}
		for port, want := range map[string]drivers.PortState{
			"Ethernet0":  {Speed: qos.Of(units.Rate(400e9)), FEC: qos.Of("rs"), AdminFEC: qos.Of("rs"), Autoneg: qos.Of(false)},
			"Ethernet8":  {Speed: qos.Of(units.Rate(100e9)), FEC: qos.Of("none"), AdminFEC: qos.Of("auto"), Autoneg: qos.Of(true)},
			"Ethernet16": {Speed: qos.Of(units.Rate(400e9)), FEC: none, AdminFEC: qos.Of("rs")},
			"Ethernet24": {Speed: qos.Of(units.Rate(400e9)), FEC: none, AdminFEC: qos.Of("fc")},
		} {
			p := o.Ports[port]
			if p.Speed != want.Speed || p.FEC != want.FEC || p.AdminFEC != want.AdminFEC || p.Autoneg != want.Autoneg {
				t.Errorf("%s: speed %v fec %v configured %v autoneg %v, want %+v", port, p.Speed, p.FEC, p.AdminFEC, p.Autoneg, want)
			}
		}
	})
}

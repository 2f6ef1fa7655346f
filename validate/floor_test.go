package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/headroom"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// TestCableFloor checks that a lossless cable that no headroom of the switch covers is an error
// on every system, whatever is known about its buffers.
func TestCableFloor(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand fabrics")
	}
	ports := map[string]string{} // by model
	kinds := map[string]string{
		"eos": "os: eos", "nxos": "os: nxos", "eos with a model": "os: eos, model: DCS-7060DX5-64S",
		"sonic without a model": "os: sonic", "sonic with an unknown model": "os: sonic, model: Frobnicator-9000",
	}
	for _, name := range catalog.Models() {
		for _, buffers := range []string{"traditional", "dynamic"} {
			if m, ok := catalog.Lookup(name); ok {
				if _, deep := m.NextCable(units.Rate(400e9), 40000); !deep || buffers == "dynamic" {
					if len(m.Ports) > 0 {
						ports[name+" "+buffers] = m.Ports[0].Name
					}
					kinds[name+" "+buffers] = "os: sonic, bufferModel: " + buffers + ", model: " + name
				}
			}
		}
	}
	for name, sw := range kinds {
		port := "Ethernet1/1"
		if strings.HasPrefix(sw, "os: sonic") {
			port = cmp.Or(ports[name], "Ethernet0")
		}
		text := func(cable string) string {
			return strings.NewReplacer("os: sonic, address: \"192.0.2.1:8080\", model: DellEMC-Z9332f-O32", sw,
				"leaf1/Ethernet[0,8]", "leaf1/"+port, "leaf2/Ethernet[0,8]", "leaf2/Ethernet0", "cable: 40m", "cable: "+cable).Replace(base)
		}
		long := func(f checks.Finding) bool {
			return slices.Contains([]string{"BUF-01", "BUF-03", "BUF-04"}, f.ID) && f.Severity == checks.Error && f.Device == "leaf1"
		}
		fs := static(t, text("40000m"))
		if !slices.ContainsFunc(fs, long) {
			t.Errorf("%s: 40 km of lossless cable at 400G is no error: %v", name, fs)
		}
		if !strings.Contains(name, " dynamic") && !strings.Contains(name, " traditional") {
			if fs := static(t, text("300m")); slices.ContainsFunc(fs, long) {
				t.Errorf("%s: 300 m: %v", name, fs)
			}
		}
	}
}

// TestMostOnChip checks that the limit for switches with unknown headroom is the largest value
// in the published tables.
func TestMostOnChip(t *testing.T) {
	var most int64
	of := ""
	for _, name := range catalog.Models() {
		m, ok := catalog.Lookup(name)
		if !ok || m.ASIC().External {
			continue
		}
		for _, row := range m.Headroom {
			if row.XOFF > most {
				most, of = row.XOFF, fmt.Sprint(name, " ", row.Speed, " ", row.Cable)
			}
		}
	}
	if most != headroom.MostOnChip {
		t.Errorf("the largest headroom without external memory is %d B (%s), not %d B", most, of, int64(headroom.MostOnChip))
	}
}

// TestNoLinks checks that an intent without links makes the checks of two ends inconclusive.
func TestNoLinks(t *testing.T) {
	text, _, _ := strings.Cut(base, "links:")
	fs := static(t, text)
	if len(fs) != 1 || fs[0].ID != "TOP-09" || !fs[0].Inconclusive() || !slices.Contains(fs[0].NotMade, "PFC-01") || checks.Count(fs).Inconclusive != 1 {
		t.Errorf("an intent without links: %+v", fs)
	}
	if fs := beyondPeers(static(t, base)); len(fs) > 0 {
		t.Errorf("with links: %v", fs)
	}
}

// TestChecksNotMadeForMissingData checks that missing data is one finding that lists the checks
// that were not made, for values in force and for the model.
func TestChecksNotMadeForMissingData(t *testing.T) {
	fs := beyondPeers(static(t, strings.ReplaceAll(base, ", model: DellEMC-Z9332f-O32", "")))
	if len(fs) != 2 || fs[0].ID != "CAT-01" || fs[0].Unchecked != "ports, buffers and headroom" || !slices.Equal(fs[0].NotMade, []string{"BUF-01", "BUF-03", "BUF-04", "BUF-05", "BUF-06", "BUF-10", "BUF-14", "BUF-17"}) {
		t.Errorf("without a model: %+v", fs)
	}
	c := compile(t, closBase)
	d := c.Device(c.Fabric().Switch("leaf1"))
	run := NewRun(c.Fabric())
	run.Add(Switch(d, decoded(t, saved(d)), checks.Running, &checks.State{NotInForce: "ASIC_DB has no ports"}))
	fs = slices.DeleteFunc(run.Findings(today), func(f checks.Finding) bool { return f.ID != "OPS-02" })
	if len(fs) != 1 || fs[0].Unchecked != "values in force" || !slices.Equal(fs[0].NotMade, []string{"BUF-15", "MTU-05", "OPS-02", "PFC-10"}) {
		t.Errorf("without a state: %+v", fs)
	}
}

// TestRunningSwitchOfUnknownModel checks that the buffers of a switch whose model is unknown are
// inconclusive: the switch shows its values, but only the catalogue has those of the platform.
func TestRunningSwitchOfUnknownModel(t *testing.T) {
	for _, c := range []struct {
		model string
		rows  []qos.HeadroomRow
		want  []string
	}{
		{"DellEMC-Z9332f-O32", nil, nil},
		{"Z1", nil, []string{"buffer pools, alpha, headroom"}},
		{"Z1", []qos.HeadroomRow{{}}, []string{"buffer pools, alpha"}},
	} {
		comp := compile(t, strings.ReplaceAll(base, "DellEMC-Z9332f-O32", c.model))
		d := comp.Device(comp.Fabric().Switch("leaf1"))
		have := decoded(t, saved(d))
		have.Hardware.Rows = c.rows
		run := NewRun(comp.Fabric())
		run.Add(Switch(d, have, checks.Running, nil))
		var got []string
		for _, f := range run.Findings(today) {
			if f.ID == "CAT-01" {
				got = append(got, f.Unchecked)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, %d rows: %q, want %q", c.model, len(c.rows), got, c.want)
		}
	}
}

// TestTrustPCP checks that a port that trusts PCP as intended has no errors about its DSCPs.
func TestTrustPCP(t *testing.T) {
	text := strings.Replace(closBase, "address: \"192.0.2.11:8080\",", "address: \"192.0.2.11:8080\", ports: {Ethernet0: {trust: pcp}},", 1)
	c := compile(t, text)
	run := NewRun(c.Fabric())
	for _, sw := range c.Fabric().Switches {
		d := c.Device(sw)
		run.Add(Switch(d, decoded(t, saved(d)), checks.Running, nil))
	}
	for _, f := range run.Findings(today) {
		if f.Severity == checks.Error {
			t.Errorf("%s %s: %s", f.ID, f.Place(), f.What)
		}
	}
}

// TestHeadroomNotShown checks that BUF-01 counts as not made if headroom is not shown, unless
// another port has headroom, speed and cable.
func TestHeadroomNotShown(t *testing.T) {
	for spare, open := range map[string]bool{"speed: 400G": true, "cable: 5m": true, "speed: 400G, cable: 5m": false} {
		c := compile(t, strings.Replace(base, "8080\", model: DellEMC-Z9332f-O32}\n  leaf2", "8080\", ports: {Ethernet16: {"+spare+"}}}\n  leaf2", 1))
		fs := ran(t, c, func(d *qos.Device) {
			d.Ports["Ethernet16"].Groups[3].Lossless, d.Ports["Ethernet16"].Groups[3].Headroom = qos.Of(true), qos.Of(qos.Headroom{XOFF: 1 << 20})
		})
		i := slices.IndexFunc(fs, func(f checks.Finding) bool { return f.Device == "leaf1" && f.Unchecked == "headroom" })
		if i < 0 || slices.Contains(fs[i].NotMade, "BUF-01") != open {
			t.Errorf("%s: %+v", spare, fs)
		}
	}
}

// TestUnsavedPorts checks that a port that is down by the intent may be saved, and that the fix
// brings up other ports first.
func TestUnsavedPorts(t *testing.T) {
	c := compile(t, strings.Replace(base, "8080\", model", "8080\", ports: {Ethernet0: {admin: down}}, model", 1))
	d := c.Device(c.Fabric().Switch("leaf1"))
	for port, fix := range map[string]string{"Ethernet0": "save the running configuration", "Ethernet8": "bring up the ports that PRT-05 names"} {
		run := NewRun(c.Fabric())
		have := c.Device(c.Fabric().Switch("leaf1")).Desired
		for name := range have.Ports {
			have.Ports[name].AdminUp = qos.Of(name != port)
		}
		have.Ports["Ethernet0"].AdminUp = qos.Of(false)
		run.Add(Switch(d, have, checks.Running, &checks.State{Unsaved: []string{"PORT"}}))
		fs := run.Findings(today)
		if i := slices.IndexFunc(fs, func(f checks.Finding) bool { return f.ID == "OPS-01" }); i < 0 || !strings.HasPrefix(fs[i].Fix, fix) {
			t.Errorf("%s is down: %+v", port, fs)
		}
	}
}

package catalog

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
)

var boxSource = regexp.MustCompile(`^[a-z0-9-]+/[a-z0-9-]+@[0-9a-f]{12}:(device|ansible/group_vars/sonic/variables$)`)

// Each box has ports and a source with its commit, but no buffers. SONiC boxes without a device
// folder in public are known by their chip only.
func TestBoxes(t *testing.T) {
	all, err := boxes()
	if err != nil || len(all) < 26 {
		t.Fatal(len(all), err)
	}
	for _, m := range all {
		if !slices.Contains(intent.Systems(), m.System) || m.Vendor == "" || m.ASICFrom == "" || whole(m.System) != (len(m.Ports) < 16) || len(m.Sources) == 0 {
			t.Errorf("%s: incomplete", m.Name)
		}
		for _, s := range m.Sources {
			if !boxSource.MatchString(s) {
				t.Errorf("%s: source %q without commit", m.Name, s)
			}
		}
		for _, p := range m.Ports {
			if !intent.IsSpeed(p.Speed) || !m.Has(p.Name) {
				t.Errorf("%s: %+v", m.Name, p)
			}
		}
		if len(m.Pools)+len(m.Headroom) > 0 {
			t.Errorf("%s has buffers", m.Name)
		}
	}
}

func modelsOf(system string) (out []*Model) {
	for _, name := range ModelsOf(system) {
		m, _ := ModelOf(system, name)
		out = append(out, m)
	}
	return out
}

// A box that also runs SONiC has the same ports as SONiC's aliases, the same speeds and the same
// chip. SONiC's own names (etp65) count ports from one as well.
func TestBoxesMatchSONiC(t *testing.T) {
	n := 0
	for _, m := range slices.Concat(modelsOf(intent.EOS.Name), modelsOf(intent.Cumulus.Name)) {
		hwsku, ok := strings.CutPrefix(m.ASICFrom, "the SONiC model ")
		if !ok {
			continue
		}
		n++
		same := mustLookup(t, hwsku)
		if same.ASICID != m.ASICID || len(same.Ports) != len(m.Ports) {
			t.Errorf("%s: %s with %d ports; %s is %s with %d", m.Name, m.ASICID, len(m.Ports), hwsku, same.ASICID, len(same.Ports))
		}
		for _, p := range same.Ports {
			alias := p.Alias
			if number, ok := strings.CutPrefix(alias, "etp"); ok && m.System == intent.Cumulus.Name {
				alias = "swp" + number
			} else if ok {
				alias = "Ethernet" + number
				if strings.Contains(p.Lanes, ",") {
					alias += "/1"
				}
			}
			if have, ok := m.Port(alias); !ok || have.Speed != p.Speed {
				t.Errorf("%s: %s of %s is %s, have %+v", m.Name, p.Name, hwsku, alias, have)
			}
		}
	}
	if n < 15 {
		t.Errorf("%d boxes compared", n)
	}
}

func TestHas(t *testing.T) {
	for _, c := range []struct {
		os, model, port string
		want            bool
	}{
		{"eos", "DCS-7060DX5-64S", "Ethernet1/1", true},
		{"eos", "DCS-7060DX5-64S-R", "Ethernet64/8", true},
		{"eos", "dcs-7060dx5-64s-f", "Ethernet66", true},
		{"eos", "DCS-7060DX5-64S", "Ethernet65/1", false},
		{"eos", "DCS-7060DX5-64S", "Ethernet1/9", false},
		{"eos", "DCS-7060DX5-64S", "Ethernet1", false},
		{"eos", "DCS-7060DX5-64S", "Ethernet3/1/1", false},
		{"nxos", "N9K-C9332D-GX2B", "Ethernet1/34", true},
		{"nxos", "N9K-C9332D-GX2B", "Ethernet1/32/4", true},
		{"nxos", "N9K-C9332D-GX2B", "Ethernet1/35", false},
		{"nxos", "N9K-C9332D-GX2B", "Ethernet1/35/1", false},
		{"nxos", "N9K-C9332D-GX2B", "Eth1/1", true},
		{"nxos", "N9K-C93180YC-FX3", "Ethernet101/1/1", true},
		{"sonic", "Force10-S6000", "Ethernet4", true},
		{"sonic", "Force10-S6000", "Ethernet5", false},
		{"sonic", "Force10-S6000", "Ethernet4/1", false},
		{"sonic", "Force10-S6000", "", false},
	} {
		m, ok := ModelOf(c.os, c.model)
		if !ok {
			t.Errorf("no %s of %s", c.model, c.os)
		} else if m.Has(c.port) != c.want {
			t.Errorf("%s has %s: %v", c.model, c.port, !c.want)
		}
	}
	if _, ok := ModelOf("sonic", "Force10-S6000-R"); ok {
		t.Error("the end of a hwsku is part of it")
	}
}

// Another model of the same series is not suggested as a correction.
func TestSuggestOfSeries(t *testing.T) {
	for in, want := range map[string]string{"DCS-7060DX5-32": "", "7060DX5-64S": "DCS-7060DX5-64S", "DCS-7280CR3K-32P4": ""} {
		if got := Suggest("eos", in); got != want {
			t.Errorf("%s: %q", in, got)
		}
	}
}

func TestBoxesRefuse(t *testing.T) {
	const ok = `[{"os":"eos","name":"x","asic":"th4","ports":["Ethernet[1-2]/1 400G"]}]`
	if all, err := parseBoxes([]byte(ok)); err != nil || len(all[0].Ports) != 2 {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"th4": "th44", "400G": "400", "[1-2]": "[2-1]", `400G"]`: `400G","Ethernet1/1 100G"]`, `"ports"`: `"prots"`} {
		if _, err := parseBoxes([]byte(strings.Replace(ok, from, to, 1))); err == nil {
			t.Errorf("accepted %s", to)
		}
	}
}

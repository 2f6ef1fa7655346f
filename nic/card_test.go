package nic

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
)

// Card settings of the intent end up in the desired state together with their place in the file;
// with dcbx: keep, the DCBX owner and the firmware's agents stay unmanaged.
func TestDesiredCard(t *testing.T) {
	h, problems := desired(t, edit(t, "mlx5_1}", "mlx5_1, dcbx: keep, maxReadRequest: 4096, relaxedOrdering: on, dcqcn: {rp_ai_rate: 7, np_min_time_between_cnps: 0}}"))
	if len(problems) > 0 {
		t.Errorf("%+v", problems)
	}
	plain, p := h.Ports["ens1f0np0"], h.Ports["ens2f0np0"]
	if plain.DCBX != qos.Of(OwnerHost) || !plain.Wanted.V.FirmwareLLDPOff || plain.DCQCN != nil || plain.MaxReadRequest.Set || plain.RelaxedOrdering.Set {
		t.Errorf("%+v", plain)
	}
	if p.DCBX.Set || p.Wanted.V.FirmwareLLDPOff || p.MaxReadRequest != qos.Of(4096) || p.RelaxedOrdering != qos.Of(true) || len(p.DCQCN) != 2 || p.DCQCN["rp_ai_rate"] != 7 {
		t.Errorf("%+v", p)
	}
	for _, field := range []string{FieldDCBX, FieldMaxReadRequest, FieldRelaxedOrdering, FieldDCQCN} {
		if !strings.Contains(p.From[field], "fabric.yaml:11:") || p.From[field] == p.From[FieldPort] {
			t.Errorf("%s is from %q", field, p.From[field])
		}
	}
}

// A parameter that could not be read is unknown; one that differs is a change that refers to the
// dcqcn line of the intent.
func TestDiffOfParameters(t *testing.T) {
	running, want := machine(t)
	p, w := running.Ports["ens1f0np0"], want.Ports["ens1f0np0"]
	w.DCQCN = map[string]uint64{"rp_ai_rate": 7, "rp_gd": 11}
	w.From[FieldDCQCN] = "fabric.yaml:1:2"
	p.DCQCN = map[string]uint64{"rp_ai_rate": 5, "rp_gd": 11}
	one := func(why string) Change {
		t.Helper()
		cs := Diff(running, want)
		if len(cs) == 0 || cs[0].Field != "dcqcn[rp_ai_rate]" || cs[0].Layer != LayerDriver || cs[0].Reason != "fabric.yaml:1:2" {
			t.Fatalf("%s: %+v", why, cs)
		}
		return cs[0]
	}
	if c := one("differs"); c.Kind != KindDrift || c.Old != "5" || c.New != "7" || !c.Writable() {
		t.Errorf("%+v", c)
	}
	p.DCQCN, p.Missing[FieldDCQCN] = nil, "needs root"
	if c := one("not read"); c.Kind != KindUnknown || c.Blocked != "needs root" {
		t.Errorf("%+v", c)
	}
	p.Missing[FieldDCQCN] = NotInDriver
	if c := one("not there"); c.Kind != KindDrift || c.Writable() {
		t.Errorf("%+v", c)
	}
}

// On a VF, and on an interface that is not a PCIe card, the changes say where the settings belong.
func TestDiffOfAVirtualFunction(t *testing.T) {
	for _, vf := range []bool{true, false} {
		running, want := machine(t)
		p, w := running.Ports["ens1f0np0"], want.Ports["ens1f0np0"]
		w.DCQCN, w.MaxReadRequest = map[string]uint64{"rp_ai_rate": 7}, qos.Of(4096)
		p.VF, p.MaxReadRequest, p.DCQCN = vf, qos.Opt[int]{}, nil
		p.Missing[FieldMaxReadRequest], p.Missing[FieldDCQCN] = NotInDriver, NotInDriver
		found := map[string]string{}
		for _, c := range Diff(running, want) {
			if c.Writable() {
				t.Errorf("%+v", c)
			}
			found[c.Field] = c.Blocked
		}
		for _, field := range []string{"dcqcn[rp_ai_rate]", FieldMaxReadRequest} {
			if why, ok := found[field]; !ok || strings.Contains(why, "its physical function") != vf {
				t.Errorf("VF %v: %s: %q", vf, field, why)
			}
		}
	}
}

// If a card lists relaxed ordering, ADVANCED_PCI_SETTINGS is not requested. If it lists neither
// setting, the change says so.
func TestDiffOfRelaxedOrdering(t *testing.T) {
	off := NV{"per_mkey(0)", "per_mkey(0)", "per_mkey(0)", false}
	for name, tt := range map[string]struct {
		nv    map[string]NV
		field string
		kind  Kind
	}{
		"listed":     {map[string]NV{mlxconfig.RelaxedOrdering: off, mlxconfig.AdvancedPCI: off}, "nv[PCI_WR_ORDERING]", KindNotProgrammed},
		"not listed": {map[string]NV{mlxconfig.AdvancedPCI: off}, "nv[ADVANCED_PCI_SETTINGS]", KindNotProgrammed},
		"no such":    {map[string]NV{}, "nv[PCI_WR_ORDERING]", KindUnknown},
	} {
		running, want := machine(t)
		p, w := running.Ports["ens1f0np0"], want.Ports["ens1f0np0"]
		w.RelaxedOrdering = qos.Of(true)
		w.From[FieldRelaxedOrdering] = "fabric.yaml:1:2"
		for n, v := range tt.nv {
			p.NV[n] = v
		}
		cs := Diff(running, want)
		if len(cs) == 0 || cs[0].Field != tt.field || cs[0].Kind != tt.kind || cs[0].Reason != "fabric.yaml:1:2" || cs[0].Layer != LayerFirmware {
			t.Errorf("%s: %+v", name, cs)
		}
	}
}

// Explain shows the card settings of the intent and where each is stored.
func TestExplainCard(t *testing.T) {
	f := load(t, edit(t, "mlx5_1}", "mlx5_1, maxReadRequest: 4096, relaxedOrdering: on, dcqcn: {rp_ai_rate: 7}}"))
	e, err := Explain(f, f.Host("gpu1"), "ens2f0np0")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(e.Lines(), "\n")
	for _, want := range []string{"max read request: 4096 B", "DCQCN rp_ai_rate: 7", "relaxed ordering: on", "PCI_WR_ORDERING", "roce_rp"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

package intent

import "testing"

func TestVFs(t *testing.T) {
	f := load(t, good+"hosts:\n  h1:\n    nics: {n0: {vfs: {count: 8, trust: off, representors: on}}, n1: {vfs: {trust: keep, vlan: 0, pcp: 5}}, n2: {}}\n")
	for name, want := range map[string][2]string{"n0": {"off", "on"}, "n1": {}, "n2": {}} {
		v := f.Host("h1").NIC(name).VFs
		if v.Trust.V != want[0] || v.Representors.V != want[1] || (v.Count.V == 8) != (name == "n0") || v.Count.IsDefault() == (name == "n0") {
			t.Errorf("%s: %+v", name, v)
		}
		if stated := name == "n1"; (v.VLAN.V != nil) != stated || (v.PCP.V != nil) != stated || stated && (*v.VLAN.V != 0 || *v.PCP.V != 5) {
			t.Errorf("%s: VLAN %v, PCP %v", name, v.VLAN.V, v.PCP.V)
		}
	}
}

func TestSFs(t *testing.T) {
	f := load(t, good+"hosts:\n  h1:\n    nics: {n0: {sfs: {count: 8}}, n1: {sfs: {}}, n2: {}}\n")
	for name, want := range map[string]int{"n0": 8, "n1": 0, "n2": 0} {
		if v := f.Host("h1").NIC(name).SFs; v.V != want || v.IsDefault() == (want > 0) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

package intent

import "testing"

func TestDPU(t *testing.T) {
	f := load(t, good+`hosts:
  "h[1-2]": {nics: {"n[0-1]": {dpu: "a[1-2]/p[0-1]"}, n9: {}}}
  "a[1-2]": {nics: {"p[0-1]": {}}}
`)
	for _, c := range [][3]string{{"h1", "n0", "a1/p0"}, {"h1", "n1", "a1/p1"}, {"h2", "n0", "a2/p0"}, {"h2", "n1", "a2/p1"}} {
		n := f.Host(c[0]).NIC(c[1])
		owner, ok := f.Owner(n)
		if !ok || n.DPU.V.String() != c[2] || owner.Host.Name+"/"+owner.Name != c[2] {
			t.Errorf("%s/%s is a side of %s", c[0], c[1], n.DPU.V)
		}
	}
	for _, c := range [][2]string{{"h1", "n9"}, {"a1", "p0"}} {
		if owner, ok := f.Owner(f.Host(c[0]).NIC(c[1])); ok {
			t.Errorf("%v is a side of %s", c, owner.Name)
		}
	}
}

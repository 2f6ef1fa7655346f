package intent

import "testing"

func TestSelectors(t *testing.T) {
	f := load(t, good+`hosts:
  "h[1-2]":
    nics:
      "r[1-2]": {select: {vendor: nvidia, rail: "[1-2]"}, rdma: "mlx5_[0-1]"}
      a: {select: {pci: 3B:00.1}}
      b: {select: {serial: 1234, port: 2}}
      c: {select: {part: MCX75310AAS-NEAT, model: ConnectX-7}}
      n0: {}
`)
	for _, h := range f.Hosts {
		for name, want := range map[string]Selector{
			"r1": {Vendor: "nvidia", Rail: 1}, "r2": {Vendor: "nvidia", Rail: 2}, "a": {PCI: "0000:3b:00.1"}, "b": {Serial: "1234", Port: 2},
			"c": {Part: "MCX75310AAS-NEAT", Model: "ConnectX-7"}, "n0": {},
		} {
			n := h.NIC(name)
			if n.Select.V != want || n.Select.IsDefault() != (want == (Selector{})) {
				t.Errorf("%s %s: %+v, %s", h.Name, name, n.Select.V, n.Select.From)
			}
		}
	}
	if at := f.Host("h1").NIC("a").Select.From.Pos; at.Line != 11 || at.Column != 19 {
		t.Errorf("the place is %s", at)
	}
	if s := (Selector{Vendor: "nvidia", Model: "1021", Part: "p", Serial: "s", PCI: "0000:3b:00.0", Port: 1, Rail: 3}).String(); s != "vendor nvidia, model 1021, part p, serial s, pci 0000:3b:00.0, port 1, rail 3" {
		t.Error(s)
	}
}

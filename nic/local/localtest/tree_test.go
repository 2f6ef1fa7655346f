package localtest

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"

	"github.com/google/go-cmp/cmp"
)

// answers returns a tree's answers to a list of requests, without the tree's location.
func answers(t *testing.T, tr tree, dir string) []string {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	tr.mkdirs(at("class/net"))
	tr.put(at("devices/pci/0/net/ens1/mtu"), "1500\n")
	tr.put(at("devices/pci/0/net/ens1/mtu"), "9000\n")
	tr.link("../../devices/pci/0/net/ens1", at("class/net/ens1"))
	tr.link("../../../0", at("devices/pci/0/net/ens1/device"))
	tr.link("loop", at("loop"))
	tr.link("nowhere", at("dangling"))
	tr.mkdirs(at("empty"))
	tr.put(at("gone/with/its/files"), "x")
	tr.removeAll(at("gone"))
	tr.removeAll(at("gone"))
	var out []string
	say := func(op, name string, v any, err error) {
		var no syscall.Errno
		if err != nil && !errors.As(err, &no) {
			t.Errorf("%s %s: %v is no errno", op, name, err)
		}
		out = append(out, fmt.Sprintf("%s %s: %q %v", op, name, v, no))
	}
	for _, name := range []string{"class/net/ens1/mtu", "class/net/ens1/device/net/ens1/mtu", "class/net/ens1/../ens1/mtu", "class/net/eth0/mtu",
		"class/net", "loop", "dangling", "class/net/ens1/mtu/x", "gone/with", "empty", "."} {
		b, err := tr.ReadFile(at(name))
		say("read", name, b, err)
		l, err := tr.ReadDir(at(name))
		say("list", name, l, err)
		s, err := tr.Readlink(at(name))
		say("link", name, s, err)
	}
	for _, name := range []string{"class/net/ens1/mtu", "class/net", "nothing", "dangling"} {
		say("write", name, nil, tr.WriteFile(at(name), []byte("42\n")))
	}
	for _, name := range []string{"made", "made", "no/such", "class/net/ens1/mtu", "devices/pci/0/net/ens1/mtu/x"} {
		say("mkdir", name, nil, tr.Mkdir(at(name)))
	}
	for _, name := range []string{"made", "made", "devices", "class/net/ens1", "devices/pci/0/net/ens1/mtu"} {
		say("remove", name, nil, tr.Remove(at(name)))
	}
	l, err := tr.ReadDir(at("."))
	say("list", "in the end", l, err)
	return out
}

// A tree in memory answers like one on disk.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	if d := cmp.Diff(answers(t, disk{}, dir), answers(t, newMemory(), dir)); d != "" {
		t.Errorf("on disk (-), in memory (+):\n%s", d)
	}
}

// A machine's state does not depend on where its files are stored, even after a reboot.
func TestInMemory(t *testing.T) {
	look := func(h *Host) (out []*nic.Host) {
		h.Add(Port{Name: "ens1", RDMA: "mlx5_0", PCI: "0000:3b:00.0", Driver: nic.DriverMLX5, OFED: true})
		h.Add(Port{Name: "ens2", RDMA: "mlx5_1", PCI: "0000:3c:00.0", Driver: nic.DriverMLX5})
		read := func() *nic.Host {
			r, err := h.Machine().Read(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, r)
			return r
		}
		read()
		steps := []local.Step{}
		for _, s := range []local.Step{
			{Field: nic.FieldMTU, Want: local.Value{Number: new(9000)}}, {Field: nic.FieldToS, Want: local.Value{Number: new(106)}},
			{Field: nic.FieldCNPDSCP, Want: local.Value{Number: new(46)}}, {Field: nic.FieldMode, Want: local.Value{Mode: nic.ModeRoCEv2}},
		} {
			for _, s.Port = range []string{"ens1", "ens2"} {
				s.Driver = nic.DriverMLX5
				steps = append(steps, s)
			}
		}
		if _, err := h.Machine().Apply(t.Context(), steps, nil); err != nil {
			t.Fatal(err)
		}
		if r := read(); r.Ports["ens2"].MTU.V != 9000 || r.Ports["ens1"].ToS.V != 106 || r.Ports["ens2"].CNPDSCP.V != 46 {
			t.Errorf("%+v", r.Ports)
		}
		h.Reboot()
		if r := read(); r.Ports["ens2"].MTU.V != 1500 || r.Ports["ens1"].ToS.V != 0 {
			t.Errorf("after a reboot: %+v", r.Ports)
		}
		return out
	}
	if d := cmp.Diff(look(New(t.TempDir())), look(InMemory(t.TempDir()))); d != "" {
		t.Errorf("on disk (-), in memory (+):\n%s", d)
	}
}

package local_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/niccli"
	"github.com/roce-fabric/roce-fabric/nic/niccli/nicclitest"
)

// A Broadcom card without the RDMA option gets it stored, then waits for a reboot, and is as
// intended once it has an RDMA device. The undo record turns the option off again.
func TestNVMOfBroadcom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, localtest.Port{Name: ens0, PCI: pci0, Driver: nic.DriverBNXT})
		h.Put("module/bnxt_re/refcnt", "0\n")
		cards := nicclitest.New(pci0)
		h.Programs["niccli"] = cards.Run
		m := h.Machine()
		want := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{ens0: {Name: ens0, ToS: desired(ens0).Ports[ens0].ToS}}}
		changes := func() (out []nic.Change) {
			for _, c := range nic.Diff(read(t, m, ens0), want) {
				if name, ok := nic.NVName(c.Field); ok && name == niccli.SupportRDMA {
					out = append(out, c)
				}
			}
			return out
		}
		if c := changes(); len(c) != 1 || c[0].Kind != nic.KindNotProgrammed || c[0].Old != "False" || c[0].New != "True" || !c[0].Writable() {
			t.Fatalf("%+v", c)
		}
		steps := slices.DeleteFunc(m.Plan(read(t, m, ens0), want, local.Options{}), func(s local.Step) bool { return s.Field != nic.FieldNV })
		if len(steps) != 1 || steps[0].What != "store in the firmware of "+ens0+" for the next boot support_rdma=True" {
			t.Fatalf("%+v", steps)
		}
		undo, err := m.Apply(t.Context(), steps, nil)
		if err != nil || !cards.On(pci0) {
			t.Fatal(err)
		}
		if err := undo.Check(func(string) bool { return true }); err != nil {
			t.Error(err)
		}
		if c := changes(); len(c) != 1 || c[0].Kind != nic.KindResetPending || c[0].Old != "False" {
			t.Errorf("before the reboot: %+v", c)
		}
		if r, err := m.Resets(t.Context(), []string{ens0}, local.Options{}); err != nil || len(r) != 1 || r[0].Does != "systemctl reboot" || !r[0].Way.Reboots() {
			t.Errorf("%+v, %v", r, err)
		}
		if err := m.Revert(t.Context(), undo); err != nil || cards.On(pci0) {
			t.Errorf("after the revert it is %v: %v", cards.On(pci0), err)
		}
		// With the device present, or without the tool, there is nothing to do.
		cards.Set(pci0, true)
		h.Remove(ens0)
		h.Add(localtest.Port{Name: ens0, RDMA: "bnxt_re0", PCI: pci0, Driver: nic.DriverBNXT})
		if c := changes(); len(c) > 0 {
			t.Errorf("after the reboot: %+v", c)
		}
		delete(h.Programs, "niccli")
		if p := read(t, m, ens0).Ports[ens0]; p.NV != nil || p.Missing[nic.FieldNV] != nic.NotInDriver {
			t.Errorf("without niccli: %+v, %q", p.NV, p.Missing[nic.FieldNV])
		}
	})
}

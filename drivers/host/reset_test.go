package host_test

import (
	"reflect"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/nic"
)

// Ports of one card are listed together, with the other settings that the reset activates.
func TestResets(t *testing.T) {
	t.Parallel()
	nv := map[string]nic.NV{
		"CNP_DSCP_P1": {Current: "4", Next: "48"}, "CNP_DSCP_P2": {Current: "4", Next: "48"},
		"SRIOV_EN": {Current: "False(0)", Next: "True(1)"}, "NUM_OF_VFS": {Current: "0", Next: "0"}, "X": {Next: "1"},
	}
	running := &nic.Host{Ports: map[string]*nic.Port{
		"ens2f0np0": {PCI: "0000:3b:00.0", NV: nv}, "ens2f1np1": {PCI: "0000:3b:00.1", NV: nv}, "ens10f0np0": {PCI: "0000:18:00.0"},
	}}
	pending := func(port, name string) nic.Change {
		return nic.Change{Port: port, Field: "nv[" + name + "]", Kind: nic.KindResetPending, Old: "4", New: "48", After: "a warm reboot of the host loads them"}
	}
	got := host.Resets(running, []nic.Change{
		pending("ens2f1np1", "CNP_DSCP_P2"), pending("ens2f0np0", "CNP_DSCP_P1"), pending("gone", "CNP_DSCP_P1"),
		{Port: "ens10f0np0", Field: "nv[CNP_DSCP_P1]", Kind: nic.KindNotProgrammed, Old: "4", New: "48"},
	})
	want := []drivers.Reset{{
		Part: "0000:3b:00", Ports: []string{"ens2f0np0", "ens2f1np1"}, Settings: []string{"CNP_DSCP_P1 4 -> 48", "CNP_DSCP_P2 4 -> 48"},
		Others: []string{"SRIOV_EN False(0) -> True(1)"}, How: "a warm reboot of the host loads them",
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

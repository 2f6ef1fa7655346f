package operator_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// A host is compared with the switch at the other end of its cable, even if another replica has
// read that switch.
func TestHost(t *testing.T) {
	b := newBench(t)
	head, rest, _ := strings.Cut(text(1, nowhere), "links:\n")
	in := b.startText(head + "hosts:\n  gpu1: {nics: {ens1f0np0: {rdma: mlx5_0}}}\nlinks:\n  - {a: leaf1/Ethernet8, b: gpu1/ens1f0np0, cable: 5m, speed: 400G}\n" + rest)
	f := b.fabric(in, v1alpha1.Observe)
	o := options()
	reach := o.Access
	o.Access = func() *fleet.Access {
		a := reach()
		a.At = b.lab.At
		return a
	}
	b.operate(o)
	h := &v1alpha1.HostStatus{ObjectMeta: b.meta("pod1.gpu1")}
	// Compared with what leaf1 runs; the intent says {3}.
	b.until(h, "it is compared with leaf1", func() bool {
		return h.Status.LastSeen != nil && slices.ContainsFunc(h.Status.Findings, func(fd v1alpha1.Finding) bool {
			return fd.ID == "PFC-02" && strings.HasPrefix(fd.What, "the NIC pauses no priority, the switch port pauses priorities 3 and 4 ")
		})
	})
	b.until(f, "a verdict", func() bool { return f.Status.Devices == 3 && f.Status.Reachable == 3 })
}

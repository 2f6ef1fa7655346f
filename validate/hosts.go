package validate

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/known"
	nics "github.com/roce-fabric/roce-fabric/validate/checks/nic"
)

// Host compares the NICs of a host with the intended settings, and with the switch ports at the
// other end of their links. ends returns the running state of an end; an end that was not read
// is assumed to be as intended. A check whose state the host does not show has no finding.
// Settings that could not be read are a separate finding: NIC-10 if lossless RDMA is not proven
// without them, see [Unproven], otherwise READ with severity info.
func Host(f *intent.Fabric, h *intent.Host, running, desired *nic.Host, ends func(intent.Endpoint) checks.End) []checks.Finding {
	return fold(append(nics.Check(f, h, running, desired, ends), known.CheckHost(h, running, desired)...))
}

// Hosts compares the NICs of hosts of a fabric that work together. Most comparisons are between NICs
// of the same card and driver, and all only use values that were read from both. managed selects the
// ports; nil selects all. Without f, nothing is compared that depends on the fabric.
func Hosts(f *intent.Fabric, running []*nic.Host, managed func(host, port string) bool) []checks.Finding {
	return nics.Compare(f, running, managed)
}

// Unproven reports whether a finding says that a setting could not be read without which a NIC
// is not proven to run as intended. An accepted finding does not count.
func Unproven(f checks.Finding) bool { return f.ID == nics.Unproven && f.Suppressed == nil }

// Package inside holds the tests that run in the VM of testlab/hostvm: the rules of its DCB devices
// as seen through iproute2 and ethtool, nic/dcb against a real kernel, and RDMA-CM's configfs.
//
// It has no code of its own. Its tests skip everywhere else: the test of testlab/hostvm builds
// them, boots a VM and runs them there.
package inside

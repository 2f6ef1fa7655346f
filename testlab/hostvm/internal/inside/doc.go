// Package inside holds the tests that run in the machine of testlab/hostvm:
// the rules of its DCB devices seen through the programs of iproute2 and
// ethtool, nic/dcb against a real kernel, and RDMA-CM's configfs.
//
// It has no code of its own. Its tests skip anywhere else: the test of
// testlab/hostvm builds them, boots a machine and runs them there.
package inside

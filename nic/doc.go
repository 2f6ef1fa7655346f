// Package nic models a host's RDMA network interfaces: the desired settings ([Desired]), the
// running settings, and the differences between the two ([Diff]).
//
// Each setting lives in one of three layers with different lifetimes; see [Layer]. Every difference
// names its layer, because the layer decides the fix: write the value again, reset the card, or
// install a unit that writes it at every boot.
//
// As in intent/qos, an unset Opt means "not managed" in a desired [Host] and "not known" in a
// running one; [Port.Missing] gives the reason. The values of a running Host are not trusted: an
// array may hold any number, a map any key.
//
// The package does no I/O. Package nic/local reads and writes a machine, so commands and netlink do
// not belong here. Package validate judges what a difference means for a fabric.
package nic

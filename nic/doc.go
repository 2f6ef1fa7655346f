// Package nic is the model of a host's RDMA network interfaces: what they should
// hold ([Desired]), what they hold, and how the two differ ([Diff]).
//
// A setting lives in one of three layers with three lifetimes, see [Layer], and
// every difference names its layer, because that decides the fix: writing
// it again, a reset of the card, or a unit that writes it at every boot.
//
// As in intent/qos, an Opt that is not set means "not managed" in a desired [Host]
// and "not known" in a running one; [Port.Missing] says why. The values of a running
// Host are not trusted: an array may hold any number, a map any key.
//
// The package does no I/O. Reading and writing a machine is nic/local's; do not
// put commands or netlink here, nor judgement of what a difference does
// to a fabric, which is validate's.
package nic

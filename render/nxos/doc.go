// Package nxos translates between [qos.Device] and the configuration text of
// Cisco Nexus 9000 switches: it reads running configuration, says what it
// means, and works out the lines that make it mean something else.
//
// QoS on NX-OS is three kinds of policy that only the number of a qos-group
// joins: input policies classify into groups, one network-qos policy gives the
// groups of the whole switch their MTU and their pauses, queuing policies
// schedule and mark. Here a traffic class, its group and its queue have one
// number.
//
// It does no I/O and knows no device: what a box of some model or release
// refuses beyond [Refusals] is for the driver to find out. Do not compare
// configurations as text with it: NX-OS prints the same lines in another order
// from release to release. [Decode] both and compare what they mean.
package nxos

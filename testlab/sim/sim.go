// Package sim holds what simulated devices share: TLS and SSH servers on
// loopback whose connections can be cut, counters, and the freedom of a box to
// answer in one way or another. The devices are in the packages below it: real
// servers that accept, refuse and answer as the box does.
//
// They are written from what the network operating systems are documented and
// seen to do, independently of this module's own renderers and drivers, so
// that a test against one is a test against the box's rules and not against the
// tool's idea of them. They are never laxer than the box. Do not import them
// from product code other than the lab, do not import renderers, drivers, plans
// or rollouts from them, and do not use them to judge hardware: nothing below
// the databases exists.
package sim

// Package sim holds what the simulated devices share: TLS and SSH servers on loopback whose
// connections can be cut, counters, and random variation of answers. The devices are in the
// packages below it: real servers that accept, reject and answer as the real box does.
//
// They follow the documented and observed behavior of the network operating systems, independently
// of this module's renderers and drivers, so that a test against a simulator checks the box's
// rules and not the tool's idea of them. They are never less strict than the box. Do not import
// them from product code other than the lab, do not import renderers, drivers, plans or rollouts
// from them, and do not use them to evaluate hardware: nothing below the databases is simulated.
package sim

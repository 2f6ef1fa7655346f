// Package cumulus reads and writes the configuration of NVIDIA Cumulus Linux: the tree of NVUE,
// as JSON, as YAML and as commands. It decodes the configuration of a switch into the
// device-independent model, computes the settings that change it, and how to revert them.
// Nothing in this package talks to a device.
//
// # The preset
//
// "nv set qos roce" sets trust, maps, scheduling, PFC, ECN and pools at once. [Decode] expands
// it as NVIDIA documents it and reports that: priorities that it puts into one queue are one
// class. [Change] neither turns it on nor off and copies none of its numbers. Desired values are
// written to profiles bound to the ports, so that the result is the same whether the preset is
// on, off, or turned on later by someone else. Only the map of switch priorities to traffic
// classes, the watchdog timers and the pools are switch-wide ([Shared]).
//
// # Open questions
//
// NVIDIA's documents do not say how a switch handles several lossless priorities with a priority
// group each, whether a change of PFC makes a link flap, and how entries of default-global
// combine with the preset. This package treats such an entry as an exception to the preset.
// Without the preset, the lists of PFC priorities and of ECN traffic classes replace the
// defaults as a whole.
package cumulus

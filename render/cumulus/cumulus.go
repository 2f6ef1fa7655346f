// Package cumulus reads and writes the configuration of NVIDIA Cumulus Linux: the tree of
// NVUE, as JSON, as YAML and as commands. It turns what a switch holds into the
// device-independent model, works out what a switch is to be told, and how to revert that.
// Nothing here talks to a device.
//
// # The preset
//
// "nv set qos roce" decides trust, maps, scheduling, PFC, ECN and pools at once. [Decode]
// expands it into what NVIDIA documents of it, and says so: priorities that it puts into
// one queue are one class. [Change] neither turns it on
// nor off and copies none of its numbers: what is wanted is stated by profiles that are
// bound to the ports, so that it is the same whether the preset is on, off, or turned on
// by someone else. Only the map of switch priorities to traffic classes, the timers of the
// watchdog and the pools are of the whole switch ([Shared]).
//
// # What is not certain
//
// NVIDIA's documents do not say what a switch does with a priority group of its own for
// each of several lossless priorities, whether a change of PFC makes a link flap, and how
// an entry of default-global meets the preset: here it is an exception from it, except for
// the priorities of PFC and the queues of ECN without the preset, where the list takes the
// place of what holds without it.
package cumulus

// Package simulate predicts what packets do in a network of switches and hosts: which queues mark,
// which ports pause whom and for how long, what is lost, how fast flows become, and whether pauses
// lock each other.
//
// It is a simulation of discrete events. Switches store whole packets, in the memory of [headroom.Slice],
// which is also what the checks compute with; a cell is free again when its packet begins to leave.
// Queues are served by strict priority, and by weight; they mark by their length. Ports obey pause
// frames after the cable and their response time. Hosts send flows in turn, at the rate that DCQCN
// allows, and send again from the first lost packet on.
//
// A run depends on its network and its seed alone. It does not allocate once the number of packets in
// flight has stopped growing.
//
// Not modelled: cut-through switching and the latency of switches, the PFC watchdog, egress limits of
// lossless queues, the share of a port in the memory (Spectrum-4 and later), the PCIe bus, errors on
// links, and adaptive routing.
package simulate

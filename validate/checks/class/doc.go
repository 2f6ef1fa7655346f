// Package class checks which class a packet is in: by DSCP, by PCP, in tunnels and VLANs, and
// which share of a link the queue of a class has.
package class

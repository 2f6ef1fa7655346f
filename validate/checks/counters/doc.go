// Package counters lists the checks between two readings of counters, which package gate makes,
// and describes devices to the gate.
package counters

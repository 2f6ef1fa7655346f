package checks

import "github.com/roce-fabric/roce-fabric/intent/qos"

// Port is what a check sees of a port, whatever it was read from: a switch, a saved configuration
// without an intent, or a NIC.
type Port struct {
	// LinkPause reports whether the port uses IEEE 802.3x pause.
	LinkPause bool
	// Lossless holds the priorities that the port pauses: by the intent, or without an intent as it
	// is configured.
	Lossless qos.PrioritySet
	ByIntent bool // an intent says which priorities are lossless
	Read     bool // the configuration was read, and not compiled from the intent
	// Config and Maps are the configuration of a switch port, and the maps by which it classifies;
	// nil if they are not known.
	Config *qos.Port
	Maps   *qos.Maps
	// Found adds a finding about attributes of the port.
	Found func(f Finding, attrs ...qos.Attr)
}

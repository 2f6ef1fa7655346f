package drivers

import "context"

// Differ is a Driver that shows the effect of steps on its device's configuration.
type Differ interface {
	// Differences returns the parts of the configuration in a snapshot that the steps change,
	// before and after, in native words: one item per line, indented below its parent. It does no
	// I/O.
	Differences(*Snapshot, *Steps) (before, after string, err error)
}

// SwitchDriver is a Driver of a switch.
type SwitchDriver interface {
	Driver
	Decoder
}

// Saved is a driver for a saved configuration instead of a live switch. Besides Probe and Read,
// only the methods that do no I/O are useful.
type Saved struct {
	SwitchDriver
	Facts    Facts
	Snapshot *Snapshot
	// MayDerive is set if the switch may have lossless groups that the text lacks, because the
	// text is only part of a configuration or it is not known what the switch derives.
	MayDerive bool
}

// Probe returns the facts that are known.
func (s *Saved) Probe(context.Context) (Facts, error) { return s.Facts, nil }

// Read returns the saved configuration.
func (s *Saved) Read(context.Context) (*Snapshot, error) { return s.Snapshot, nil }

// Close does nothing.
func (s *Saved) Close() error { return nil }

// Differences calls the driver's Differences, if it has one.
func (s *Saved) Differences(snap *Snapshot, st *Steps) (before, after string, err error) {
	d, ok := s.SwitchDriver.(Differ)
	if !ok {
		return "", "", ErrUnsupported
	}
	return d.Differences(snap, st)
}

package drivers

import "context"

// Differ is a Driver that shows what steps make of its device's configuration.
type Differ interface {
	// Differences returns those parts of the configuration in a snapshot that the steps
	// change, before and after, in the device's own words: a line each, indented below
	// what it stands in. It does no I/O.
	Differences(*Snapshot, *Steps) (before, after string, err error)
}

// SwitchDriver is a Driver of a switch.
type SwitchDriver interface {
	Driver
	Decoder
}

// Saved is a driver of a switch that is not there: what it would read was saved. Only
// what does no I/O is of use besides Probe and Read.
type Saved struct {
	SwitchDriver
	Facts    Facts
	Snapshot *Snapshot
	// MayDerive says that the switch may derive lossless groups that the text lacks: the
	// text is a part of a configuration, or it is not known what the switch derives.
	MayDerive bool
}

// Probe returns the facts that are known.
func (s *Saved) Probe(context.Context) (Facts, error) { return s.Facts, nil }

// Read returns what was saved.
func (s *Saved) Read(context.Context) (*Snapshot, error) { return s.Snapshot, nil }

// Close has nothing to end.
func (s *Saved) Close() error { return nil }

// Differences is that of the driver.
func (s *Saved) Differences(snap *Snapshot, st *Steps) (before, after string, err error) {
	d, ok := s.SwitchDriver.(Differ)
	if !ok {
		return "", "", ErrUnsupported
	}
	return d.Differences(snap, st)
}
